/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who knows when each event will come polls just as long, or blocks at once:
 * nobody can do better.  As each halt that does not block saves the same, the
 * shortest are polled for first, up to what polling is worth and what may be
 * burned.
 *
 * Halts are kept by their event's time in buckets that are 1/64 of it wide.  Where
 * what is worth it or may be burned ends in a bucket, all of it counts as its
 * shortest: that can be too good, never too bad.
 */
#ifndef __ORACLE_H
#define __ORACLE_H

#include "model.h"

#define ORACLE_BITS	6
#define ORACLE_BUCKETS	((64 - ORACLE_BITS + 1) << ORACLE_BITS)

struct oracle {
	u64 halts[ORACLE_BUCKETS];
	double ns[ORACLE_BUCKETS];
	u64 least_ns[ORACLE_BUCKETS];
};

static inline unsigned int oracle_bucket(u64 ns)
{
	unsigned int shift;

	if (ns >> ORACLE_BITS == 0)
		return ns;
	shift = 63 - __builtin_clzll(ns) - ORACLE_BITS;
	return ((shift + 1) << ORACLE_BITS) + (ns >> shift) - (1 << ORACLE_BITS);
}

static inline void oracle_add(struct oracle *o, u64 event_ns)
{
	unsigned int i = oracle_bucket(event_ns);

	if (!o->halts[i]++ || event_ns < o->least_ns[i])
		o->least_ns[i] = event_ns;
	o->ns[i] += event_ns;
}

/* Polls for events up to @longest_ns, and for no more than @budget_ns in all. */
struct account oracle_ask(const struct oracle *o, double longest_ns, double budget_ns);

#endif /* __ORACLE_H */
