// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

/* A halt that waited within its interval had its poll cut short. */
static u64 event_time(const struct halt *halt, bool known, unsigned int polled_for_ns,
		      unsigned int wake_ns)
{
	u64 ns = halt->ns;
	u64 event_ns = ns > wake_ns ? ns - wake_ns : 0;

	if (!halt->waited)
		return ns;
	if (known && ns > polled_for_ns && event_ns <= polled_for_ns)
		return (u64)polled_for_ns + 1;
	return event_ns;
}

struct event event_of(const struct step *step, unsigned int wake_ns)
{
	const struct halt *halt = step->halt;
	unsigned int polled_for_ns;
	bool known = step_polls_for(step, &polled_for_ns);
	bool just_missed = !halt->waited && known && halt->ns > polled_for_ns;
	u64 ns = halt->ns;

	return (struct event){
		.event_ns = event_time(halt, known, polled_for_ns, wake_ns),
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
