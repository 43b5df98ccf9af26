// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "oracle.h"

struct account oracle_ask(const struct oracle *o, double longest_ns, double budget_ns)
{
	struct account a = {};
	const unsigned int last = longest_ns < 0x1p63 ? oracle_bucket(longest_ns) : ORACLE_BUCKETS;
	double polled_ns = 0;
	unsigned int i;

	for (i = 0; i < ORACLE_BUCKETS; i++) {
		double each_ns = o->least_ns[i], hits = o->halts[i];

		if (!o->halts[i])
			continue;
		a.halts += o->halts[i];
		if (each_ns > longest_ns || polled_ns + each_ns > budget_ns)
			continue;
		if (polled_ns + o->ns[i] > budget_ns) {
			if (each_ns > 0)
				hits = fmin(hits, floor((budget_ns - polled_ns) / each_ns));
		} else if (i != last) {
			each_ns = o->ns[i] / o->halts[i];
		}
		a.hits += hits;
		polled_ns += hits * each_ns;
	}
	a.hit_ns = polled_ns < 0x1p64 ? (u64)polled_ns : ~0ULL;
	return a;
}
