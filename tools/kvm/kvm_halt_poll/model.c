// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop that a search spends its time in.
 */
#include "model.h"

void model_halts(struct model_lanes *lanes, const struct halt *halts, size_t nr,
		 unsigned int wake_ns)
{
	/* A copy that nobody else can have the address of is kept in registers. */
	struct model_lanes l = *lanes;
	size_t i, lane;

	for (i = 0; i < nr; i++) {
#pragma GCC unroll 8
		for (lane = 0; lane < MODEL_LANES; lane++)
			l.interval_ns[lane] = model_halt(&l.a[lane], l.interval_ns[lane],
							 &halts[i], wake_ns, &l.p[lane]);
	}
	*lanes = l;
}
