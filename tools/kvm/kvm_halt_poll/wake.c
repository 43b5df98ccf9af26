// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "wake.h"

int wake_init(struct wake *wake)
{
	*wake = (struct wake){ .stride = 1 };
	wake->pairs = malloc(WAKE_PAIRS * sizeof(*wake->pairs));
	return wake->pairs ? 0 : fail("out of memory");
}

void wake_free(struct wake *wake)
{
	free(wake->pairs);
	wake->pairs = NULL;
}

/* When there is no room, every other pair goes, then and from there on. */
static void keep(struct wake *wake, const struct wake_pair *pair)
{
	size_t i;

	if (wake->seen++ % wake->stride)
		return;
	if (wake->nr == WAKE_PAIRS) {
		for (i = 0; i < WAKE_PAIRS / 2; i++)
			wake->pairs[i] = wake->pairs[2 * i];
		wake->nr = WAKE_PAIRS / 2;
		wake->stride *= 2;
	}
	wake->pairs[wake->nr++] = *pair;
}

static void pair_up(struct wake *wake, const struct wake_halt *blocked,
		    const struct wake_halt *hit)
{
	if (hit->ns > blocked->polled_for_ns && hit->ns <= hit->polled_for_ns &&
	    blocked->ns > blocked->polled_for_ns)
		keep(wake, &(struct wake_pair){
			hit->number, hit->polled_for_ns, blocked->ns, hit->ns
		});
}

void wake_add(struct wake *wake, struct wake_vcpu *v, const struct step *step)
{
	struct wake_halt now = { step->halt->ns, ++v->halts };
	unsigned int i;

	if (!step_polls_for(step, &now.polled_for_ns) || !step->halt->valid)
		return;
	if (step->halt->waited) {
		if (v->hit.number && now.number - v->hit.number <= WAKE_NEAR)
			pair_up(wake, &now, &v->hit);
		v->blocked[v->nr_blocked++ % WAKE_NEAR] = now;
	} else {
		for (i = 0; i < WAKE_NEAR && i < v->nr_blocked; i++) {
			if (now.number - v->blocked[i].number <= WAKE_NEAR)
				pair_up(wake, &v->blocked[i], &now);
		}
		v->nr_blocked = 0;
		v->hit = now;
	}
}

static int compare(const void *a, const void *b)
{
	const long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/* The pairs that count if blocking costs @cost_ns: their differences, sorted. */
static size_t differences(const struct wake *wake, u64 cost_ns, long long *d, size_t *hits)
{
	const struct wake_pair *last = NULL;
	size_t i, nr = 0;

	*hits = 0;
	for (i = 0; i < wake->nr; i++) {
		const struct wake_pair *pair = &wake->pairs[i];

		if (pair->blocked_ns > pair->polled_for_ns + cost_ns)
			continue;
		*hits += !last || last->hit != pair->hit;
		last = pair;
		d[nr++] = (long long)pair->blocked_ns - (long long)pair->hit_ns;
	}
	qsort(d, nr, sizeof(*d), compare);
	return nr;
}

struct wake_cost wake_estimate(const struct wake *wake)
{
	struct wake_cost cost = { WAKE_ASSUMED_NS, WAKE_ASSUMED, 0, 0 };
	long long *d = malloc((wake->nr ?: 1) * sizeof(*d));
	long long before, ns = 0;
	size_t hits;

	if (!d)
		return cost;
	/*
	 * From below: each round lets in events that came later.  From above it
	 * would end at what separates two phases of the load.
	 */
	do {
		before = ns;
		cost.pairs = differences(wake, before, d, &hits);
		ns = cost.pairs ? d[cost.pairs / 2] : 0;
	} while (ns > before);

	/* Pairs that share a hit are not independent. */
	if (cost.pairs)
		cost.error_ns = ceil(1.57 * (d[cost.pairs - 1 - cost.pairs / 4] -
					     d[cost.pairs / 4]) / sqrt(hits));
	free(d);
	if (cost.pairs >= WAKE_LEAST && ns > 0 && ns <= UINT_MAX && cost.error_ns <= (u64)ns / 4) {
		cost.ns = ns;
		cost.source = WAKE_MEASURED;
	}
	return cost;
}

const char *wake_source_name(const struct wake_cost *cost)
{
	static const char * const names[] = { "given", "measured", "assumed" };

	return names[cost->source];
}

void wake_print(const struct wake_cost *cost)
{
	printf("cost of blocking: %u ns, ", cost->ns);
	if (cost->source == WAKE_GIVEN)
		puts("given");
	else if (cost->source == WAKE_MEASURED)
		printf("measured: median of %zu pairs of halts, +- %llu ns\n",
		       cost->pairs, (unsigned long long)cost->error_ns);
	else if (cost->pairs < WAKE_LEAST)
		printf("ASSUMED, since the trace cannot tell: "
		       "%zu pairs of halts where %d are needed (--wake-cost gives it)\n",
		       cost->pairs, WAKE_LEAST);
	else
		printf("ASSUMED, since the trace cannot tell: "
		       "%zu pairs of halts differ too much (--wake-cost gives it)\n",
		       cost->pairs);
}
