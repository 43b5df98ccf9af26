// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "recorded.h"

/*
 * A halt that did not block and was no longer than its interval was ended by its
 * poll.  A longer one found its event between the poll and the wait.  One that
 * blocked within the interval had its poll cut short, it is not known when: that
 * counts as polled throughout.  One whose poll was skipped is as one without an
 * interval.
 */
void recorded_add(struct recorded *r, const struct step *step)
{
	const struct halt *halt = step->halt;
	u64 ns = halt->ns;
	u64 start_ns = halt_start_ns(halt);
	unsigned int most_ns;
	bool known = step_polls_for(step, &most_ns);
	u64 polled_ns = known && most_ns < ns ? most_ns : ns;
	bool polled = known ? most_ns : !halt->waited;

	if (!r->a.halts++ || start_ns < r->start_ns)
		r->start_ns = start_ns;
	if (halt->time_ns > r->end_ns)
		r->end_ns = halt->time_ns;
	r->a.hits += !halt->waited;
	r->polls += polled;
	r->poll_hits += polled && !halt->waited && polled_ns == ns;
	r->cut_short += halt->waited && known && ns <= most_ns;
	r->skipped += halt->skipped;
	if (!halt->waited && polled_ns == ns)
		r->a.hit_ns = add_ns(r->a.hit_ns, polled_ns);
	else if (known)
		r->a.vain_ns = add_ns(r->a.vain_ns, polled_ns);
	else
		r->unknown++;
}

void recorded_merge(struct recorded *sum, const struct recorded *r)
{
	if (!r->a.halts)
		return;
	if (!sum->a.halts || r->start_ns < sum->start_ns)
		sum->start_ns = r->start_ns;
	if (r->end_ns > sum->end_ns)
		sum->end_ns = r->end_ns;
	account_add(&sum->a, &r->a);
	sum->polls += r->polls;
	sum->poll_hits += r->poll_hits;
	sum->unknown += r->unknown;
	sum->cut_short += r->cut_short;
	sum->skipped += r->skipped;
}

u64 recorded_time_ns(const struct recorded *r)
{
	return r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 1;
}

double percent_of(u64 ns, u64 time_ns)
{
	return 100.0 * ns / time_ns;
}

struct text text_ns(u64 ns)
{
	struct text t;

	if (ns < 10000)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " ns", (uint64_t)ns);
	else if (ns < 10000000)
		snprintf(t.s, sizeof(t.s), "%.1f us", ns / 1e3);
	else if (ns < 10000000000)
		snprintf(t.s, sizeof(t.s), "%.1f ms", ns / 1e6);
	else
		snprintf(t.s, sizeof(t.s), "%.1f s", ns / 1e9);
	return t;
}

void print_trace(const struct trace *trace, const struct recorded *r)
{
	printf("%s: %s%s%s, %s, %zu vCPU%s, %" PRIu64 " halts\n", trace->name, trace->kind,
	       trace->release[0] ? " of Linux " : "", trace->release,
	       text_ns(recorded_time_ns(r)).s, trace->nr_vcpus,
	       trace->nr_vcpus == 1 ? "" : "s", (uint64_t)r->a.halts);
	if (trace->lost)
		printf("%" PRIu64 " events were LOST: what follows is without them\n",
		       (uint64_t)trace->lost);
	if (r->unknown)
		printf("%" PRIu64 " halts blocked while the interval was not known yet: they count "
		       "as not polled\n", (uint64_t)r->unknown);
	if (r->cut_short)
		printf("%" PRIu64 " polls were cut short, it is not known when: they count as "
		       "polled for the whole halt, an\nupper bound\n", (uint64_t)r->cut_short);
	if (r->skipped)
		printf("%" PRIu64 " polls were skipped for want of budget: these halts polled for "
		       "nothing\n", (uint64_t)r->skipped);
}

void print_model(const struct recorded *r, bool budget)
{
	puts("model: events come when they came, whatever the polling; no poll is cut short");
	if (r->skipped && !budget)
		puts("no budget is replayed: no poll is skipped");
}
