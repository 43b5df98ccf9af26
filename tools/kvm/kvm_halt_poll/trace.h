/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a trace says about halts, however it was written.
 *
 * A reader recognises the kind of a file and hands each event to a sink, one at
 * a time and in order of time per vCPU; nothing but the vCPUs is kept.  Who
 * needs all of it at once collects it with trace_load().
 */
#ifndef __TRACE_H
#define __TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* The longest halt that can be told: 2^61 - 1 ns, which is 73 years. */
#define HALT_NS_MAX ((1ULL << 61) - 1)

/* One kvm_vcpu_wakeup event: 16 bytes, as there may be a billion. */
struct halt {
	__u64 time_ns;		/* of the event, that is, of the halt's end */
	__u64 ns : 61;		/* the halt time, polling included */
	__u64 waited : 1;	/* the vCPU blocked; false: a poll ended the halt */
	__u64 valid : 1;	/* the wakeup was for this vCPU */
	__u64 skipped : 1;	/* KVM skipped its poll, for want of budget */
};

/* 0 for one that began before the clock did. */
static inline __u64 halt_start_ns(const struct halt *halt)
{
	return halt->time_ns > halt->ns ? halt->time_ns - halt->ns : 0;
}

/*
 * One kvm_halt_poll_ns event.  The kernel sends it before the kvm_vcpu_wakeup
 * event of the same halt, on the same thread.
 */
struct change {
	__u64 time_ns;
	__u64 before;		/* number of this vCPU's halts before it */
	__u32 old_ns;
	__u32 new_ns;
};

/* Who halted: a thread, and what else the trace tells of it. */
struct vcpu {
	int pid;		/* of the thread; in CSV, the column vcpu */
	int vm;			/* the process' pid; -1: unknown */
	int id;			/* KVM's number within its VM; -1: unknown */
	char comm[16];		/* "": unknown */

	/* Between a kvm_halt_poll_skip event and its halt's; see trace_skip(). */
	bool skips;
	__u64 skips_lost;	/* trace->lost as of then */

	struct halt *halts;	/* only after trace_load() */
	size_t nr_halts;
	struct change *changes;
	size_t nr_changes;

	void *priv;		/* the sink's */
};

/* The module parameters at the time of recording. */
struct trace_params {
	bool known;
	unsigned int max_ns, grow, grow_start_ns, shrink;
};

struct trace {
	const char *name;	/* of the file, "-": standard input */
	const char *kind;	/* e.g. "trace.dat", "perf script" */
	char release[65];	/* of the kernel; "": unknown */
	struct trace_params params;
	struct vcpu **vcpus;	/* in order of appearance; pointers stay valid */
	size_t nr_vcpus;
	__u64 lost;		/* events, on whichever vCPU; grows where it was read */
};

struct trace_sink {
	/* Either may be NULL; non-zero stops reading and is trace_read()'s result. */
	int (*halt)(void *ctx, struct vcpu *vcpu, const struct halt *halt);
	int (*change)(void *ctx, struct vcpu *vcpu, const struct change *change);
	void *ctx;
};

/*
 * Reads @name ("-": standard input) into @sink.  0, or -1 after one line on
 * stderr that names file and line or offset.  A trace without any
 * kvm_vcpu_wakeup event is an error.  @trace is valid until trace_free(),
 * which is needed after an error, too.
 */
int trace_read(struct trace *trace, const char *name, const struct trace_sink *sink);

/* The same into the vCPUs' own arrays. */
int trace_load(struct trace *trace, const char *name);

void trace_free(struct trace *trace);

/*
 * For who makes a trace of events: the poll of @vcpu's next halt was skipped; and, asked
 * at each halt, whether this one's was.  Where events were lost in between, which halt
 * that was about is not known, and it is forgotten.
 */
void trace_skip(const struct trace *trace, struct vcpu *vcpu);
bool trace_skipped(const struct trace *trace, struct vcpu *vcpu);

#endif /* __TRACE_H */
