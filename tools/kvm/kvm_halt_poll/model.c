// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop that a search spends its time in.
 */
#include "model.h"

/*
 * Local copies stay in registers.  Where @shrink is a constant, as it is in
 * nearly every use, the compiler needs no division.
 */
static inline __attribute__((always_inline))
unsigned int run(struct account *account, unsigned int interval_ns,
		 const struct halt *halts, size_t nr, unsigned int wake_ns,
		 const struct kvm_halt_poll_params *params, unsigned int shrink)
{
	const struct kvm_halt_poll_params p = {
		.max_ns = params->max_ns,
		.grow = params->grow,
		.grow_start_ns = params->grow_start_ns,
		.shrink = shrink,
	};
	struct account a = {};
	size_t i;

	for (i = 0; i < nr; i++)
		interval_ns = model_halt(&a, interval_ns, &halts[i], wake_ns, &p);
	account_add(account, &a);
	return interval_ns;
}

unsigned int model_halts(struct account *a, unsigned int interval_ns,
			 const struct halt *halts, size_t nr, unsigned int wake_ns,
			 const struct kvm_halt_poll_params *p)
{
	switch (p->shrink) {
	case 0:
		return run(a, interval_ns, halts, nr, wake_ns, p, 0);
	case 2:
		return run(a, interval_ns, halts, nr, wake_ns, p, 2);
	case 4:
		return run(a, interval_ns, halts, nr, wake_ns, p, 4);
	default:
		return run(a, interval_ns, halts, nr, wake_ns, p, p->shrink);
	}
}
