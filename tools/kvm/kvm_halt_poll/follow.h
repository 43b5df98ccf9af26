/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows the interval of each vCPU through a trace, as it was recorded.
 *
 * A trace tells the interval only where it changes: before the first change it
 * is that change's old value.  Halts are held back until it is known, for
 * FOLLOW_PENDING halts a vCPU at most.
 *
 * A thread may run one vCPU after another.  A new one starts with an interval of
 * 0, and there is no event for that: its first change goes from 0, where the last
 * interval was not.  Which of the halts before are its own already is not told; it
 * is those from the first on that blocked and changed nothing, which are held back,
 * too.  One whose poll was skipped had an interval, and so had those before.  A reset
 * without an event, of a kernel without the series, looks the same.
 */
#ifndef __FOLLOW_H
#define __FOLLOW_H

#include <linux/kvm_halt_poll.h>

#include "trace.h"

#define FOLLOW_PENDING 65536

/* One halt, and what the trace says of the interval. */
struct step {
	const struct halt *halt;
	bool known;			/* whether the next two are */
	unsigned int before_ns;		/* the interval after the halt before */
	unsigned int interval_ns;	/* at the halt; see step_polls_for() */
	bool lost;			/* unknown since events were lost */
	bool restarted;			/* the first of a new vCPU on the same thread */
	unsigned int nr_changes;	/* since the halt before */
	struct change changes[2];	/* the last of them, in order */
};

/* For how long the halt polled, if nothing came before; false if that is not known. */
static inline bool step_polls_for(const struct step *step, unsigned int *ns)
{
	*ns = step->halt->skipped ? 0 : step->interval_ns;
	return step->known || step->halt->skipped;
}

struct follow {
	struct trace *trace;
	/* Non-zero ends reading. */
	int (*step)(void *ctx, struct vcpu *vcpu, const struct step *step);
	void *ctx;
	size_t size;			/* of what the user keeps a vCPU, zeroed */
};

/* The user's own of a vCPU that has had an event. */
void *follow_data(const struct vcpu *vcpu);

/*
 * Whether @change was made before @halt, where the maximum is enforced and
 * polling found to be not allowed, rather than after it, to adapt.
 */
bool change_is_early(const struct change *change, const struct halt *halt);

/* Reads @name and calls @f->step for each halt.  As trace_read(). */
int follow_read(struct follow *f, const char *name);

/* The same from a trace that is loaded. */
int follow_loaded(struct follow *f);

/* For events as they come. */
struct trace_sink follow_sink(struct follow *f);

/* Calls @f->step for the halts held back, with what is known of the interval now. */
int follow_flush(struct follow *f);

/* The interval after the last halt; false if it is not known. */
bool follow_interval(const struct vcpu *vcpu, unsigned int *interval_ns);

/* Frees what is kept for one vCPU, and for all. */
void follow_forget(struct vcpu *vcpu);
void follow_free(struct follow *f);

#endif /* __FOLLOW_H */
