/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __KVM_HALT_POLL_H
#define __KVM_HALT_POLL_H

#include <linux/types.h>

/**
 * DOC: halt polling interval
 *
 * The *interval* is how long a vCPU polls at its next halt, in nanoseconds;
 * 0 is no polling.  The *halt time* is what passes between the start of a halt
 * and the moment the vCPU goes on, polling included.
 *
 * After each halt the first of these rules that applies sets the interval:
 *
 * 1. The maximum is 0: no polling.
 * 2. The wakeup was not valid, i.e. did nothing for this vCPU: shrink.
 * 3. The interval covered the halt time: keep the interval.
 * 4. The halt took longer than the maximum, so no poll that is allowed could
 *    have covered it: shrink.
 * 5. A longer poll would have covered the halt: grow.
 *
 * Whichever rule applies, the interval never exceeds the maximum.  A halt whose
 * poll was cut short says nothing about the interval and is not fed in.
 *
 * All of it is arithmetic on what the caller passes: no clock, no lock, no
 * tracing, and nothing that userspace lacks.
 */

/**
 * struct kvm_halt_poll_params - how the interval adapts
 * @max_ns: ceiling of the interval; 0: no polling
 * @grow: factor by which the interval grows; 0: it never grows
 * @grow_start_ns: least interval to poll for; 0: an interval of 0 stays at 0
 * @shrink: divisor by which the interval shrinks; 0: shrinking resets it to 0
 * @budget: percent of the time that the vCPU may spend polling; 0: none;
 *	    KVM_HALT_POLL_NO_BUDGET and more: no limit
 *
 * Any value of any member is valid.  Where @max_ns is below @grow_start_ns, the
 * interval grows straight to @max_ns.
 */
struct kvm_halt_poll_params {
	unsigned int max_ns;
	unsigned int grow;
	unsigned int grow_start_ns;
	unsigned int shrink;
	unsigned int budget;
};

#define KVM_HALT_POLL_NO_BUDGET 100

/*
 * The ceiling goes last, so that no rule and no change of @p escapes it.  A
 * maximum of 0 needs no more than this.
 */
static inline unsigned int kvm_halt_poll_cap(u64 interval_ns,
					     const struct kvm_halt_poll_params *p)
{
	return interval_ns < p->max_ns ? interval_ns : p->max_ns;
}

/* In 64 bits, since the product of two 32-bit values does not fit in 32. */
static inline unsigned int kvm_halt_poll_grow(unsigned int interval_ns,
					      const struct kvm_halt_poll_params *p)
{
	u64 grown_ns = (u64)interval_ns * p->grow;

	if (!p->grow)
		grown_ns = interval_ns;
	else if (grown_ns < p->grow_start_ns)
		grown_ns = p->grow_start_ns;

	return kvm_halt_poll_cap(grown_ns, p);
}

/*
 * Rounds down; what is too short to start with is too short to keep.  An idle
 * vCPU has nothing left to shrink in most of its halts: no division for that.
 */
static inline unsigned int kvm_halt_poll_shrink(unsigned int interval_ns,
						const struct kvm_halt_poll_params *p)
{
	unsigned int shrunk_ns;

	if (!interval_ns || !p->shrink)
		return 0;

	shrunk_ns = interval_ns / p->shrink;
	if (shrunk_ns < p->grow_start_ns)
		shrunk_ns = 0;

	return kvm_halt_poll_cap(shrunk_ns, p);
}

static inline unsigned int kvm_halt_poll_next(unsigned int interval_ns,
					      u64 halt_ns, bool valid_wakeup,
					      const struct kvm_halt_poll_params *p)
{
	if (!valid_wakeup)
		return kvm_halt_poll_shrink(interval_ns, p);

	if (halt_ns <= interval_ns)
		return kvm_halt_poll_cap(interval_ns, p);

	if (halt_ns > p->max_ns)
		return kvm_halt_poll_shrink(interval_ns, p);

	return kvm_halt_poll_grow(interval_ns, p);
}

/**
 * DOC: halt polling budget
 *
 * A vCPU earns *credit* as time passes, @budget percent of it, and pays with it
 * for polling.  A poll starts only if the credit covers the whole interval,
 * since one that ends early is likely to fail; when it is over, the time that
 * it really took is taken off.  A poll that is skipped does not change the
 * interval.
 *
 * No more credit is kept than a poll of the maximum costs.  So over any span
 * of time a vCPU polls for @budget percent of it and at most @max_ns on top.
 * No more debt is kept either: of a poll that overruns by more than @max_ns,
 * as it does when the host itself is held up, the rest is forgiven.
 */

/**
 * struct kvm_halt_poll_credit - a vCPU's account
 * @spent: in ns times percent, on the scale on which @budget times the clock is
 *	   what has been earned; wraps.  Any value is valid: what cannot be is
 *	   taken for @max_ns of credit, or of debt.
 *
 * A nanosecond of time earns @budget, a nanosecond of polling costs 100: no
 * division, and nothing to be lost in rounding.
 */
struct kvm_halt_poll_credit {
	u64 spent;
};

/*
 * May a poll of @interval_ns start now?  The clock may stop, wrap or go back:
 * that is a loss of credit at worst.
 */
static inline bool kvm_halt_poll_affords(struct kvm_halt_poll_credit *c, u64 now_ns,
					 unsigned int interval_ns,
					 const struct kvm_halt_poll_params *p)
{
	const s64 most = (s64)p->max_ns * 100;
	u64 earned = now_ns * p->budget;
	s64 left = earned - c->spent;

	if (p->budget >= KVM_HALT_POLL_NO_BUDGET)
		return true;
	if (!p->budget)
		return false;

	if (left > most)
		left = most;
	else if (left < -most)
		left = -most;
	c->spent = earned - left;

	return left >= (s64)interval_ns * 100;
}

static inline void kvm_halt_poll_charge(struct kvm_halt_poll_credit *c, u64 poll_ns)
{
	c->spent += poll_ns * 100;
}

#endif /* __KVM_HALT_POLL_H */
