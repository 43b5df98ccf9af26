// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target: bytes become parameters, an interval and a course of halts.
 * After each halt the header must say what the reference says.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "../../virt/kvm/tests/halt_poll_reference.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct bytes {
	const unsigned char *next;
	size_t left;
};

/* Little endian; past the end there are zeros. */
static u64 take(struct bytes *in, size_t size)
{
	u64 value = 0;
	size_t i;

	for (i = 0; i < size && in->left; i++, in->left--)
		value |= (u64)*in->next++ << 8 * i;

	return value;
}

/* What an event's byte says: bit 0 is the wakeup's validity, the rest is below. */
enum event_kind {
	HALT_ANY,
	HALT_OF_32_BITS,
	HALT_NEAR_INTERVAL,
	HALT_NEAR_MAX,
	SET_MAX,
	SET_GROW,
	SET_GROW_START,
	SET_SHRINK,
	EVENTS,
};

/* Boundaries are worth more than what is between them: give or take 128 ns. */
static u64 near(struct bytes *in, u64 value)
{
	u64 above = value + take(in, 1);

	return above > 128 ? above - 128 : 0;
}

/* Returns the halt time; parameters may have changed since the last halt. */
static u64 take_event(struct bytes *in, enum event_kind kind,
		      unsigned int interval_ns, struct kvm_halt_poll_params *p)
{
	switch (kind) {
	case SET_MAX:
		p->max_ns = take(in, 4);
		break;
	case SET_GROW:
		p->grow = take(in, 4);
		break;
	case SET_GROW_START:
		p->grow_start_ns = take(in, 4);
		break;
	case SET_SHRINK:
		p->shrink = take(in, 4);
		break;
	case HALT_NEAR_INTERVAL:
		return near(in, interval_ns);
	case HALT_NEAR_MAX:
		return near(in, p->max_ns);
	case HALT_OF_32_BITS:
		return take(in, 4);
	default:
		break;
	}

	return take(in, 8);
}

static void require(bool holds, const char *what, unsigned int step)
{
	if (holds)
		return;
	fprintf(stderr, "halt %u: %s\n", step, what);
	abort();
}

/* The interval after the halt: it is stored, and what the next halt starts from. */
static unsigned int halt(unsigned int interval_ns, u64 halt_ns, bool valid,
			 const struct kvm_halt_poll_params *p, unsigned int step)
{
	const struct kvm_halt_poll_params before = *p;
	unsigned int next_ns = kvm_halt_poll_next(interval_ns, halt_ns, valid, p);
	unsigned int wanted_ns = halt_poll_reference(interval_ns, halt_ns, valid, p);

	if (next_ns != wanted_ns)
		fprintf(stderr,
			"max %u grow %u start %u shrink %u interval %u time %llu %s: wanted %u, got %u\n",
			p->max_ns, p->grow, p->grow_start_ns, p->shrink, interval_ns,
			(unsigned long long)halt_ns, valid ? "valid" : "invalid",
			wanted_ns, next_ns);
	require(next_ns == wanted_ns, "not what the reference says", step);
	require(next_ns <= p->max_ns, "above the maximum", step);
	require(kvm_halt_poll_next(next_ns, 0, true, p) == next_ns,
		"what comes next starts from another interval", step);
	require(!memcmp(&before, p, sizeof(before)), "parameters were written", step);

	return next_ns;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct bytes in = { data, size };
	struct kvm_halt_poll_params p = {
		.max_ns = take(&in, 4),
		.grow = take(&in, 4),
		.grow_start_ns = take(&in, 4),
		.shrink = take(&in, 4),
	};
	unsigned int interval_ns = take(&in, 4);
	unsigned int step;

	for (step = 0; in.left; step++) {
		unsigned int byte = take(&in, 1);
		u64 halt_ns = take_event(&in, byte / 2 % EVENTS, interval_ns, &p);

		interval_ns = halt(interval_ns, halt_ns, byte % 2, &p, step);
	}

	return 0;
}
