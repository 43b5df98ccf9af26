// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "frame.h"

static const char * const keys[] = {
	[FRAME_BURNED] = "burned",
	[FRAME_WASTED] = "wasted",
	[FRAME_HALTS] = "halts",
	[FRAME_HITS] = "hits",
	[FRAME_INTERVAL] = "interval",
};

bool frame_find_key(const char *text, enum frame_key *key)
{
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!strcmp(text, keys[i])) {
			*key = i;
			return true;
		}
	}
	return false;
}

/* A divisor of 1 shrinks nothing. */
static bool would_have_shrunk(const struct halt *halt, const struct trace_params *p)
{
	return p->known && p->shrink != 1 && halt->waited && halt->ns > p->max_ns;
}

void load_add(struct load *load, const struct step *step, const struct trace_params *p)
{
	struct step idle = *step;

	if (step->nr_changes || !step->halt->waited || step->halt->skipped)
		load->idle = 0;
	else if (load->idle < LOAD_IDLE && would_have_shrunk(step->halt, p))
		load->idle++;
	if (load->idle == LOAD_IDLE) {
		idle.known = true;
		idle.interval_ns = 0;
	}
	recorded_add(&load->r, &idle);
}

bool load_interval(const struct load *load, const struct vcpu *vcpu,
		   unsigned int *interval_ns)
{
	if (load->idle < LOAD_IDLE)
		return follow_interval(vcpu, interval_ns);
	*interval_ns = 0;
	return true;
}

int frame_init(struct frame *f, size_t nr_vcpus)
{
	memset(f, 0, sizeof(*f));
	/* At worst each is a VM's only one.  No vCPUs are not out of memory. */
	f->rows = calloc(2 * nr_vcpus + 1, sizeof(*f->rows));
	return f->rows ? 0 : fail("out of memory at %zu vCPUs", nr_vcpus);
}

void frame_free(struct frame *f)
{
	free(f->rows);
}

/* Names are what their owners like: no control characters on a terminal. */
static void set_name(struct frame_row *row, const char *name)
{
	char *c;

	snprintf(row->name, sizeof(row->name), "%s", *name ? name : "-");
	for (c = row->name; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

static struct frame_row *find_vm(struct frame *f, int vm)
{
	size_t i;

	/* Those of one VM mostly come one after another. */
	for (i = f->nr_rows; i-- > 0; ) {
		if (!f->rows[i].thread && f->rows[i].vm == vm)
			return &f->rows[i];
	}
	return NULL;
}

void frame_add(struct frame *f, const struct vcpu *vcpu, const struct load *load,
	       const char *vm_name)
{
	struct frame_row *vm = find_vm(f, vcpu->vm), *row;

	if (!vm) {
		vm = &f->rows[f->nr_rows++];
		vm->vm = vcpu->vm;
		set_name(vm, vm_name);
		f->nr_vms++;
	}
	recorded_merge(&vm->r, &load->r);

	row = &f->rows[f->nr_rows++];
	row->vm = vcpu->vm;
	row->thread = vcpu->pid;
	row->id = vcpu->id;
	set_name(row, vcpu->comm);
	row->r = load->r;
	row->known = load_interval(load, vcpu, &row->interval_ns);
	/* The VM's line shows none, but is sorted by its longest. */
	if (row->known && row->interval_ns > vm->interval_ns)
		vm->interval_ns = row->interval_ns;
}

/* Of so many: NAN if there are none. */
static double ratio(u64 part, u64 all)
{
	return all ? percent_of(part, all) : NAN;
}

/* Where it is not known whether some halts polled, the share of those that did is not. */
static double poll_hits(const struct recorded *r)
{
	return r->unknown ? NAN : ratio(r->poll_hits, r->polls);
}

static double sort_value(const struct frame *f, const struct frame_row *row)
{
	const struct account *a = &row->r.a;

	switch (f->key) {
	case FRAME_HALTS:
		return a->halts;
	case FRAME_HITS:
		return a->halts ? ratio(row->r.poll_hits, a->halts) : -1;
	case FRAME_WASTED:
		return a->vain_ns;
	case FRAME_INTERVAL:
		return row->interval_ns;
	default:
		return account_polled_ns(a);
	}
}

/* The most comes first, in VMs and below each; where it is the same, the lower pid. */
static int in_order(const void *a, const void *b)
{
	const struct frame_row *x = a, *y = b;

	if (x->sort_vm != y->sort_vm)
		return x->sort_vm > y->sort_vm ? -1 : 1;
	if (x->vm != y->vm)
		return x->vm < y->vm ? -1 : 1;
	if (!x->thread || !y->thread)
		return !x->thread ? -1 : 1;
	if (x->sort != y->sort)
		return x->sort > y->sort ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void frame_arrange(struct frame *f)
{
	size_t i;

	for (i = 0; i < f->nr_rows; i++)
		f->rows[i].sort = sort_value(f, &f->rows[i]);
	for (i = 0; i < f->nr_rows; i++)
		f->rows[i].sort_vm = find_vm(f, f->rows[i].vm)->sort;
	qsort(f->rows, f->nr_rows, sizeof(*f->rows), in_order);
}

static struct text number(const char *format, double value)
{
	struct text t = { "-" };

	if (!isnan(value))
		snprintf(t.s, sizeof(t.s), format, value);
	return t;
}

static struct text pid(int pid)
{
	return number("%.0f", pid < 0 ? NAN : pid);
}

/* In percent of one CPU; ">" if some is not known. */
static struct text cpu(const struct frame *f, const struct frame_row *row, u64 ns)
{
	return number(row->r.unknown ? ">%.2f" : "%.2f", percent_of(ns, f->period_ns));
}

static void print_row(const struct frame *f, const struct frame_row *row, FILE *file)
{
	const struct recorded *r = &row->r;

	fprintf(file, "%7s %4s %7s %9.1f %9s %9s %8s %8s %11s %s\n", pid(row->vm).s,
		row->thread ? pid(row->id).s : "all", row->thread ? pid(row->thread).s : "-",
		r->a.halts * 1e9 / f->period_ns,
		number("%.1f", ratio(r->poll_hits, r->a.halts)).s,
		number("%.1f", poll_hits(r)).s, cpu(f, row, account_polled_ns(&r->a)).s,
		cpu(f, row, r->a.vain_ns).s,
		number("%.1f", row->known ? row->interval_ns / 1e3 : NAN).s, row->name);
}

void frame_print(const struct frame *f, FILE *file)
{
	size_t nr_vcpus = f->nr_rows - f->nr_vms, i;
	u64 skipped = 0;

	for (i = 0; i < f->nr_rows; i++)
		skipped += f->rows[i].thread ? f->rows[i].r.skipped : 0;
	fprintf(file, "%s, %.3f s: %zu VM%s, %zu vCPU%s, %" PRIu64 " events lost, %" PRIu64
		" in all", f->when, f->period_ns / 1e9, f->nr_vms, f->nr_vms == 1 ? "" : "s",
		nr_vcpus, nr_vcpus == 1 ? "" : "s", (uint64_t)f->lost_now, (uint64_t)f->lost);
	if (skipped)
		fprintf(file, ", %" PRIu64 " polls skipped", (uint64_t)skipped);
	fputc('\n', file);
	fprintf(file, "%7s %4s %7s %9s %9s %9s %8s %8s %11s %s\n", "vm", "vcpu", "thread",
		"halts/s", "hit/halt%", "hit/poll%", "burned%", "wasted%", "interval_us", "name");
	for (i = 0; i < f->nr_rows; i++)
		print_row(f, &f->rows[i], file);
	fputc('\n', file);
}
