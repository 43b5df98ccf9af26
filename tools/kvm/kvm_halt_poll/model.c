// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

/* A halt that waited within its interval had its poll cut short. */
static u64 event_time(const struct step *step, unsigned int wake_ns)
{
	u64 ns = step->halt->ns;
	u64 event_ns = ns > wake_ns ? ns - wake_ns : 0;

	if (!step->halt->waited)
		return ns;
	if (step->known && ns > step->interval_ns && event_ns <= step->interval_ns)
		return (u64)step->interval_ns + 1;
	return event_ns;
}

struct event event_of(const struct step *step, unsigned int wake_ns)
{
	const struct halt *halt = step->halt;
	bool just_missed = !halt->waited && step->known && halt->ns > step->interval_ns;
	u64 ns = halt->ns;

	return (struct event){
		.event_ns = event_time(step, wake_ns),
		/* A halt that its poll just missed adapts the interval as it did. */
		.blocked_ns = halt->waited || just_missed || ns + wake_ns > HALT_NS_MAX ?
			      ns : ns + wake_ns,
		.valid = halt->valid,
	};
}

void model_halts(struct model_lanes *lanes, const struct event *events, size_t nr)
{
	/* A copy that nobody else can have the address of is kept in registers. */
	struct model_lanes l = *lanes;
	size_t i, lane;

	for (i = 0; i < nr; i++) {
#pragma GCC unroll 8
		for (lane = 0; lane < MODEL_LANES; lane++)
			l.interval_ns[lane] = model_halt(&l.a[lane], l.interval_ns[lane],
							 &events[i], &l.p[lane]);
	}
	*lanes = l;
}
