// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records the halts of this host's vCPUs.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "live.h"
#include "options.h"
#include "own.h"

#define NSEC 1000000000ULL

struct record {
	struct trace trace;
	struct live *live;
	struct output out;
	__u64 halts, vcpus, lost;	/* written */
	__u64 start_ns;
	__u64 shown;		/* seconds of progress, plus 1 */
};

static void write_heading(struct record *rec)
{
	const struct trace_params *p = &rec->trace.params;

	fprintf(rec->out.file, OWN_VERSION "\n" OWN_KERNEL "%s\n", rec->trace.release);
	if (p->known)
		fprintf(rec->out.file, OWN_PARAMS "%u,%u,%u,%u\n", p->max_ns, p->grow,
			p->grow_start_ns, p->shrink);
	fprintf(rec->out.file, OWN_HEADER "\n");
}

static void write_vcpu(struct record *rec, const struct vcpu *vcpu)
{
	fprintf(rec->out.file, OWN_VCPU "%d,", vcpu->pid);
	if (vcpu->vm >= 0)
		fprintf(rec->out.file, "%d", vcpu->vm);
	fprintf(rec->out.file, ",%s\n", vcpu->comm);
}

/* What an event does not tell: what was lost before it, and who is new. */
static void write_news(struct record *rec)
{
	const struct trace *trace = &rec->trace;

	if (trace->lost > rec->lost)
		fprintf(rec->out.file, OWN_LOST "%llu\n", trace->lost - rec->lost);
	rec->lost = trace->lost;
	while (rec->vcpus < trace->nr_vcpus)
		write_vcpu(rec, trace->vcpus[rec->vcpus++]);
}

static int write_change(void *ctx, struct vcpu *vcpu, const struct change *change)
{
	struct record *rec = ctx;

	write_news(rec);
	fprintf(rec->out.file, OWN_INTERVAL "%d,%d,%llu,%u,%u\n", vcpu->pid, vcpu->id,
		change->time_ns, change->old_ns, change->new_ns);
	return 0;
}

static int write_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	struct record *rec = ctx;

	write_news(rec);
	if (halt->skipped)
		fprintf(rec->out.file, OWN_SKIP "%d,%d\n", vcpu->pid, vcpu->id);
	fprintf(rec->out.file, "%d,%llu,%llu,%d,%d\n", vcpu->pid, halt->time_ns,
		(__u64)halt->ns, halt->waited, halt->valid);
	rec->halts++;
	return 0;
}

/* Whoever reads it through a pipe gets it now; and a full disk is told of. */
static int flush(struct record *rec)
{
	if (fflush(rec->out.file))
		return fail("%s: cannot be written: %s", rec->out.name, strerror(errno));
	return 0;
}

/* Once a second. */
static void show_progress(struct record *rec, __u64 now)
{
	__u64 seconds = (now - rec->start_ns) / NSEC;

	if (rec->shown && seconds < rec->shown)
		return;
	rec->shown = seconds + 1;
	fprintf(stderr, "\r%llu s: %llu halts of %llu vCPUs, %llu events lost ",
		seconds, rec->halts, rec->vcpus, rec->lost);
}

static int record_until_stopped(struct record *rec, double seconds)
{
	bool progress = isatty(STDERR_FILENO);
	int ret = 0;

	rec->start_ns = live_now_ns();
	while (!live_stopped() && !ret) {
		__u64 now_ns = live_now_ns(), settled_ns = live_settled_ns();

		if (seconds && now_ns - rec->start_ns >= seconds * NSEC)
			break;
		ret = live_read(rec->live) ?: live_deliver(rec->live, settled_ns) ?: flush(rec);
		if (progress)
			show_progress(rec, now_ns);
		live_pause();
	}
	if (progress)
		fputs("\r\033[K", stderr);
	return ret;
}

/* What is left in the buffers, and the last lines. */
static int record_rest(struct record *rec)
{
	if (live_finish(rec->live) || flush(rec))
		return -1;
	write_news(rec);
	if (!rec->halts)
		return fail("no vCPU halted");
	fprintf(rec->out.file, OWN_END "%llu\n", rec->halts);
	return 0;
}

static int record(struct record *rec, const struct options *o)
{
	int ret;

	if (output_open(&rec->out, o->output))
		return -1;
	write_heading(rec);
	ret = live_start(rec->live, o->buffer_kb, o->pids, o->nr_pids) ?:
	      record_until_stopped(rec, o->seconds) ?: record_rest(rec);
	if (!ret)
		ret = output_commit(&rec->out);
	else
		output_discard(&rec->out);
	return ret;
}

int cmd_record(int argc, char **argv)
{
	struct options o = { .output = "kvm_halt_poll.csv", .buffer_kb = LIVE_BUFFER_KB };
	struct record rec = {};
	const struct trace_sink sink = { write_halt, write_change, &rec };
	int status;

	if (options_parse(&o, argc, argv, OPTION_LIVE | OPTION_DURATION | OPTION_OUTPUT,
			  "Records each halt of this host's vCPUs, and each change of their polling\n"
			  "interval, until it is interrupted.", &status)) {
		status = EXIT_ERROR;
		rec.live = live_open(&rec.trace, &sink);
		if (rec.live) {
			if (!record(&rec, &o))
				status = EXIT_OK;
			live_close(rec.live);
		}
		trace_free(&rec.trace);
		if (status == EXIT_OK)
			fprintf(stderr, "%s: %llu halts of %llu vCPUs, %llu events lost\n",
				o.output, rec.halts, rec.vcpus, rec.lost);
	}
	options_free(&o);
	return status;
}
