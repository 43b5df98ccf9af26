/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What blocking costs: how much longer a halt takes that blocks than one whose
 * poll catches the same event.
 *
 * No event is seen both ways, so events are compared that could have been.  A
 * blocked halt with interval B and a halt of the same vCPU close by that polled
 * successfully with a longer interval P make a pair if both events came between
 * B and P: each would have had the other's fate under the other's interval.
 * Whether an event is in there does not depend on how it was waited for, so what
 * is left between the two is chance, which is as often in favour of the one as
 * of the other, and the cost.  The median of the differences is the cost.  Where
 * the blocked one's event came is known only once the cost is: the median is
 * taken again, with what it was before as the cost, until it does not rise.  A halt
 * whose poll was skipped is one with B = 0.
 */
#ifndef __WAKE_H
#define __WAKE_H

#include "follow.h"

/* What is taken where a trace cannot tell: an assumption, and called so. */
#define WAKE_ASSUMED_NS 5000

#define WAKE_NEAR 8		/* halts that are close by */
#define WAKE_PAIRS 16384	/* as many as are kept */
#define WAKE_LEAST 8		/* pairs that a median is taken of */

struct wake_halt {
	u64 ns;
	u64 number;		/* of the halt */
	unsigned int polled_for_ns;
};

/* What is kept of a vCPU; zeroed at first. */
struct wake_vcpu {
	u64 halts;
	struct wake_halt hit;
	struct wake_halt blocked[WAKE_NEAR];
	unsigned int nr_blocked;
};

struct wake_pair {
	u64 hit;			/* its number */
	unsigned int polled_for_ns;	/* P above */
	u64 blocked_ns, hit_ns;
};

struct wake {
	struct wake_pair *pairs;
	size_t nr;
	u64 seen, stride;	/* one of so many is kept */
};

enum wake_source {
	WAKE_GIVEN,
	WAKE_MEASURED,
	WAKE_ASSUMED,
};

struct wake_cost {
	unsigned int ns;
	enum wake_source source;
	size_t pairs;
	u64 error_ns;		/* half the width of the median's 95 % interval */
};

int wake_init(struct wake *wake);
void wake_free(struct wake *wake);
void wake_add(struct wake *wake, struct wake_vcpu *v, const struct step *step);

/* The cost, measured if @wake suffices, else assumed. */
struct wake_cost wake_estimate(const struct wake *wake);

/* "measured", "given" or "assumed". */
const char *wake_source_name(const struct wake_cost *cost);

/* One line that says how much and how that is known. */
void wake_print(const struct wake_cost *cost);

#endif /* __WAKE_H */
