// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what the readers make of a trace, so that tests can compare it:
 *
 *	halt PID/VM/ID "COMM" TIME NS poll|wait valid|invalid
 *	change PID/VM/ID "COMM" TIME OLD NEW after HALTS
 *	KIND, kernel RELEASE, PARAMS, N vCPUs, N lost
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
	printf("%llu %llu %s %s\n", halt->time_ns, (__u64)halt->ns,
	       halt->waited ? "wait" : "poll", halt->valid ? "valid" : "invalid");
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

int main(int argc, char **argv)
{
	const struct trace_sink sink = { print_halt, print_change, NULL };
	const char *name = argc > 1 ? argv[1] : "-";
	struct trace trace;
	int ret;

	if (argc > 2) {
		fail("usage: dump [FILE]");
		return EXIT_USAGE;
	}
	ret = trace_read(&trace, name, &sink);
	if (!ret) {
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
