// SPDX-License-Identifier: GPL-2.0-only
/*
 * One path through the old code or through the header, many times over, for
 * callgrind to count.  The old code is no part of this: cost.sh cuts it out of
 * the base's kvm_main.c, the functions into old_functions.h and the statement of
 * kvm_vcpu_halt() that calls them into old_statement.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/kvm_halt_poll.h>

/* What the old code finds in its surroundings. */
struct kvm_vcpu {
	unsigned int halt_poll_ns;
	int vcpu_id;
};

static unsigned int halt_poll_ns = 200000;
static unsigned int halt_poll_ns_grow = 2;
static unsigned int halt_poll_ns_grow_start = 10000;
static unsigned int halt_poll_ns_shrink = 2;

static unsigned int kvm_vcpu_max_halt_poll_ns(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(halt_poll_ns);
}

static bool vcpu_valid_wakeup(struct kvm_vcpu *vcpu)
{
	return true;
}

/* Tracing is not counted: in a kernel it is a no-op until it is enabled. */
static void trace_kvm_halt_poll_ns_grow(int id, unsigned int new, unsigned int old)
{
}

static void trace_kvm_halt_poll_ns_shrink(int id, unsigned int new, unsigned int old)
{
}

#include "old_functions.h"

/* Compiled as if nobody knew who calls it, and with what. */
#define noipa __attribute__((noipa))

/*
 * Both take values where kvm_halt_poll_next() takes them, and read parameters
 * from memory.  Wakeups are valid, as a constant, but on s390.
 */
static noipa unsigned int old_next(unsigned int interval_ns, u64 halt_ns, bool valid,
				   const struct kvm_halt_poll_params *unused)
{
	struct kvm_vcpu on_stack = { .halt_poll_ns = interval_ns };
	struct kvm_vcpu *vcpu = &on_stack;
	const bool halt_poll_allowed = true;
	unsigned int max_halt_poll_ns;

#include "old_statement.h"

	return vcpu->halt_poll_ns;
}

static noipa unsigned int new_next(unsigned int interval_ns, u64 halt_ns, bool valid,
				   const struct kvm_halt_poll_params *p)
{
	return kvm_halt_poll_next(interval_ns, halt_ns, true, p);
}

/* With the parameters above; old and new agree on all of these. */
static const struct path {
	const char *name;
	unsigned int max_ns;
	unsigned int interval_ns;
	u64 halt_ns;
	unsigned int result_ns;
} paths[] = {
	{ "off", 0, 0, 100000, 0 },
	{ "hit", 200000, 40000, 30000, 40000 },
	{ "grow", 200000, 40000, 50000, 80000 },
	{ "grow-start", 200000, 0, 50000, 10000 },
	{ "shrink", 200000, 40000, 300000, 20000 },
	{ "shrink-to-0", 200000, 15000, 300000, 0 },
	{ "nothing-left", 200000, 0, 300000, 0 },
};

static int run(const struct path *path, bool old, unsigned int calls)
{
	struct kvm_halt_poll_params params = {
		.max_ns = path->max_ns,
		.grow = halt_poll_ns_grow,
		.grow_start_ns = halt_poll_ns_grow_start,
		.shrink = halt_poll_ns_shrink,
	};
	unsigned int result_ns;

	halt_poll_ns = path->max_ns;
	while (calls--) {
		if (old)
			result_ns = old_next(path->interval_ns, path->halt_ns, true, &params);
		else
			result_ns = new_next(path->interval_ns, path->halt_ns, true, &params);
		if (result_ns != path->result_ns) {
			fprintf(stderr, "cost: error: %s: wanted %u, got %u\n", path->name,
				path->result_ns, result_ns);
			return 1;
		}
	}

	return 0;
}

/* Without arguments, the names of the paths; else: old|new <path> <calls>. */
int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (argc < 4)
			puts(paths[i].name);
		else if (!strcmp(argv[2], paths[i].name))
			return run(&paths[i], !strcmp(argv[1], "old"), atoi(argv[3]));
	}

	return argc < 4 ? 0 : 2;
}
