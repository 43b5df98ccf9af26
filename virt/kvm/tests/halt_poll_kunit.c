// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite for the halt-polling arithmetic of <linux/kvm_halt_poll.h>.
 *
 * The expected values are worked out by hand from the rules in that header, so
 * a test that fails is an argument with the rules, not with the code.
 */

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/kvm_halt_poll.h>
#include <linux/limits.h>

#include "halt_poll_reference.h"

/* Values that no case below cares about are these, the common defaults. */
#define DEFAULTS			\
	.max_ns = 200000,		\
	.grow = 2,			\
	.grow_start_ns = 10000,		\
	.shrink = 2

struct next_case {
	const char *name;
	struct kvm_halt_poll_params params;
	unsigned int interval_ns;
	u64 halt_ns;
	bool invalid_wakeup;
	unsigned int expected_ns;
};

static const struct next_case next_cases[] = {
	/* The maximum is 0: polling is off, whatever else is the case. */
	{
		.name = "off: from an interval that covered the halt",
		.params = { .max_ns = 0, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 50000, .halt_ns = 20000, .expected_ns = 0,
	}, {
		.name = "off: an invalid wakeup does not shrink what is to be 0",
		.params = { .max_ns = 0, .grow = 2, .grow_start_ns = 10000, .shrink = 1 },
		.interval_ns = 50000, .halt_ns = 20000, .invalid_wakeup = true,
		.expected_ns = 0,
	}, {
		.name = "off: no growth from 0",
		.params = { .max_ns = 0, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 20000, .expected_ns = 0,
	},

	/* The wakeup was invalid: shrunk, however short the halt. */
	{
		.name = "invalid: a covered halt shrinks",
		.params = { DEFAULTS },
		.interval_ns = 80000, .halt_ns = 1, .invalid_wakeup = true,
		.expected_ns = 40000,
	}, {
		.name = "invalid: a halt that would have grown shrinks",
		.params = { DEFAULTS },
		.interval_ns = 80000, .halt_ns = 100000, .invalid_wakeup = true,
		.expected_ns = 40000,
	}, {
		.name = "invalid: nothing is left to shrink",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 100000, .invalid_wakeup = true,
		.expected_ns = 0,
	},

	/* The interval covered the halt: kept. */
	{
		.name = "hit: at once",
		.params = { DEFAULTS },
		.interval_ns = 40000, .halt_ns = 0, .expected_ns = 40000,
	}, {
		.name = "hit: in the last nanosecond",
		.params = { DEFAULTS },
		.interval_ns = 40000, .halt_ns = 40000, .expected_ns = 40000,
	}, {
		.name = "hit: at the maximum",
		.params = { DEFAULTS },
		.interval_ns = 200000, .halt_ns = 200000, .expected_ns = 200000,
	}, {
		.name = "hit: a halt of no time with no interval",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 0, .expected_ns = 0,
	}, {
		.name = "hit: the maximum was lowered meanwhile",
		.params = { .max_ns = 30000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 40000, .halt_ns = 35000, .expected_ns = 30000,
	},

	/* The halt was longer than any poll may be: shrunk. */
	{
		.name = "long: halved",
		.params = { DEFAULTS },
		.interval_ns = 200000, .halt_ns = 200001, .expected_ns = 100000,
	}, {
		.name = "long: exactly the start value is kept",
		.params = { DEFAULTS },
		.interval_ns = 20000, .halt_ns = 1000000, .expected_ns = 10000,
	}, {
		.name = "long: below the start value is 0",
		.params = { DEFAULTS },
		.interval_ns = 19999, .halt_ns = 1000000, .expected_ns = 0,
	}, {
		.name = "long: shrink 0 resets",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 0 },
		.interval_ns = 200000, .halt_ns = 200001, .expected_ns = 0,
	}, {
		.name = "long: shrink 1 never shrinks",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 1 },
		.interval_ns = 160000, .halt_ns = 1000000, .expected_ns = 160000,
	}, {
		.name = "long: shrink 1 keeps even 1 ns, with start value 0",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 0, .shrink = 1 },
		.interval_ns = 1, .halt_ns = 1000000, .expected_ns = 1,
	}, {
		/* 160000 / 3 = 53333.3 */
		.name = "long: the quotient is rounded down",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 3 },
		.interval_ns = 160000, .halt_ns = 1000000, .expected_ns = 53333,
	}, {
		.name = "long: the largest divisor",
		.params = { .max_ns = UINT_MAX, .grow = 2, .grow_start_ns = 0, .shrink = UINT_MAX },
		.interval_ns = UINT_MAX, .halt_ns = U64_MAX, .expected_ns = 1,
	}, {
		.name = "long: no interval stays none",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = U64_MAX, .expected_ns = 0,
	}, {
		.name = "long: the maximum was lowered meanwhile",
		.params = { .max_ns = 30000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 200000, .halt_ns = 1000000, .expected_ns = 30000,
	}, {
		/* 100000 is no less than the start value: only then comes the limit. */
		.name = "long: the maximum was lowered below the start value",
		.params = { .max_ns = 5000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 200000, .halt_ns = 1000000, .expected_ns = 5000,
	}, {
		/* 4294967299 is 2^32 + 3: the halt must not be cut to 32 bits. */
		.name = "long: a halt of more than 32 bits",
		.params = { DEFAULTS },
		.interval_ns = 40000, .halt_ns = 4294967299ULL, .expected_ns = 20000,
	},

	/* A longer poll would have covered the halt: grown. */
	{
		.name = "short: starts",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 1, .expected_ns = 10000,
	}, {
		.name = "short: doubled",
		.params = { DEFAULTS },
		.interval_ns = 20000, .halt_ns = 20001, .expected_ns = 40000,
	}, {
		.name = "short: exactly the maximum grows",
		.params = { DEFAULTS },
		.interval_ns = 50000, .halt_ns = 200000, .expected_ns = 100000,
	}, {
		.name = "short: no further than the maximum",
		.params = { DEFAULTS },
		.interval_ns = 160000, .halt_ns = 170000, .expected_ns = 200000,
	}, {
		.name = "short: grow 0 never grows",
		.params = { .max_ns = 200000, .grow = 0, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 20000, .halt_ns = 30000, .expected_ns = 20000,
	}, {
		.name = "short: grow 0 does not start either",
		.params = { .max_ns = 200000, .grow = 0, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 30000, .expected_ns = 0,
	}, {
		.name = "short: grow 1 starts",
		.params = { .max_ns = 200000, .grow = 1, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 30000, .expected_ns = 10000,
	}, {
		.name = "short: grow 1 stays at the start value",
		.params = { .max_ns = 200000, .grow = 1, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 10000, .halt_ns = 30000, .expected_ns = 10000,
	}, {
		.name = "short: a raised start value lifts a short interval",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 60000, .shrink = 2 },
		.interval_ns = 20000, .halt_ns = 30000, .expected_ns = 60000,
	}, {
		.name = "short: an interval below the start value grows past it",
		.params = { DEFAULTS },
		.interval_ns = 7000, .halt_ns = 8000, .expected_ns = 14000,
	}, {
		.name = "short: start value 0 never polls",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 0, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 30000, .expected_ns = 0,
	}, {
		.name = "short: start value equal to the maximum",
		.params = { .max_ns = 50000, .grow = 2, .grow_start_ns = 50000, .shrink = 0 },
		.interval_ns = 0, .halt_ns = 50000, .expected_ns = 50000,
	}, {
		.name = "short: start value ten times the maximum",
		.params = { .max_ns = 2400000, .grow = 2, .grow_start_ns = 24000000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 100000, .expected_ns = 2400000,
	},

	/* Products that do not fit in 32 bits. */
	{
		/* 10000 * 429497 = 4294970000 = 2^32 + 2704 */
		.name = "wide: the product is not 2704",
		.params = { .max_ns = 200000, .grow = 429497, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 10000, .halt_ns = 50000, .expected_ns = 200000,
	}, {
		/* 2621440000 * 2 = 5242880000 = 2^32 + 947912704 */
		.name = "wide: growth goes up to the largest maximum",
		.params = { .max_ns = UINT_MAX, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 2621440000U, .halt_ns = 4000000000ULL, .expected_ns = UINT_MAX,
	}, {
		/* 2^16 * 2^16 = 2^32, which is 0 in 32 bits */
		.name = "wide: the product is not 0",
		.params = { .max_ns = UINT_MAX, .grow = 65536, .grow_start_ns = 0, .shrink = 2 },
		.interval_ns = 65536, .halt_ns = 4000000000ULL, .expected_ns = UINT_MAX,
	}, {
		.name = "wide: the largest factor of the largest interval below the maximum",
		.params = { .max_ns = UINT_MAX, .grow = UINT_MAX, .grow_start_ns = 1, .shrink = 2 },
		.interval_ns = UINT_MAX - 1, .halt_ns = UINT_MAX, .expected_ns = UINT_MAX,
	},
};

static void next_case_desc(const struct next_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(next, next_cases, next_case_desc);

static void halt_poll_next_test(struct kunit *test)
{
	const struct next_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->expected_ns,
			kvm_halt_poll_next(c->interval_ns, c->halt_ns,
					   !c->invalid_wakeup, &c->params));
}

#define MAX_STEPS 20

/* The same halt again and again, and the interval after each, up to the last. */
struct sequence_case {
	const char *name;
	struct kvm_halt_poll_params params;
	unsigned int interval_ns;
	u64 halt_ns;
	unsigned int expected_ns[MAX_STEPS];
	unsigned int steps;
};

static const struct sequence_case sequence_cases[] = {
	/* Growth, by halts of exactly the maximum. */
	{
		.name = "growth to 10000",
		.params = { .max_ns = 10000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 10000, .steps = 2,
		.expected_ns = { 10000, 10000 },
	}, {
		.name = "growth to 50000",
		.params = { .max_ns = 50000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 50000, .steps = 5,
		.expected_ns = { 10000, 20000, 40000, 50000, 50000 },
	}, {
		.name = "growth to 80000",
		.params = { .max_ns = 80000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 80000, .steps = 5,
		.expected_ns = { 10000, 20000, 40000, 80000, 80000 },
	}, {
		.name = "growth to 200000",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 200000, .steps = 7,
		.expected_ns = { 10000, 20000, 40000, 80000, 160000, 200000, 200000 },
	}, {
		.name = "growth to 400000",
		.params = { .max_ns = 400000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 400000, .steps = 8,
		.expected_ns = { 10000, 20000, 40000, 80000, 160000, 320000, 400000, 400000 },
	}, {
		.name = "growth to 500000",
		.params = { .max_ns = 500000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 500000, .steps = 8,
		.expected_ns = { 10000, 20000, 40000, 80000, 160000, 320000, 500000, 500000 },
	}, {
		.name = "growth to 4294967295",
		.params = { .max_ns = UINT_MAX, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = UINT_MAX, .steps = 20,
		.expected_ns = {
			10000, 20000, 40000, 80000, 160000, 320000, 640000,
			1280000, 2560000, 5120000, 10240000, 20480000, 40960000,
			81920000, 163840000, 327680000, 655360000, 1310720000,
			2621440000U, UINT_MAX,
		},
	}, {
		.name = "growth until the halt is covered",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 30000, .steps = 5,
		.expected_ns = { 10000, 20000, 40000, 40000, 40000 },
	}, {
		.name = "growth by a factor of 10",
		.params = { .max_ns = 2400000, .grow = 10, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 0, .halt_ns = 2400000, .steps = 5,
		.expected_ns = { 10000, 100000, 1000000, 2400000, 2400000 },
	},

	/* Decay from the maximum, by halts that are longer. */
	{
		.name = "decay from 10000",
		.params = { .max_ns = 10000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 10000, .halt_ns = 10001, .steps = 2,
		.expected_ns = { 0, 0 },
	}, {
		.name = "decay from 50000",
		.params = { .max_ns = 50000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 50000, .halt_ns = 50001, .steps = 4,
		.expected_ns = { 25000, 12500, 0, 0 },
	}, {
		.name = "decay from 80000",
		.params = { .max_ns = 80000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 80000, .halt_ns = 80001, .steps = 5,
		.expected_ns = { 40000, 20000, 10000, 0, 0 },
	}, {
		.name = "decay from 200000",
		.params = { DEFAULTS },
		.interval_ns = 200000, .halt_ns = 1000000, .steps = 6,
		.expected_ns = { 100000, 50000, 25000, 12500, 0, 0 },
	}, {
		.name = "decay from 400000",
		.params = { .max_ns = 400000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 400000, .halt_ns = 1000000, .steps = 7,
		.expected_ns = { 200000, 100000, 50000, 25000, 12500, 0, 0 },
	}, {
		.name = "decay from 500000",
		.params = { .max_ns = 500000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 500000, .halt_ns = 1000000, .steps = 7,
		.expected_ns = { 250000, 125000, 62500, 31250, 15625, 0, 0 },
	}, {
		.name = "decay from 4294967295",
		.params = { .max_ns = UINT_MAX, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = UINT_MAX, .halt_ns = 1ULL + UINT_MAX, .steps = 20,
		.expected_ns = {
			2147483647, 1073741823, 536870911, 268435455, 134217727,
			67108863, 33554431, 16777215, 8388607, 4194303, 2097151,
			1048575, 524287, 262143, 131071, 65535, 32767, 16383, 0, 0,
		},
	}, {
		.name = "decay at once with shrink 0",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 0 },
		.interval_ns = 200000, .halt_ns = 1000000, .steps = 2,
		.expected_ns = { 0, 0 },
	}, {
		.name = "decay by a divisor of 4",
		.params = { .max_ns = 800000, .grow = 2, .grow_start_ns = 10000, .shrink = 4 },
		.interval_ns = 800000, .halt_ns = 1000000, .steps = 5,
		.expected_ns = { 200000, 50000, 12500, 0, 0 },
	}, {
		.name = "no decay with shrink 1",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 1 },
		.interval_ns = 200000, .halt_ns = 1000000, .steps = 2,
		.expected_ns = { 200000, 200000 },
	},
};

static void sequence_case_desc(const struct sequence_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sequence, sequence_cases, sequence_case_desc);

static void halt_poll_sequence_test(struct kunit *test)
{
	const struct sequence_case *c = test->param_value;
	unsigned int interval_ns = c->interval_ns;
	unsigned int i;

	for (i = 0; i < c->steps; i++) {
		interval_ns = kvm_halt_poll_next(interval_ns, c->halt_ns, true,
						 &c->params);
		KUNIT_EXPECT_EQ_MSG(test, c->expected_ns[i], interval_ns,
				    "at step %u", i);
	}
}

/* What an administrator does to a vCPU whose halts go on all the while. */
struct story_step {
	struct kvm_halt_poll_params params;
	u64 halt_ns;
	unsigned int expected_ns;
};

static void tell_story(struct kunit *test, const struct story_step *steps,
		       unsigned int nr_steps)
{
	unsigned int interval_ns = 0;
	unsigned int i;

	for (i = 0; i < nr_steps; i++) {
		interval_ns = kvm_halt_poll_next(interval_ns, steps[i].halt_ns,
						 true, &steps[i].params);
		KUNIT_EXPECT_EQ_MSG(test, steps[i].expected_ns, interval_ns,
				    "at step %u", i);
	}
}

static void halt_poll_max_moves_test(struct kunit *test)
{
	static const struct story_step steps[] = {
		{ { 200000, 2, 10000, 2 }, 150000, 10000 },
		{ { 200000, 2, 10000, 2 }, 150000, 20000 },
		{ { 200000, 2, 10000, 2 }, 150000, 40000 },
		{ { 200000, 2, 10000, 2 }, 150000, 80000 },
		/* Lowered below the interval: covered halts and long ones. */
		{ { 50000, 2, 10000, 2 }, 60000, 50000 },
		{ { 50000, 2, 10000, 2 }, 150000, 25000 },
		/* Raised again: the halts are worth polling for once more. */
		{ { 200000, 2, 10000, 2 }, 150000, 50000 },
		{ { 200000, 2, 10000, 2 }, 150000, 100000 },
		{ { 200000, 2, 10000, 2 }, 150000, 200000 },
		/* Lowered by less than the shrinking takes off. */
		{ { 120000, 2, 10000, 2 }, 250000, 100000 },
		/* Lowered below the start value. */
		{ { 5000, 2, 10000, 2 }, 90000, 5000 },
		{ { 5000, 2, 10000, 2 }, 90000, 0 },
		{ { 5000, 2, 10000, 2 }, 4000, 5000 },
		/* Off, and on again. */
		{ { 0, 2, 10000, 2 }, 4000, 0 },
		{ { 0, 2, 10000, 2 }, 4000, 0 },
		{ { 200000, 2, 10000, 2 }, 4000, 10000 },
	};

	tell_story(test, steps, ARRAY_SIZE(steps));
}

static void halt_poll_params_change_test(struct kunit *test)
{
	static const struct story_step steps[] = {
		{ { 200000, 2, 10000, 2 }, 150000, 10000 },
		/* The factor. */
		{ { 200000, 5, 10000, 2 }, 150000, 50000 },
		{ { 200000, 0, 10000, 2 }, 150000, 50000 },
		{ { 200000, 1, 10000, 2 }, 150000, 50000 },
		/* The start value: above the interval, then below. */
		{ { 200000, 1, 60000, 2 }, 150000, 60000 },
		{ { 200000, 1, 10000, 2 }, 150000, 60000 },
		/* The divisor, and a start value that the quotient misses. */
		{ { 200000, 2, 10000, 1 }, 250000, 60000 },
		{ { 200000, 2, 10000, 4 }, 250000, 15000 },
		{ { 200000, 2, 15000, 1 }, 250000, 15000 },
		{ { 200000, 2, 15001, 1 }, 250000, 0 },
		/* Start value 0: whoever polls may go on, nobody starts. */
		{ { 200000, 2, 0, 2 }, 150000, 0 },
		{ { 200000, 2, 7, 2 }, 150000, 7 },
		{ { 200000, 2, 0, 2 }, 150000, 14 },
		{ { 200000, 2, 0, 2 }, 250000, 7 },
		{ { 200000, 2, 0, 2 }, 250000, 3 },
		{ { 200000, 2, 0, 2 }, 250000, 1 },
		{ { 200000, 2, 0, 2 }, 250000, 0 },
	};

	tell_story(test, steps, ARRAY_SIZE(steps));
}

/* One value for all: as long as the halts fit, the interval does not move. */
static void halt_poll_fixed_window_test(struct kunit *test)
{
	static const struct story_step steps[] = {
		{ { 50000, 2, 50000, 0 }, 60000, 0 },
		{ { 50000, 2, 50000, 0 }, 50000, 50000 },
		{ { 50000, 2, 50000, 0 }, 1, 50000 },
		{ { 50000, 2, 50000, 0 }, 50000, 50000 },
		{ { 50000, 2, 50000, 0 }, 50001, 0 },
	};

	tell_story(test, steps, ARRAY_SIZE(steps));
}

/* Where rules meet, where products pass 32 bits, and what people really set. */
static const unsigned int values[] = {
	0, 1, 2, 9999, 10000, 65536, 200000, 200001, 429497, 1U + INT_MAX,
	UINT_MAX - 1, UINT_MAX,
};

#define NR_VALUES ARRAY_SIZE(values)

/* The same numbers on every run, so that a failure can be seen again. */
static u64 next_random(u64 *state)
{
	/* Knuth's constants for a linear generator; the high bits are good. */
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 32;
}

/* No division: 32-bit kernels have none of 64 bits.  @limit is at most 2^32. */
static unsigned int random_below(u64 *state, u64 limit)
{
	return next_random(state) * limit >> 32;
}

/* Of random magnitude: plain numbers would nearly all have 31 or 32 bits. */
static unsigned int random_value(u64 *state)
{
	unsigned int value = next_random(state);

	return value >> next_random(state) % 32;
}

typedef void (*params_check)(struct kunit *test,
			     const struct kvm_halt_poll_params *p);

#define NR_RANDOM 5000

static void for_all_params(struct kunit *test, params_check check)
{
	u64 state = 1;
	unsigned int i;

	for (i = 0; i < NR_VALUES * NR_VALUES * NR_VALUES * NR_VALUES; i++) {
		struct kvm_halt_poll_params p = {
			.max_ns = values[i % NR_VALUES],
			.grow = values[i / NR_VALUES % NR_VALUES],
			.grow_start_ns = values[i / NR_VALUES / NR_VALUES % NR_VALUES],
			.shrink = values[i / NR_VALUES / NR_VALUES / NR_VALUES],
		};

		check(test, &p);
	}

	for (i = 0; i < NR_RANDOM; i++) {
		struct kvm_halt_poll_params p = {
			.max_ns = random_value(&state),
			.grow = random_value(&state),
			.grow_start_ns = random_value(&state),
			.shrink = random_value(&state),
		};

		check(test, &p);
	}
}

/* Asserts, as one failure tells enough: there are millions of combinations. */
static void assert_for(struct kunit *test, bool holds,
		       const struct kvm_halt_poll_params *p,
		       unsigned int interval_ns, u64 halt_ns)
{
	KUNIT_ASSERT_TRUE_MSG(test, holds,
			      "max %u grow %u start %u shrink %u interval %u halt %llu",
			      p->max_ns, p->grow, p->grow_start_ns, p->shrink,
			      interval_ns, (unsigned long long)halt_ns);
}

/* Is next_ns what may follow? */
typedef bool (*step_check)(unsigned int interval_ns, u64 halt_ns,
			   bool valid_wakeup, unsigned int next_ns,
			   const struct kvm_halt_poll_params *p);

/* All intervals and halts, with valid wakeups and without. */
static void for_all_steps(struct kunit *test, step_check check,
			  const struct kvm_halt_poll_params *p)
{
	unsigned int i, next_ns;

	for (i = 0; i < NR_VALUES * NR_VALUES * 2; i++) {
		unsigned int interval_ns = values[i / 2 % NR_VALUES];
		u64 halt_ns = values[i / 2 / NR_VALUES];
		bool valid_wakeup = i % 2;

		next_ns = kvm_halt_poll_next(interval_ns, halt_ns, valid_wakeup, p);
		assert_for(test, check(interval_ns, halt_ns, valid_wakeup, next_ns, p),
			   p, interval_ns, halt_ns);
	}
}

static bool never_above_max(unsigned int interval_ns, u64 halt_ns,
			    bool valid_wakeup, unsigned int next_ns,
			    const struct kvm_halt_poll_params *p)
{
	return next_ns <= p->max_ns;
}

static void check_never_above_max(struct kunit *test,
				  const struct kvm_halt_poll_params *p)
{
	for_all_steps(test, never_above_max, p);
}

static void halt_poll_never_above_max_test(struct kunit *test)
{
	for_all_params(test, check_never_above_max);
}

/* An interval moves to 0 or to what is worth polling for, if max allows. */
static bool never_too_short(unsigned int interval_ns, u64 halt_ns,
			    bool valid_wakeup, unsigned int next_ns,
			    const struct kvm_halt_poll_params *p)
{
	return next_ns == interval_ns || next_ns == 0 ||
	       next_ns == p->max_ns || next_ns >= p->grow_start_ns;
}

static void check_never_too_short(struct kunit *test,
				  const struct kvm_halt_poll_params *p)
{
	for_all_steps(test, never_too_short, p);
}

static void halt_poll_never_too_short_test(struct kunit *test)
{
	for_all_params(test, check_never_too_short);
}

/*
 * Within a rule only the interval and the parameters count: the halt time says
 * which rule, and there is one border on either side of (interval, max].
 */
static void check_halt_selects_rule(struct kunit *test,
				    const struct kvm_halt_poll_params *p)
{
	unsigned int i;

	for (i = 0; i < NR_VALUES; i++) {
		unsigned int interval_ns = values[i];
		u64 above_ns = 1ULL + max(interval_ns, p->max_ns);

		assert_for(test, kvm_halt_poll_next(interval_ns, 0, true, p) ==
				 kvm_halt_poll_next(interval_ns, interval_ns, true, p),
			   p, interval_ns, interval_ns);
		assert_for(test, kvm_halt_poll_next(interval_ns, above_ns, true, p) ==
				 kvm_halt_poll_next(interval_ns, U64_MAX, true, p),
			   p, interval_ns, above_ns);
		if (interval_ns >= p->max_ns)
			continue;
		assert_for(test, kvm_halt_poll_next(interval_ns, 1ULL + interval_ns, true, p) ==
				 kvm_halt_poll_next(interval_ns, p->max_ns, true, p),
			   p, interval_ns, p->max_ns);
	}
}

static void halt_poll_halt_selects_rule_test(struct kunit *test)
{
	for_all_params(test, check_halt_selects_rule);
}

/* 32 doublings lead from 1 to the largest interval, 32 halvings back to 0. */
#define ENOUGH_STEPS 33

static unsigned int settle(u64 halt_ns, unsigned int interval_ns,
			   const struct kvm_halt_poll_params *p)
{
	unsigned int i;

	for (i = 0; i < ENOUGH_STEPS; i++)
		interval_ns = kvm_halt_poll_next(interval_ns, halt_ns, true, p);

	return interval_ns;
}

/* Halts of one length, no longer than the maximum: in the end polls hit. */
static void check_short_halts_hit(struct kunit *test,
				  const struct kvm_halt_poll_params *p)
{
	unsigned int i, halt_ns;

	if (p->grow < 2 || !p->grow_start_ns)
		return;

	for (i = 0; i < NR_VALUES; i++) {
		halt_ns = min(values[i], p->max_ns);
		assert_for(test, settle(halt_ns, 0, p) >= halt_ns, p, 0, halt_ns);
	}
	assert_for(test, settle(p->max_ns, 0, p) == p->max_ns, p, 0, p->max_ns);
}

static void halt_poll_short_halts_hit_test(struct kunit *test)
{
	for_all_params(test, check_short_halts_hit);
}

/* Halts that no poll may cover: in the end there is none. */
static void check_long_halts_end(struct kunit *test,
				 const struct kvm_halt_poll_params *p)
{
	if (p->shrink == 1)
		return;

	assert_for(test, settle(1ULL + p->max_ns, p->max_ns, p) == 0, p,
		   p->max_ns, 1ULL + p->max_ns);
	assert_for(test, settle(U64_MAX, p->max_ns, p) == 0, p, p->max_ns, U64_MAX);
}

static void halt_poll_long_halts_end_test(struct kunit *test)
{
	for_all_params(test, check_long_halts_end);
}

/* The same rules, in another shape. */
static bool as_reference(unsigned int interval_ns, u64 halt_ns,
			 bool valid_wakeup, unsigned int next_ns,
			 const struct kvm_halt_poll_params *p)
{
	return next_ns == halt_poll_reference(interval_ns, halt_ns, valid_wakeup, p);
}

static void check_reference(struct kunit *test,
			    const struct kvm_halt_poll_params *p)
{
	for_all_steps(test, as_reference, p);
}

static void halt_poll_reference_test(struct kunit *test)
{
	for_all_params(test, check_reference);
}

/* A vCPU's halts under a budget, and what becomes of its credit. */
struct budget_step {
	u64 now_ns;
	unsigned int budget;
	unsigned int interval_ns;
	bool affords;
	u64 polled_ns;
};

struct budget_case {
	const char *name;
	struct budget_step steps[8];
	unsigned int max_ns;	/* 0: BUDGET_MAX_NS */
};

#define BUDGET_MAX_NS 200000
/* A second, and when most stories begin. */
#define T0 1000000000ULL
/* In percent of nanoseconds more than 64 bits. */
#define TWENTY_YEARS (20 * 365 * 86400 * T0)

static const struct budget_case budget_cases[] = {
	{ "a new vCPU has credit for one poll of the maximum", {
		{ T0, 20, 200000, true, 200000 },
		{ T0 + 200000, 20, 200000, false },
	} },
	{ "no more than that is ever kept", {
		{ T0, 20, 200000, true, 200000 },
		{ T0 + 60 * T0, 20, 200000, true, 200000 },
		{ T0 + 60 * T0 + 200000, 20, 200000, false },
		{ T0 + 60 * T0 + 200000, 20, 40000, true, 40000 },
		{ T0 + 60 * T0 + 200000, 20, 1, false },
	} },
	{ "a hit is paid by what it took, 20 percent of the time pays back", {
		{ T0, 20, 200000, true, 100000 },
		{ T0 + 100000, 20, 200000, false },
		{ T0 + 499999, 20, 200000, false },
		{ T0 + 500000, 20, 200000, true, 100000 },
		{ T0 + 999999, 20, 200000, false },
		{ T0 + 1000000, 20, 200000, true, 200000 },
	} },
	{ "less than a nanosecond is not lost", {
		{ T0, 1, 200000, true, 200000 },
		{ T0 + 50, 1, 1, false },
		{ T0 + 99, 1, 1, false },
		{ T0 + 100, 1, 1, true, 1 },
		{ T0 + 199, 1, 1, false },
		{ T0 + 200, 1, 1, true, 1 },
	} },
	{ "a poll that took longer than it should is paid in full", {
		{ T0, 20, 200000, true, 300000 },
		{ T0 + 300000, 20, 1, false },
		{ T0 + 1000000, 20, 200000, false },
		{ T0 + 1499995, 20, 200000, false },
		{ T0 + 1500000, 20, 200000, true, 200000 },
	} },
	{ "but no debt goes beyond a poll of the maximum", {
		{ T0, 20, 200000, true, 50 * T0 },
		{ T0 + 50 * T0, 20, 200000, false },
		{ T0 + 50 * T0 + 1999995, 20, 200000, false },
		{ T0 + 50 * T0 + 2000000, 20, 200000, true, 0 },
	} },
	{ "budget 0 never polls, whatever the credit", {
		{ T0, 0, 1, false },
		{ T0 + 60 * T0, 0, 1, false },
		{ T0 + 60 * T0, 20, 1, true, 1 },
		{ T0 + 60 * T0 + 1, 0, 1, false },
	} },
	{ "nor if the clock has wrapped", {
		{ -2100000ULL, 20, 1, false },
		{ 0, 0, 1, false },
	} },
	{ "budget 100 always polls", {
		{ 0, 100, 200000, true, 200000 },
		{ 0, 100, UINT_MAX, true, U64_MAX },
		{ 0, 101, UINT_MAX, true, U64_MAX },
		{ 0, UINT_MAX, 200000, true, 0 },
	} },
	{ "budget 99 is a limit", {
		{ T0, 99, 200000, true, 200000 },
		{ T0 + 200000, 99, 200000, false },
		{ T0 + 202020, 99, 200000, false },
		{ T0 + 202021, 99, 200000, true, 0 },
	} },
	{ "a clock that stands still brings nothing", {
		{ T0, 20, 200000, true, 200000 },
		{ T0, 20, 1, false },
		{ T0, 20, 1, false },
	} },
	{ "a clock that goes back costs two polls of the maximum at most", {
		{ 9 * T0, 20, 200000, true, 200000 },
		{ T0, 20, 1, false },
		{ T0 + 1999995, 20, 200000, false },
		{ T0 + 2000000, 20, 200000, true, 0 },
	} },
	{ "a clock that wraps goes on", {
		{ -2100000ULL, 20, 200000, false },
		{ -100000ULL, 20, 200000, true, 100000 },
		{ 399999, 20, 200000, false },
		{ 400000, 20, 200000, true, 0 },
	} },
	{ "years later, where percent of nanoseconds have wrapped", {
		{ TWENTY_YEARS, 99, 200000, true, 200000 },
		{ TWENTY_YEARS + 100, 99, 99, true, 99 },
		{ TWENTY_YEARS + 101, 99, 1, false },
	} },
	{ "the longest poll of all", {
		{ 60 * T0, 50, UINT_MAX, true, UINT_MAX },
		{ 60 * T0 + 2 * (UINT_MAX - 1ULL), 50, UINT_MAX, false },
		{ 60 * T0 + 2 * (UINT_MAX + 0ULL), 50, UINT_MAX, true, 0 },
	}, UINT_MAX },
};

static void budget_case_desc(const struct budget_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(budget, budget_cases, budget_case_desc);

static void halt_poll_budget_test(struct kunit *test)
{
	const struct budget_case *c = test->param_value;
	struct kvm_halt_poll_credit credit = {};
	const struct budget_step *step;

	for (step = c->steps; step < c->steps + ARRAY_SIZE(c->steps); step++) {
		struct kvm_halt_poll_params p = {
			.max_ns = c->max_ns ?: BUDGET_MAX_NS,
			.budget = step->budget,
		};
		bool affords;

		if (!step->interval_ns)
			break;
		affords = kvm_halt_poll_affords(&credit, step->now_ns,
						step->interval_ns, &p);
		KUNIT_EXPECT_EQ_MSG(test, step->affords, affords, "at step %d",
				    (int)(step - c->steps));
		if (affords)
			kvm_halt_poll_charge(&credit, step->polled_ns);
	}
}

/* Wakeups every 100 us, which a poll of 200 us covers. */
static void halt_poll_budget_share_test(struct kunit *test)
{
	static const struct {
		unsigned int budget, nr_polls;
	} shares[] = {
		{ 0, 0 }, { 1, 100 }, { 5, 500 }, { 10, 1000 }, { 20, 2000 },
		{ 50, 5000 }, { 100, 10000 },
	};
	unsigned int i, halt, nr_polls;

	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		struct kvm_halt_poll_params p = {
			.max_ns = BUDGET_MAX_NS,
			.budget = shares[i].budget,
		};
		struct kvm_halt_poll_credit credit = {};

		nr_polls = 0;
		for (halt = 0; halt < 10000; halt++) {
			if (!kvm_halt_poll_affords(&credit, T0 + halt * 100000ULL,
						   200000, &p))
				continue;
			kvm_halt_poll_charge(&credit, 100000);
			nr_polls++;
		}
		KUNIT_EXPECT_EQ_MSG(test, shares[i].nr_polls, nr_polls,
				    "with budget %u", shares[i].budget);
	}
}

/* How a vCPU halts, in the worst of ways: what is left to chance. */
struct budget_habit {
	bool random_period;
	bool random_interval;
	bool random_poll;
};

/*
 * For every span of time from the start of one poll to the end of another:
 * polling took no more than the budget's share and one poll of the maximum.
 */
static void check_budget(struct kunit *test, unsigned int budget,
			 unsigned int period_ns, const struct budget_habit *habit)
{
	const struct kvm_halt_poll_params p = {
		.max_ns = BUDGET_MAX_NS,
		.budget = budget,
	};
	struct kvm_halt_poll_credit credit = {};
	u64 now_ns = T0, state = 1;
	s64 over = 0, least = 0;
	unsigned int halt;

	for (halt = 0; halt < 2000; halt++) {
		u64 gap_ns = period_ns, poll_ns = 0;
		unsigned int interval_ns = p.max_ns;

		if (habit->random_period)
			gap_ns = random_below(&state, 4ULL * period_ns);
		if (habit->random_interval)
			interval_ns = 1 + random_below(&state, p.max_ns);

		if (kvm_halt_poll_affords(&credit, now_ns, interval_ns, &p)) {
			poll_ns = interval_ns;
			if (habit->random_poll)
				poll_ns = random_below(&state, interval_ns + 1ULL);
			kvm_halt_poll_charge(&credit, poll_ns);
		}

		least = min(least, over);
		now_ns += poll_ns;
		over += 100 * poll_ns - budget * poll_ns;
		KUNIT_ASSERT_TRUE_MSG(test, over - least <= 100LL * p.max_ns,
				      "budget %u period %u halt %u", budget,
				      period_ns, halt);
		now_ns += gap_ns;
		over -= budget * gap_ns;
	}
}

static void halt_poll_budget_holds_test(struct kunit *test)
{
	static const unsigned int periods_ns[] = {
		1000, 2000, 10000, 50000, 100000, 200000, 1000000, 10000000,
	};
	unsigned int budget, i, bits;

	for (budget = 0; budget < KVM_HALT_POLL_NO_BUDGET; budget++) {
		for (i = 0; i < ARRAY_SIZE(periods_ns); i++) {
			for (bits = 0; bits < 8; bits++) {
				const struct budget_habit habit = {
					bits & 1, bits & 2, bits & 4,
				};

				check_budget(test, budget, periods_ns[i], &habit);
			}
		}
	}
}

static struct kunit_case halt_poll_test_cases[] = {
	KUNIT_CASE_PARAM(halt_poll_next_test, next_gen_params),
	KUNIT_CASE_PARAM(halt_poll_sequence_test, sequence_gen_params),
	KUNIT_CASE(halt_poll_max_moves_test),
	KUNIT_CASE(halt_poll_params_change_test),
	KUNIT_CASE(halt_poll_fixed_window_test),
	KUNIT_CASE(halt_poll_never_above_max_test),
	KUNIT_CASE(halt_poll_never_too_short_test),
	KUNIT_CASE(halt_poll_halt_selects_rule_test),
	KUNIT_CASE(halt_poll_short_halts_hit_test),
	KUNIT_CASE(halt_poll_long_halts_end_test),
	KUNIT_CASE(halt_poll_reference_test),
	KUNIT_CASE_PARAM(halt_poll_budget_test, budget_gen_params),
	KUNIT_CASE(halt_poll_budget_share_test),
	KUNIT_CASE(halt_poll_budget_holds_test),
	{}
};

static struct kunit_suite halt_poll_test_suite = {
	.name = "kvm_halt_poll",
	.test_cases = halt_poll_test_cases,
};

kunit_test_suite(halt_poll_test_suite);

MODULE_DESCRIPTION("KUnit suite for the arithmetic of KVM's halt polling");
MODULE_LICENSE("GPL");
