// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target for libFuzzer: whatever is in a file, reading it ends, and what it
 * hands out is what trace.h promises.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../trace.h"

/* What was seen of a vCPU. */
struct seen {
	__u64 time_ns, halts;
};

static void require(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static struct seen *see(struct vcpu *vcpu, __u64 time_ns)
{
	struct seen *seen = vcpu->priv;

	if (!seen) {
		seen = vcpu->priv = calloc(1, sizeof(*seen));
		if (!seen)
			err(1, "calloc");
	}
	require(time_ns >= seen->time_ns, "events are in order of time");
	require(vcpu->pid >= 0 && vcpu->vm >= -1 && vcpu->id >= -1, "a vCPU has a pid");
	require(strnlen(vcpu->comm, sizeof(vcpu->comm)) < sizeof(vcpu->comm), "a name ends");
	seen->time_ns = time_ns;
	return seen;
}

static int take_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	see(vcpu, halt->time_ns)->halts++;
	++*(__u64 *)ctx;
	return 0;
}

static int take_change(void *ctx, struct vcpu *vcpu, const struct change *change)
{
	(void)ctx;
	require(see(vcpu, change->time_ns)->halts == change->before, "halts are counted");
	return 0;
}

/* The same once more, into memory. */
static void load(const char *name, int ret, __u64 halts)
{
	struct trace trace;
	size_t i;

	require(trace_load(&trace, name) == ret, "reading again gives the same");
	for (i = 0; i < trace.nr_vcpus; i++)
		halts -= trace.vcpus[i]->nr_halts;
	require(!halts, "all halts are loaded");
	trace_free(&trace);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	__u64 halts = 0;
	const struct trace_sink sink = { take_halt, take_change, &halts };
	int ret, fd = memfd_create("fuzz", 0);
	struct trace trace;
	char name[32];
	size_t i;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		err(1, "memfd");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ret = trace_read(&trace, name, &sink);
	require(ret || halts, "a trace has halts");
	for (i = 0; i < trace.nr_vcpus; i++)
		free(trace.vcpus[i]->priv);
	trace_free(&trace);
	load(name, ret, halts);
	close(fd);
	return 0;
}
