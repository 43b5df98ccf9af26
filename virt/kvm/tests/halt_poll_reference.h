/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __KVM_HALT_POLL_REFERENCE_H
#define __KVM_HALT_POLL_REFERENCE_H

/*
 * The halt-polling rule once more, as the table that it is, for tests to compare
 * kvm_halt_poll_next() with.  So that one mistake does not fit into both, they
 * compute in opposite ways: where the header multiplies, this divides; where the
 * header divides, this adds up multiples; and where the header limits a product
 * afterwards, this limits the factor first.
 */

#include <linux/kvm_halt_poll.h>
#include <linux/types.h>

/* All that the rule looks at. */
struct halt_poll_inputs {
	const struct kvm_halt_poll_params *params;
	unsigned int interval_ns;
	u64 halt_ns;
	bool valid_wakeup;
};

/* Both columns of the table; the limit by max_ns is not theirs. */
struct halt_poll_row {
	bool (*applies)(const struct halt_poll_inputs *in);
	unsigned int (*result_ns)(const struct halt_poll_inputs *in);
};

static inline bool halt_poll_is_off(const struct halt_poll_inputs *in)
{
	return in->params->max_ns == 0;
}

static inline bool halt_poll_is_invalid(const struct halt_poll_inputs *in)
{
	return !in->valid_wakeup;
}

static inline bool halt_poll_is_covered(const struct halt_poll_inputs *in)
{
	return !(in->halt_ns > in->interval_ns);
}

static inline bool halt_poll_is_long(const struct halt_poll_inputs *in)
{
	return !(in->halt_ns <= in->params->max_ns);
}

static inline bool halt_poll_is_otherwise(const struct halt_poll_inputs *in)
{
	return true;
}

static inline unsigned int halt_poll_to_zero(const struct halt_poll_inputs *in)
{
	return 0;
}

static inline unsigned int halt_poll_kept(const struct halt_poll_inputs *in)
{
	return in->interval_ns;
}

/*
 * How many times the divisor, which is not 0, fits: its multiples by powers of 2
 * are taken away, the largest first.  None of them passes 33 bits.
 */
static inline unsigned int halt_poll_times(unsigned int divisor, unsigned int rest)
{
	u64 multiple = divisor;
	unsigned int times = 0;

	while (multiple <= rest)
		multiple <<= 1;

	while (multiple > divisor) {
		multiple >>= 1;
		times <<= 1;
		if (multiple <= rest) {
			rest -= multiple;
			times |= 1;
		}
	}

	return times;
}

static inline unsigned int halt_poll_shrunk(const struct halt_poll_inputs *in)
{
	unsigned int times;

	if (in->params->shrink == 0)
		return 0;

	times = halt_poll_times(in->params->shrink, in->interval_ns);

	return times >= in->params->grow_start_ns ? times : 0;
}

/* What does not fit below max_ns is max_ns, so there is no product to wrap. */
static inline unsigned int halt_poll_grown(const struct halt_poll_inputs *in)
{
	const struct kvm_halt_poll_params *params = in->params;
	unsigned int product;

	if (params->grow == 0)
		return in->interval_ns;

	if (in->interval_ns > params->max_ns / params->grow)
		product = params->max_ns;
	else
		product = params->grow * in->interval_ns;

	return params->grow_start_ns > product ? params->grow_start_ns : product;
}

/* The first row that applies counts. */
static const struct halt_poll_row halt_poll_rows[] = {
	{ halt_poll_is_off,		halt_poll_to_zero },
	{ halt_poll_is_invalid,		halt_poll_shrunk },
	{ halt_poll_is_covered,		halt_poll_kept },
	{ halt_poll_is_long,		halt_poll_shrunk },
	{ halt_poll_is_otherwise,	halt_poll_grown },
};

/* Takes what kvm_halt_poll_next() takes, and must return what that returns. */
static inline unsigned int halt_poll_reference(unsigned int interval_ns,
					       u64 halt_ns, bool valid_wakeup,
					       const struct kvm_halt_poll_params *params)
{
	const struct halt_poll_inputs in = {
		.params = params,
		.interval_ns = interval_ns,
		.halt_ns = halt_ns,
		.valid_wakeup = valid_wakeup,
	};
	const struct halt_poll_row *row = halt_poll_rows;
	unsigned int result_ns;

	while (!row->applies(&in))
		row++;

	result_ns = row->result_ns(&in);

	return result_ns > params->max_ns ? params->max_ns : result_ns;
}

#endif /* __KVM_HALT_POLL_REFERENCE_H */
