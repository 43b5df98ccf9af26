/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What halts cost under given parameters.
 *
 * Events come when they came, whatever the polling.  A poll that covers the
 * event ends the halt there and then; any other burns the whole interval, the
 * vCPU blocks, and goes on only so much later as blocking costs.  The interval
 * adapts to that halt time as it does in the kernel, by the kernel's own header.
 * Polls are not cut short.
 *
 * When the event came is known of a halt that did not block: at its end.  One
 * that blocked took longer by the cost of blocking; but its event cannot have
 * come while it still polled, if it did.
 *
 * Replayed with the parameters that it was recorded with, a trace comes to what
 * was recorded, but for halts whose poll just missed the event that was there
 * before they blocked: a poll that does not cover the event always blocks here.
 */
#ifndef __MODEL_H
#define __MODEL_H

#include <linux/compiler.h>
#include <linux/kvm_halt_poll.h>

#include "follow.h"

/* What is summed up over halts, as recorded or as replayed. */
struct account {
	u64 halts;
	u64 hits;	/* halts without blocking */
	u64 hit_ns;	/* CPU burned in polls that hit */
	u64 vain_ns;	/* CPU burned in polls that did not */
};

/* Sums that overflow stay at the top. */
static inline u64 add_ns(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? ~0ULL : sum;
}

static inline u64 account_polled_ns(const struct account *a)
{
	return add_ns(a->hit_ns, a->vain_ns);
}

static inline u64 account_latency_ns(const struct account *a, unsigned int wake_ns)
{
	u64 ns;

	return __builtin_mul_overflow(a->halts - a->hits, (u64)wake_ns, &ns) ? ~0ULL : ns;
}

static inline void account_add(struct account *sum, const struct account *a)
{
	sum->halts += a->halts;
	sum->hits += a->hits;
	sum->hit_ns = add_ns(sum->hit_ns, a->hit_ns);
	sum->vain_ns = add_ns(sum->vain_ns, a->vain_ns);
}

/* What a halt becomes, so that it can be replayed: 16 bytes, too. */
struct event {
	u64 event_ns;		/* after the start of the halt */
	u64 blocked_ns : 63;	/* the halt time, if it blocks */
	u64 valid : 1;
};

struct event event_of(const struct step *step, unsigned int wake_ns);

/*
 * One halt under @p: accounts for it and returns the next interval.  No sum
 * overflows below 2^32 halts, as no interval exceeds 2^32.
 */
static __always_inline
unsigned int model_halt(struct account *a, unsigned int interval_ns,
			const struct event *event, const struct kvm_halt_poll_params *p)
{
	bool hit = event->event_ns <= interval_ns;

	a->halts++;
	a->hits += hit;
	a->hit_ns += hit ? event->event_ns : 0;
	a->vain_ns += hit ? 0 : interval_ns;
	return kvm_halt_poll_next(interval_ns, hit ? event->event_ns : event->blocked_ns,
				  event->valid, p);
}

/* What a budget needs of a vCPU. */
struct model_vcpu {
	unsigned int interval_ns;
	struct kvm_halt_poll_credit credit;
};

/* One that polls for @interval_ns, and at @start_ns has all the credit that there can be. */
static inline struct model_vcpu model_vcpu_at(u64 start_ns, unsigned int interval_ns,
					      const struct kvm_halt_poll_params *p)
{
	struct model_vcpu v = { .interval_ns = interval_ns };

	v.credit.spent = start_ns * p->budget - (u64)p->max_ns * 100;
	return v;
}

/*
 * The same for one that halts at @start_ns, with the budget of @p; false if the poll
 * was skipped: then the vCPU blocks at once, and the interval stays.
 */
static inline bool model_halt_budget(struct account *a, struct model_vcpu *v, u64 start_ns,
				     const struct event *event,
				     const struct kvm_halt_poll_params *p)
{
	const u64 polled_ns = account_polled_ns(a);

	if (v->interval_ns &&
	    !kvm_halt_poll_affords(&v->credit, start_ns, v->interval_ns, p)) {
		model_halt(a, 0, event, p);
		return false;
	}
	v->interval_ns = model_halt(a, v->interval_ns, event, p);
	kvm_halt_poll_charge(&v->credit, account_polled_ns(a) - polled_ns);
	return true;
}

/*
 * So many sets of parameters go through the halts side by side: what one waits
 * for, a division or a branch that went the other way, the others need not.
 */
#define MODEL_LANES 8

struct model_lanes {
	struct kvm_halt_poll_params p[MODEL_LANES];
	unsigned int interval_ns[MODEL_LANES];
	struct account a[MODEL_LANES];
};

/* @nr halts of one vCPU through all of the @lanes. */
void model_halts(struct model_lanes *lanes, const struct event *events, size_t nr);

#endif /* __MODEL_H */
