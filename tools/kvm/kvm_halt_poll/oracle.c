// SPDX-License-Identifier: GPL-2.0-only
#include "oracle.h"

struct account oracle_ask(const struct oracle *o, double longest_ns, double budget_ns)
{
	struct account a = {};
	double polled_ns = 0;
	unsigned int i;

	for (i = 0; i < ORACLE_BUCKETS; i++) {
		double mean_ns, hits;

		if (!o->halts[i])
			continue;
		a.halts += o->halts[i];
		mean_ns = o->ns[i] / o->halts[i];
		if (mean_ns > longest_ns || polled_ns > budget_ns)
			continue;
		hits = o->halts[i];
		if (polled_ns + o->ns[i] > budget_ns)
			hits = (u64)((budget_ns - polled_ns) / mean_ns);
		a.hits += hits;
		polled_ns += hits * mean_ns;
	}
	a.hit_ns = polled_ns < 0x1p64 ? (u64)polled_ns : ~0ULL;
	return a;
}
