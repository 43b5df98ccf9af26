/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A value over time, in a fixed number of columns that get wider as time goes on.
 */
#ifndef __TIMELINE_H
#define __TIMELINE_H

#include <linux/kvm_halt_poll.h>

#define TIMELINE_COLUMNS 60

struct timeline {
	u64 start_ns;
	u64 width_ns;		/* of a column */
	struct {
		u64 sum;
		u64 nr;
	} columns[TIMELINE_COLUMNS];
};

void timeline_init(struct timeline *t, u64 start_ns);
void timeline_add(struct timeline *t, u64 time_ns, unsigned int value);

/* How many columns there are up to the last with a value. */
unsigned int timeline_used(const struct timeline *t);

#endif /* __TIMELINE_H */
