/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What polling did while it was recorded.
 */
#ifndef __RECORDED_H
#define __RECORDED_H

#include "follow.h"
#include "model.h"

struct recorded {
	struct account a;
	u64 polls, poll_hits;	/* as far as it is known, and what they ended */
	u64 unknown;		/* blocked halts that polled for nobody knows how long */
	u64 cut_short;		/* polls, of halts that blocked within their interval */
	u64 skipped;		/* polls, for want of budget */
	u64 start_ns, end_ns;	/* of the first halt, of the last */
};

void recorded_add(struct recorded *r, const struct step *step);
void recorded_merge(struct recorded *sum, const struct recorded *r);

/* From the start of the first halt to the end of the last, at least 1. */
u64 recorded_time_ns(const struct recorded *r);

/* How much of the CPU time that passed in @time_ns is @ns, in percent of one CPU. */
double percent_of(u64 ns, u64 time_ns);

/* The line on stdout that says which trace it is, and what it lacks. */
void print_trace(const struct trace *trace, const struct recorded *r);

/* What a replay of it, with a budget or without, assumes. */
void print_model(const struct recorded *r, bool budget);

/* A time with a unit that suits it. */
struct text {
	char s[32];
};

struct text text_ns(u64 ns);

#endif /* __RECORDED_H */
