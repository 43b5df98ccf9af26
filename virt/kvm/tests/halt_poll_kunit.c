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

#define MAX_STEPS 8

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
	{
		.name = "growth to 200000, and no further",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 200000, .steps = 7,
		.expected_ns = { 10000, 20000, 40000, 80000, 160000, 200000, 200000 },
	}, {
		.name = "growth until the halt is covered",
		.params = { DEFAULTS },
		.interval_ns = 0, .halt_ns = 30000, .steps = 5,
		.expected_ns = { 10000, 20000, 40000, 40000, 40000 },
	}, {
		.name = "decay from 200000",
		.params = { DEFAULTS },
		.interval_ns = 200000, .halt_ns = 1000000, .steps = 6,
		.expected_ns = { 100000, 50000, 25000, 12500, 0, 0 },
	}, {
		.name = "decay from 500000",
		.params = { .max_ns = 500000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 500000, .halt_ns = 1000000, .steps = 7,
		.expected_ns = { 250000, 125000, 62500, 31250, 15625, 0, 0 },
	}, {
		.name = "decay from 50000",
		.params = { .max_ns = 50000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 50000, .halt_ns = 1000000, .steps = 4,
		.expected_ns = { 25000, 12500, 0, 0 },
	}, {
		.name = "decay from 80000",
		.params = { .max_ns = 80000, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 80000, .halt_ns = 1000000, .steps = 5,
		.expected_ns = { 40000, 20000, 10000, 0, 0 },
	}, {
		.name = "decay at once with shrink 0",
		.params = { .max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 0 },
		.interval_ns = 200000, .halt_ns = 1000000, .steps = 2,
		.expected_ns = { 0, 0 },
	}, {
		.name = "the largest maximum is reached, from half of it",
		.params = { .max_ns = UINT_MAX, .grow = 2, .grow_start_ns = 10000, .shrink = 2 },
		.interval_ns = 1310720000, .halt_ns = UINT_MAX, .steps = 3,
		.expected_ns = { 2621440000U, UINT_MAX, UINT_MAX },
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

/* Where rules meet, where products pass 32 bits, and what people really set. */
static const unsigned int values[] = {
	0, 1, 2, 9999, 10000, 65536, 200000, 200001, 429497, 1U + INT_MAX,
	UINT_MAX - 1, UINT_MAX,
};

typedef void (*params_check)(struct kunit *test,
			     const struct kvm_halt_poll_params *p);

static void for_all_params(struct kunit *test, params_check check)
{
	const unsigned int n = ARRAY_SIZE(values);
	unsigned int i;

	for (i = 0; i < n * n * n * n; i++) {
		struct kvm_halt_poll_params p = {
			.max_ns = values[i % n],
			.grow = values[i / n % n],
			.grow_start_ns = values[i / n / n % n],
			.shrink = values[i / n / n / n],
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

static void check_never_above_max(struct kunit *test,
				  const struct kvm_halt_poll_params *p)
{
	unsigned int i, next_ns;

	for (i = 0; i < ARRAY_SIZE(values) * ARRAY_SIZE(values) * 2; i++) {
		unsigned int interval_ns = values[i / 2 % ARRAY_SIZE(values)];
		u64 halt_ns = values[i / 2 / ARRAY_SIZE(values)];

		next_ns = kvm_halt_poll_next(interval_ns, halt_ns, i % 2, p);
		assert_for(test, next_ns <= p->max_ns, p, interval_ns, halt_ns);
	}
}

static void halt_poll_never_above_max_test(struct kunit *test)
{
	for_all_params(test, check_never_above_max);
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

/* Halts of the maximum are for growing, so the interval must get there. */
static void check_reaches_max(struct kunit *test,
			      const struct kvm_halt_poll_params *p)
{
	bool grows = p->grow > 1 && p->grow_start_ns;

	if (grows)
		assert_for(test, settle(p->max_ns, 0, p) == p->max_ns, p, 0,
			   p->max_ns);
}

static void halt_poll_reaches_max_test(struct kunit *test)
{
	for_all_params(test, check_reaches_max);
}

/* Halts that no poll may cover are for shrinking, so nothing must be left. */
static void check_reaches_zero(struct kunit *test,
			       const struct kvm_halt_poll_params *p)
{
	if (p->shrink != 1)
		assert_for(test, settle(U64_MAX, p->max_ns, p) == 0, p,
			   p->max_ns, U64_MAX);
}

static void halt_poll_reaches_zero_test(struct kunit *test)
{
	for_all_params(test, check_reaches_zero);
}

static struct kunit_case halt_poll_test_cases[] = {
	KUNIT_CASE_PARAM(halt_poll_next_test, next_gen_params),
	KUNIT_CASE_PARAM(halt_poll_sequence_test, sequence_gen_params),
	KUNIT_CASE(halt_poll_never_above_max_test),
	KUNIT_CASE(halt_poll_reaches_max_test),
	KUNIT_CASE(halt_poll_reaches_zero_test),
	{}
};

static struct kunit_suite halt_poll_test_suite = {
	.name = "kvm_halt_poll",
	.test_cases = halt_poll_test_cases,
};

kunit_test_suite(halt_poll_test_suite);

MODULE_DESCRIPTION("KUnit suite for the arithmetic of KVM's halt polling");
MODULE_LICENSE("GPL");
