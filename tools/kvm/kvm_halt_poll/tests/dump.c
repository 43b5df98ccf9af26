// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what the readers make of a trace, so that tests can compare it:
 *
 *	halt PID/VM/ID "COMM" TIME NS poll|wait valid|invalid [skipped]
 *	change PID/VM/ID "COMM" TIME OLD NEW after HALTS
 *	KIND, kernel RELEASE, PARAMS, N vCPUs, N lost
 *
 * With -c it prints no events, but counts them: what reading alone takes.
 */
#include <string.h>

#include "../cmd.h"
#include "../trace.h"

static void print_vcpu(const struct vcpu *v)
{
	printf("%d/%d/%d \"%s\" ", v->pid, v->vm, v->id, v->comm);
}

static int print_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	(void)ctx;
	printf("halt ");
	print_vcpu(vcpu);
	printf("%llu %llu %s %s%s\n", halt->time_ns, (__u64)halt->ns,
	       halt->waited ? "wait" : "poll", halt->valid ? "valid" : "invalid",
	       halt->skipped ? " skipped" : "");
	return 0;
}

static int print_change(void *ctx, struct vcpu *vcpu, const struct change *change)
{
	(void)ctx;
	printf("change ");
	print_vcpu(vcpu);
	printf("%llu %u %u after %llu\n", change->time_ns, change->old_ns, change->new_ns,
	       change->before);
	return 0;
}

static int count_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	(void)vcpu;
	(void)halt;
	++*(__u64 *)ctx;
	return 0;
}

int main(int argc, char **argv)
{
	bool count = argc > 1 && !strcmp(argv[1], "-c");
	const char *name = argc > 1 + count ? argv[1 + count] : "-";
	__u64 halts = 0;
	const struct trace_sink print = { print_halt, print_change, NULL };
	const struct trace_sink counter = { count_halt, NULL, &halts };
	struct trace trace;
	int ret;

	if (argc > 2 + count) {
		fail("usage: dump [-c] [FILE]");
		return EXIT_USAGE;
	}
	ret = trace_read(&trace, name, count ? &counter : &print);
	if (!ret) {
		if (count)
			printf("%llu halts, ", halts);
		printf("%s, kernel %s, ", trace.kind, *trace.release ? trace.release : "unknown");
		if (trace.params.known)
			printf("%u %u %u %u", trace.params.max_ns, trace.params.grow,
			       trace.params.grow_start_ns, trace.params.shrink);
		else
			printf("parameters unknown");
		printf(", %zu vCPUs, %llu lost\n", trace.nr_vcpus, trace.lost);
	}
	trace_free(&trace);
	return ret ? EXIT_ERROR : EXIT_OK;
}
