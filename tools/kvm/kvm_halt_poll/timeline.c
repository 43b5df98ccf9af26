// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "timeline.h"

#define FIRST_WIDTH_NS 1024

void timeline_init(struct timeline *t, u64 start_ns)
{
	memset(t, 0, sizeof(*t));
	t->start_ns = start_ns;
	t->width_ns = FIRST_WIDTH_NS;
}

static void widen(struct timeline *t)
{
	unsigned int i;

	for (i = 0; i < TIMELINE_COLUMNS / 2; i++) {
		t->columns[i].sum = t->columns[2 * i].sum + t->columns[2 * i + 1].sum;
		t->columns[i].nr = t->columns[2 * i].nr + t->columns[2 * i + 1].nr;
	}
	memset(&t->columns[i], 0, sizeof(t->columns) / 2);
	t->width_ns *= 2;
}

void timeline_add(struct timeline *t, u64 time_ns, unsigned int value)
{
	/* What began before the start is of the first column. */
	u64 ns = time_ns > t->start_ns ? time_ns - t->start_ns : 0;

	while (ns / t->width_ns >= TIMELINE_COLUMNS)
		widen(t);
	t->columns[ns / t->width_ns].sum += value;
	t->columns[ns / t->width_ns].nr++;
}

unsigned int timeline_used(const struct timeline *t)
{
	unsigned int used = TIMELINE_COLUMNS;

	while (used && !t->columns[used - 1].nr)
		used--;
	return used;
}
