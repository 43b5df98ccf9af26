// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the halts were like, what polling did, and what to do about it.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"
#include "options.h"
#include "plot.h"
#include "recorded.h"
#include "timeline.h"

/* Halt times by powers of 2; the last takes all that are longer. */
#define BUCKETS 40
#define BAR_WIDTH 50
/* Without --all so many vCPUs are shown, the busiest ones. */
#define SHOWN 8
/* Fewer halts make no pattern. */
#define PATTERN_HALTS 100

/* What is kept of a vCPU. */
struct report_vcpu {
	struct recorded r;
	struct wake_vcpu wake;
	unsigned int polled[BUCKETS], blocked[BUCKETS];

	u64 known;			/* halts whose interval is */
	u64 interval_sum;
	unsigned int interval_least, interval_most;
	u64 from_0, to_0;		/* changes */
	u64 just_below, just_above;	/* halts around the maximum */
	struct timeline *timeline;	/* of the interval; NULL: always 0 or unknown */

	bool shown;
	unsigned int patterns;		/* bits */
};

struct report {
	struct trace trace;
	const struct options *o;
	bool params_known;
	struct kvm_halt_poll_params params;
	struct wake wake;
	struct wake_cost cost;
	struct recorded all;
	u64 start_ns;			/* of the first halt that was read */
	struct vcpu **sorted;		/* by VM, then by thread */
};

static unsigned int bucket_of(u64 ns)
{
	unsigned int i = ns ? 64 - __builtin_clzll(ns) : 0;

	return i < BUCKETS ? i : BUCKETS - 1;
}

/* The least that is not in bucket @i any more. */
static u64 bucket_end(unsigned int i)
{
	return 1ULL << i;
}

static int add_timeline(struct report *r, struct report_vcpu *v, const struct step *step)
{
	if (!v->timeline) {
		if (!step->interval_ns)
			return 0;
		v->timeline = malloc(sizeof(*v->timeline));
		if (!v->timeline)
			return fail("out of memory");
		timeline_init(v->timeline, r->start_ns);
	}
	timeline_add(v->timeline, step->halt->time_ns, step->interval_ns);
	return 0;
}

static void add_interval(struct report_vcpu *v, const struct step *step)
{
	unsigned int ns = step->interval_ns;

	if (!v->known++ || ns < v->interval_least)
		v->interval_least = ns;
	if (ns > v->interval_most)
		v->interval_most = ns;
	v->interval_sum += ns;
	if (step->nr_changes) {
		v->from_0 += !step->changes[1].old_ns;
		v->to_0 += !step->changes[1].new_ns;
	}
}

static int report_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct report_vcpu *v = follow_data(vcpu);
	const struct halt *halt = step->halt;
	struct report *r = ctx;
	u64 ns = halt->ns;

	if (!r->all.a.halts) {
		r->params_known = options_params(r->o, &r->trace, &r->params);
		r->start_ns = halt_start_ns(halt);
	}
	recorded_add(&r->all, step);
	recorded_add(&v->r, step);
	wake_add(&r->wake, &v->wake, step);
	(halt->waited ? v->blocked : v->polled)[bucket_of(ns)]++;
	if (r->params_known && r->params.max_ns) {
		v->just_below += ns <= r->params.max_ns && ns > r->params.max_ns / 4 * 3;
		v->just_above += ns > r->params.max_ns &&
				 ns - r->params.max_ns <= r->params.max_ns / 4;
	}
	if (!step->known)
		return 0;
	add_interval(v, step);
	return add_timeline(r, v, step);
}

/* The end of the bucket that the halt @share of the way up to @most_ns is in. */
static u64 quantile(const struct report_vcpu *v, double share, u64 most_ns)
{
	u64 nr = 0, seen = 0;
	unsigned int i;

	for (i = 0; i <= bucket_of(most_ns); i++)
		nr += (u64)v->polled[i] + v->blocked[i];
	for (i = 0; i < bucket_of(most_ns); i++) {
		seen += (u64)v->polled[i] + v->blocked[i];
		if (seen && seen >= share * nr)
			break;
	}
	return bucket_end(i);
}

static double vcpu_cpu(const struct report_vcpu *v)
{
	return percent_of(account_polled_ns(&v->r.a), recorded_time_ns(&v->r));
}

static bool burns(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	return v->r.a.hits >= 0.9 * v->r.a.halts && vcpu_cpu(v) >= 50;
}

static bool oscillates(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	return v->from_0 >= v->known / 4 && v->to_0 >= v->known / 4 && v->known &&
	       v->r.a.hits < 0.25 * v->r.a.halts;
}

static bool just_below(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	return v->just_below >= 0.5 * v->r.a.halts;
}

static bool just_above(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	return v->just_above >= 0.5 * v->r.a.halts;
}

static bool starts_above(const struct report *r, const struct report_vcpu *v)
{
	(void)v;
	return r->params_known && r->params.max_ns && r->params.grow_start_ns > r->params.max_ns;
}

static bool in_vain(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	return v->r.a.vain_ns > v->r.a.hit_ns && vcpu_cpu(v) >= 5;
}

static void advise_burns(const struct report *r, const struct report_vcpu *v)
{
	printf("a halt takes about %s, and polling saves %s of latency: if the CPU is worth more, "
	       "set halt_poll_ns below %" PRIu64 ", here or by KVM_CAP_HALT_POLL for this VM",
	       text_ns(quantile(v, 0.5, LLONG_MAX)).s, text_ns(r->cost.ns).s,
	       (uint64_t)quantile(v, 0.5, LLONG_MAX) / 2);
}

static void advise_oscillates(const struct report *r, const struct report_vcpu *v)
{
	u64 most_ns = r->params_known ? r->params.max_ns : 200000;

	printf("the first poll after a long halt is too short and the next halt is long: set "
	       "halt_poll_ns_grow_start to %" PRIu64 ", which covers most of the short ones, "
	       "or halt_poll_ns to 0", (uint64_t)quantile(v, 0.9, most_ns));
}

static void advise_just_below(const struct report *r, const struct report_vcpu *v)
{
	(void)v;
	printf("each poll is nearly as long as can be: set halt_poll_ns below %u, if the CPU is "
	       "worth more than %s a halt", r->params.max_ns / 4 * 3, text_ns(r->cost.ns).s);
}

static void advise_just_above(const struct report *r, const struct report_vcpu *v)
{
	(void)v;
	printf("no poll that is allowed can succeed: set halt_poll_ns to %" PRIu64 " to catch "
	       "these halts, or leave it and burn nothing for them",
	       (uint64_t)r->params.max_ns + r->params.max_ns / 4);
}

static void advise_starts_above(const struct report *r, const struct report_vcpu *v)
{
	(void)v;
	printf("the first poll is the longest there is, and shrinking goes to 0 at once: set "
	       "halt_poll_ns_grow_start to %u if that is meant, below it if not", r->params.max_ns);
}

static void advise_in_vain(const struct report *r, const struct report_vcpu *v)
{
	(void)r;
	(void)v;
	printf("'kvm_halt_poll tune' finds what wastes less");
}

static const struct pattern {
	const char *key;
	const char *what;
	bool (*seen)(const struct report *r, const struct report_vcpu *v);
	void (*advise)(const struct report *r, const struct report_vcpu *v);
} patterns[] = {
	{ "every_poll_hits_core_burns", "every poll hits, yet a core burns", burns, advise_burns },
	{ "oscillates", "the interval goes from 0 to its start and back", oscillates,
	  advise_oscillates },
	{ "just_below_max", "halts take just less than the maximum", just_below,
	  advise_just_below },
	{ "just_above_max", "halts take just more than the maximum", just_above,
	  advise_just_above },
	{ "start_above_max", "halt_poll_ns_grow_start is above halt_poll_ns", starts_above,
	  advise_starts_above },
	{ "mostly_in_vain", "most of the polling is in vain", in_vain, advise_in_vain },
};

#define NR_PATTERNS (sizeof(patterns) / sizeof(*patterns))

static void find_patterns(const struct report *r, struct report_vcpu *v)
{
	unsigned int i;

	if (v->r.a.halts < PATTERN_HALTS)
		return;
	for (i = 0; i < NR_PATTERNS; i++) {
		if (patterns[i].seen(r, v))
			v->patterns |= 1U << i;
	}
}

/* A vCPU of which no halt was told has none of ours. */
static struct report_vcpu *data_of(const struct vcpu *vcpu)
{
	return vcpu->priv ? follow_data(vcpu) : NULL;
}

static u64 halts_of(const struct vcpu *vcpu)
{
	const struct report_vcpu *v = data_of(vcpu);

	return v ? v->r.a.halts : 0;
}

static int compare_halts(const void *a, const void *b)
{
	const u64 x = halts_of(*(struct vcpu * const *)a), y = halts_of(*(struct vcpu * const *)b);

	return (x < y) - (x > y);
}

static int compare_vm(const void *a, const void *b)
{
	const struct vcpu *x = *(struct vcpu * const *)a, *y = *(struct vcpu * const *)b;

	if (x->vm != y->vm)
		return x->vm < y->vm ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Puts the vCPUs in the order of output, and marks those that are shown. */
static int sort_vcpus(struct report *r)
{
	size_t i, nr = r->trace.nr_vcpus;

	r->sorted = malloc(nr * sizeof(*r->sorted));
	if (!r->sorted)
		return fail("out of memory");
	memcpy(r->sorted, r->trace.vcpus, nr * sizeof(*r->sorted));
	qsort(r->sorted, nr, sizeof(*r->sorted), compare_halts);
	for (i = 0; i < nr && halts_of(r->sorted[i]); i++) {
		struct report_vcpu *v = data_of(r->sorted[i]);

		v->shown = i < SHOWN || (r->o->given & OPTION_ALL);
		find_patterns(r, v);
	}
	qsort(r->sorted, nr, sizeof(*r->sorted), compare_vm);
	return 0;
}

static void print_bar(unsigned int polled, unsigned int blocked, unsigned int most)
{
	unsigned int hashes = (u64)polled * BAR_WIDTH / most;
	unsigned int all = ((u64)polled + blocked) * BAR_WIDTH / most;
	unsigned int i;

	for (i = 0; i < all; i++)
		putchar(i < hashes ? '#' : '-');
	putchar('\n');
}

static bool is_empty(const struct report_vcpu *v, unsigned int i)
{
	return !v->polled[i] && !v->blocked[i];
}

static void print_histogram(const struct report_vcpu *v)
{
	unsigned int i, first = BUCKETS, last = 0, most = 1;

	for (i = 0; i < BUCKETS; i++) {
		u64 nr = (u64)v->polled[i] + v->blocked[i];

		if (is_empty(v, i))
			continue;
		if (first == BUCKETS)
			first = i;
		last = i;
		if (nr > most)
			most = nr < UINT_MAX ? nr : UINT_MAX;
	}
	printf("    %-12s %10s %10s\n", "halt time <", "polled #", "blocked -");
	for (i = first; i <= last; i++) {
		/* Up to the last bucket there is one that is not empty. */
		if (is_empty(v, i) && is_empty(v, i + 1)) {
			puts("    ...");
			while (is_empty(v, i + 1))
				i++;
			continue;
		}
		printf("    %-12s %10u %10u  ",
		       i < BUCKETS - 1 ? text_ns(bucket_end(i)).s : "and more",
		       v->polled[i], v->blocked[i]);
		print_bar(v->polled[i], v->blocked[i], most);
	}
}

static void print_timeline(const struct report_vcpu *v)
{
	static const char levels[] = " .:-=+*#%@";
	const struct timeline *t = v->timeline;
	unsigned int i, used = timeline_used(t);

	printf("    interval over time, a column is %s, @ is %s:\n    |",
	       text_ns(t->width_ns).s, text_ns(v->interval_most).s);
	for (i = 0; i < used; i++) {
		u64 mean = t->columns[i].nr ? t->columns[i].sum / t->columns[i].nr : 0;

		putchar(t->columns[i].nr ? levels[(mean * 9 + v->interval_most - 1) /
						  v->interval_most] : ' ');
	}
	puts("|");
}

static void print_recorded(const struct recorded *r)
{
	u64 time_ns = recorded_time_ns(r), polled_ns = account_polled_ns(&r->a);

	printf("%" PRIu64 " halts, %.1f/s, %.1f %% without blocking; CPU burned polling %.2f %% of "
	       "one, %.2f %% in vain\n", (uint64_t)r->a.halts, r->a.halts * 1e9 / time_ns,
	       percent_of(r->a.hits, r->a.halts), percent_of(polled_ns, time_ns),
	       percent_of(r->a.vain_ns, time_ns));
}

static void print_name(const char *s)
{
	for (; *s; s++)
		putchar((unsigned char)*s < ' ' || *s == 127 ? '?' : *s);
}

static void print_vcpu(const struct report *r, const struct vcpu *vcpu)
{
	const struct report_vcpu *v = data_of(vcpu);
	unsigned int i;

	printf("\n  vCPU %d", vcpu->pid);
	if (vcpu->id >= 0)
		printf(", number %d of its VM", vcpu->id);
	if (vcpu->comm[0]) {
		fputs(", ", stdout);
		print_name(vcpu->comm);
	}
	fputs(": ", stdout);
	print_recorded(&v->r);
	print_histogram(v);
	if (v->known)
		printf("    interval: %u to %u ns, %" PRIu64 " on average; from 0 and to 0: "
		       "%" PRIu64 " and %" PRIu64 " times\n", v->interval_least, v->interval_most,
		       (uint64_t)(v->interval_sum / v->known), (uint64_t)v->from_0,
		       (uint64_t)v->to_0);
	else
		puts("    interval: not known, as it never changed");
	if (v->timeline)
		print_timeline(v);
	for (i = 0; i < NR_PATTERNS; i++) {
		if (!(v->patterns & 1U << i))
			continue;
		printf("    ! %s: ", patterns[i].what);
		patterns[i].advise(r, v);
		putchar('\n');
	}
}

/* The vCPUs of the VM that @first is the first of: how many there are. */
static size_t vm_size(const struct report *r, size_t first, struct recorded *sum)
{
	size_t i;

	memset(sum, 0, sizeof(*sum));
	for (i = first; i < r->trace.nr_vcpus && r->sorted[i]->vm == r->sorted[first]->vm; i++) {
		if (halts_of(r->sorted[i]))
			recorded_merge(sum, &data_of(r->sorted[i])->r);
	}
	return i - first;
}

static void print_vm(const struct report *r, size_t first, size_t nr,
		     const struct recorded *sum)
{
	size_t i, shown = 0;

	if (r->sorted[first]->vm >= 0)
		printf("\nVM %d", r->sorted[first]->vm);
	else
		printf("\nVM unknown");
	printf(", %zu vCPU%s: ", nr, nr == 1 ? "" : "s");
	print_recorded(sum);
	for (i = first; i < first + nr; i++) {
		if (halts_of(r->sorted[i]) && data_of(r->sorted[i])->shown) {
			print_vcpu(r, r->sorted[i]);
			shown++;
		}
	}
	if (shown < nr)
		printf("\n  %zu more vCPUs, not shown (--all)\n", nr - shown);
}

static void print_patterns(const struct report *r)
{
	size_t i, nr;
	unsigned int p;

	putchar('\n');
	for (p = 0; p < NR_PATTERNS; p++) {
		for (nr = 0, i = 0; i < r->trace.nr_vcpus; i++)
			nr += halts_of(r->sorted[i]) && data_of(r->sorted[i])->patterns & 1U << p;
		if (nr)
			printf("pattern: %s: %zu vCPUs\n", patterns[p].what, nr);
	}
	if (!r->params_known)
		puts("pattern: the parameters are not known (--max ...), so what has to do with "
		     "them was not looked for");
}

static void print(const struct report *r)
{
	struct recorded sum;
	size_t i, nr;

	print_trace(&r->trace, &r->all);
	if (r->params_known)
		printf("recorded with halt_poll_ns %u, grow %u, grow_start %u, shrink %u\n",
		       r->params.max_ns, r->params.grow, r->params.grow_start_ns, r->params.shrink);
	wake_print(&r->cost);
	for (i = 0; i < r->trace.nr_vcpus; i += nr) {
		nr = vm_size(r, i, &sum);
		/* Only intervals were told of these. */
		if (sum.a.halts)
			print_vm(r, i, nr, &sum);
	}
	print_patterns(r);
}

static void add_recorded(json_t *object, const struct recorded *r, unsigned int wake_ns)
{
	json_add_u64(object, "time_ns", recorded_time_ns(r));
	json_add_recorded(object, r, wake_ns);
}

static json_t *histogram_json(const struct report_vcpu *v)
{
	json_t *array = json_array(), *object;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		if (is_empty(v, i))
			continue;
		object = json_object();
		json_add(object, "below_ns", i < BUCKETS - 1 ? json_integer(bucket_end(i)) :
							       json_null());
		json_add_u64(object, "polled", v->polled[i]);
		json_add_u64(object, "blocked", v->blocked[i]);
		json_append(array, object);
	}
	return array;
}

static json_t *interval_json(const struct report_vcpu *v)
{
	json_t *object = json_object(), *means = json_array();
	const struct timeline *t = v->timeline;
	unsigned int i;

	json_add_u64(object, "least_ns", v->interval_least);
	json_add_u64(object, "most_ns", v->interval_most);
	json_add_u64(object, "mean_ns", v->interval_sum / v->known);
	json_add_u64(object, "from_0", v->from_0);
	json_add_u64(object, "to_0", v->to_0);
	json_add_u64(object, "column_ns", t ? t->width_ns : 0);
	for (i = 0; t && i < timeline_used(t); i++)
		json_append(means, t->columns[i].nr ?
			    json_integer(t->columns[i].sum / t->columns[i].nr) : json_null());
	json_add(object, "column_means_ns", means);
	return object;
}

static json_t *vcpu_json(const struct report *r, const struct vcpu *vcpu)
{
	const struct report_vcpu *v = data_of(vcpu);
	json_t *object = json_object(), *array = json_array();
	unsigned int i;

	json_add_u64(object, "thread", vcpu->pid);
	json_add(object, "number", vcpu->id >= 0 ? json_integer(vcpu->id) : json_null());
	json_add_string(object, "name", vcpu->comm);
	add_recorded(object, &v->r, r->cost.ns);
	json_add(object, "halt_times", histogram_json(v));
	json_add(object, "interval", v->known ? interval_json(v) : json_null());
	for (i = 0; i < NR_PATTERNS; i++) {
		if (v->patterns & 1U << i)
			json_append(array, json_string(patterns[i].key));
	}
	json_add(object, "patterns", array);
	return object;
}

static int print_json(const struct report *r)
{
	json_t *root = json_object(), *vms = json_array(), *vm, *vcpus;
	struct recorded sum;
	size_t i, j, nr;

	json_add_trace(root, &r->trace);
	json_add(root, "params", r->params_known ? json_params(&r->params) : json_null());
	json_add_wake(root, &r->cost);
	add_recorded(root, &r->all, r->cost.ns);
	for (i = 0; i < r->trace.nr_vcpus; i += nr) {
		nr = vm_size(r, i, &sum);
		if (!sum.a.halts)
			continue;
		vm = json_object();
		json_add(vm, "process", r->sorted[i]->vm >= 0 ? json_integer(r->sorted[i]->vm) :
								json_null());
		add_recorded(vm, &sum, r->cost.ns);
		vcpus = json_array();
		for (j = i; j < i + nr; j++) {
			if (halts_of(r->sorted[j]))
				json_append(vcpus, vcpu_json(r, r->sorted[j]));
		}
		json_add(vm, "vcpus", vcpus);
		json_append(vms, vm);
	}
	json_add(root, "vms", vms);
	return json_print(root);
}

static void plot_data(const struct report *r, FILE *file)
{
	u64 polled[BUCKETS] = {}, blocked[BUCKETS] = {};
	unsigned int b;
	size_t i;

	for (i = 0; i < r->trace.nr_vcpus; i++) {
		const struct report_vcpu *v = data_of(r->sorted[i]);
		const struct timeline *t = v && v->shown ? v->timeline : NULL;

		for (b = 0; v && b < BUCKETS; b++) {
			polled[b] += v->polled[b];
			blocked[b] += v->blocked[b];
		}
		if (!t)
			continue;
		fprintf(file, "$vcpu%d << END\n", r->sorted[i]->pid);
		for (b = 0; b < timeline_used(t); b++) {
			if (t->columns[b].nr)
				fprintf(file, "%.9g %.6g\n", b * t->width_ns / 1e9,
					t->columns[b].sum / 1e3 / t->columns[b].nr);
		}
		fputs("END\n", file);
	}
	fputs("$halts << END\n", file);
	for (b = 0; b < BUCKETS; b++) {
		if (polled[b] + blocked[b])
			fprintf(file, "%g %" PRIu64 " %" PRIu64 "\n", bucket_end(b) / 1e3,
				(uint64_t)polled[b], (uint64_t)(polled[b] + blocked[b]));
	}
	fputs("END\n", file);
}

static int draw(const struct report *r)
{
	struct plot plot;
	size_t i;

	if (plot_open(&plot, r->o->plot, 960, 420))
		return -1;
	plot_data(r, plot.gnuplot);
	fputs("set multiplot layout 1,2 title ", plot.gnuplot);
	plot_string(&plot, r->trace.name);
	fputs("\nset grid\nset logscale x 2\nset yrange [0:*]\n"
	      "set xlabel 'halt time, less than (us)'\nset ylabel 'halts'\n"
	      "set style fill solid 0.7\n"
	      "plot $halts using 1:3:($1*0.4) with boxes title 'blocked', "
	      "$halts using 1:2:($1*0.4) with boxes title 'polled'\n"
	      "unset logscale x\nset xlabel 'time (s)'\n"
	      "set ylabel 'interval, mean of a column (us)'\nset yrange [0:*]\n"
	      "plot ", plot.gnuplot);
	for (i = 0; i < r->trace.nr_vcpus; i++) {
		const struct report_vcpu *v = data_of(r->sorted[i]);

		if (v && v->shown && v->timeline)
			fprintf(plot.gnuplot, "$vcpu%d with steps linewidth 2 title 'vCPU %d', ",
				r->sorted[i]->pid, r->sorted[i]->pid);
	}
	/* Without it an empty plot would be an error. */
	fputs("NaN notitle\nunset multiplot\n", plot.gnuplot);
	return plot_close(&plot);
}

static void free_timelines(struct report *r)
{
	size_t i;

	for (i = 0; i < r->trace.nr_vcpus; i++) {
		if (r->trace.vcpus[i]->priv)
			free(data_of(r->trace.vcpus[i])->timeline);
	}
}

static int run(struct report *r, struct follow *f)
{
	if (wake_init(&r->wake) || follow_read(f, r->o->file))
		return -1;
	if (!(r->o->given & OPTION_WAKE_COST))
		r->cost = wake_estimate(&r->wake);
	if (sort_vcpus(r) || ((r->o->given & OPTION_PLOT) && draw(r)))
		return -1;
	if (r->o->given & OPTION_JSON)
		return print_json(r);
	print(r);
	return 0;
}

int cmd_report(int argc, char **argv)
{
	struct options o = {};
	struct report r = { .o = &o };
	struct follow f = {
		.trace = &r.trace, .step = report_step, .ctx = &r,
		.size = sizeof(struct report_vcpu),
	};
	int status;

	if (!options_parse(&o, argc, argv, OPTION_PARAMS | OPTION_WAKE_COST | OPTION_ALL |
			   OPTION_PLOT | OPTION_JSON,
			   "What the halts of each VM and vCPU were like, what polling did, and what to do\n"
			   "about it. The parameters are those of the recording unless given.",
			   &status))
		return status;

	r.cost = (struct wake_cost){ .ns = o.wake_ns, .source = WAKE_GIVEN };
	status = run(&r, &f) ? EXIT_ERROR : EXIT_OK;
	free(r.sorted);
	free_timelines(&r);
	follow_free(&f);
	wake_free(&r.wake);
	trace_free(&r.trace);
	return status;
}
