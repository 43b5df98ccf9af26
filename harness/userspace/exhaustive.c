// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares kvm_halt_poll_next() with the reference for every combination of the
 * values below, in as many threads as there are CPUs.  With an argument, only
 * that many values of each input are used, the first ones.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/kernel.h>

#include "../../virt/kvm/tests/halt_poll_reference.h"

#define VALUES 40

/* Intervals, maxima and start values: what people set, and where bits end. */
static const unsigned int times_ns[] = {
	0, 1, 10000, 200000, 4294967295, 9999, 10001, 50000, 200001, 2147483648,
	2, 199999, 20000, 19999, 4294967294, 80000, 500000, 65536, 2147483647, 24000000,
	3, 20001, 25000, 12500, 40000, 100000, 160000, 400000, 800000, 2400000,
	7, 49999, 50001, 65535, 65537, 429497, 1310720000, 2147483649, 2621440000, 4294967293,
};

/* Halt times: those, less a few, and what does not fit in 32 bits. */
static const u64 halts_ns[] = {
	0, 1, 10000, 200000, 4294967295, 9999, 10001, 50000, 200001, 4294967296,
	18446744073709551615ULL, 199999, 20000, 19999, 4294967294, 80000, 500000, 65536, 2147483647,
	24000000,
	2, 20001, 25000, 12500, 40000, 100000, 160000, 400000, 2147483648, 2400000,
	4294967297, 49999, 50001, 65535, 4295167296, 429497, 9223372036854775807,
	2147483649, 9223372036854775808ULL, 18446744073709551614ULL,
};

/*
 * Factors and divisors.  429497 is the least that takes 10000 past 32 bits,
 * 21475 and 85900 are those for 200000 and 50000.
 */
static const unsigned int factors[] = {
	0, 1, 2, 3, 4294967295, 65536, 429497, 429496, 10000, 2147483648,
	4, 5, 21475, 21474, 65535, 65537, 200000, 4294967294, 2147483647, 100,
	6, 7, 8, 10, 16, 20, 255, 256, 1000, 9999,
	10001, 85899, 85900, 32768, 50000, 199999, 200001, 1431655765, 1431655766, 2147483649,
};

static_assert(ARRAY_SIZE(times_ns) == VALUES, "the number of times_ns");
static_assert(ARRAY_SIZE(halts_ns) == VALUES, "the number of halts_ns");
static_assert(ARRAY_SIZE(factors) == VALUES, "the number of factors");

static unsigned int values = VALUES;
static atomic_uint next_unit;
static atomic_ullong compared;

static void fail(const struct kvm_halt_poll_params *p, unsigned int interval_ns,
		 u64 halt_ns, bool valid)
{
	fprintf(stderr,
		"\nmax %u grow %u start %u shrink %u interval %u halt %llu %s: wanted %u, got %u\n",
		p->max_ns, p->grow, p->grow_start_ns, p->shrink, interval_ns,
		(unsigned long long)halt_ns, valid ? "valid" : "invalid",
		halt_poll_reference(interval_ns, halt_ns, valid, p),
		kvm_halt_poll_next(interval_ns, halt_ns, valid, p));
	exit(1);
}

/* All halts of one interval, under given parameters. */
static unsigned int compare_halts(const struct kvm_halt_poll_params *p,
				  unsigned int interval_ns)
{
	unsigned int i, valid;

	for (i = 0; i < values; i++) {
		for (valid = 0; valid < 2; valid++) {
			if (kvm_halt_poll_next(interval_ns, halts_ns[i], valid, p) !=
			    halt_poll_reference(interval_ns, halts_ns[i], valid, p))
				fail(p, interval_ns, halts_ns[i], valid);
		}
	}

	return 2 * i;
}

/* A unit of work is one maximum and one interval. */
static unsigned long long compare_unit(unsigned int unit)
{
	struct kvm_halt_poll_params p = { .max_ns = times_ns[unit / values] };
	unsigned int grow, start, shrink;
	unsigned long long n = 0;

	for (grow = 0; grow < values; grow++) {
		p.grow = factors[grow];
		for (start = 0; start < values; start++) {
			p.grow_start_ns = times_ns[start];
			for (shrink = 0; shrink < values; shrink++) {
				p.shrink = factors[shrink];
				n += compare_halts(&p, times_ns[unit % values]);
			}
		}
	}

	return n;
}

static void *work(void *arg)
{
	const unsigned int units = values * values;
	const bool tty = isatty(STDERR_FILENO);
	unsigned int unit;

	while ((unit = atomic_fetch_add(&next_unit, 1)) < units) {
		atomic_fetch_add(&compared, compare_unit(unit));
		if (tty)
			fprintf(stderr, "\r%3u %%", 100 * (unit + 1) / units);
	}

	return arg;
}

static void die(const char *what)
{
	fprintf(stderr, "exhaustive: error: %s\n", what);
	exit(2);
}

static void parse(int argc, char **argv)
{
	char *end;
	long n;

	if (argc < 2)
		return;
	n = strtol(argv[1], &end, 10);
	if (argc > 2 || end == argv[1] || *end || n < 1 || n > VALUES)
		die("usage: exhaustive [values of each input, 1 to 40]");
	values = n;
}

int main(int argc, char **argv)
{
	unsigned int threads = max(1L, sysconf(_SC_NPROCESSORS_ONLN));
	pthread_t thread[threads];
	unsigned int i;

	parse(argc, argv);
	for (i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, work, NULL))
			die("cannot create a thread");
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);

	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	printf("compared %llu combinations: %u values of each of 6 inputs, valid and invalid\n",
	       (unsigned long long)compared, values);
	return 0;
}
