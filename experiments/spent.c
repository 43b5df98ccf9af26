// SPDX-License-Identifier: GPL-2.0
/*
 * Starts the workload that waits in a guest, and prints what it cost until it was
 * done: time and the VMM's CPU time in ns, as the scheduler counts it, and by how
 * much each counter has grown.  No program starts or ends in between.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FROM_GUEST 0
#define TO_GUEST 3
#define MAX_COUNTERS 16
/* Exit status: the guest was silent. */
#define SILENT 3

static char **counters;
static int count;
static clockid_t vmm_clock;

struct state {
	long long now, cpu, counter[MAX_COUNTERS];
};

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fputs("spent: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		die("the VMM is gone");
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void read_clocks(struct state *s)
{
	s->cpu = clock_ns(vmm_clock);
	s->now = clock_ns(CLOCK_MONOTONIC);
}

/* Opened anew: KVM's counters cannot be read twice. */
static void read_counters(struct state *s)
{
	FILE *f;
	int i;

	for (i = 0; i < count; i++) {
		f = fopen(counters[i], "r");
		if (!f || fscanf(f, "%lld", &s->counter[i]) != 1)
			die("%s cannot be read", counters[i]);
		fclose(f);
	}
}

static void wait_until_done(int seconds)
{
	struct pollfd from = { .fd = FROM_GUEST, .events = POLLIN };
	char line[200];
	size_t len;

	for (len = 0; len < sizeof(line) - 1; len++) {
		if (poll(&from, 1, seconds * 1000) != 1)
			exit(SILENT);
		if (read(FROM_GUEST, line + len, 1) != 1)
			die("the guest's channel cannot be read");
		if (line[len] == '\n')
			break;
	}
	line[len] = 0;
	if (strcmp(line, "done"))
		die("the guest says '%s', not that it is done", line);
}

int main(int argc, char **argv)
{
	struct state before, after;
	int i;

	if (argc < 3 || argc - 3 > MAX_COUNTERS || atoi(argv[1]) <= 0 || atoi(argv[2]) <= 0) {
		fputs("usage: spent PID SECONDS COUNTER... <from-guest 3>to-guest\n", stderr);
		return 2;
	}
	if (clock_getcpuclockid(atoi(argv[1]), &vmm_clock))
		die("no process %s", argv[1]);
	counters = argv + 3;
	count = argc - 3;
	/* Once for nothing: pages are not to be faulted in later. */
	read_counters(&before);
	read_counters(&before);
	read_clocks(&before);
	if (write(TO_GUEST, "\n", 1) != 1)
		die("the guest's channel cannot be written");
	wait_until_done(atoi(argv[2]));
	read_clocks(&after);
	read_counters(&after);

	printf("%lld %lld", after.now - before.now, after.cpu - before.cpu);
	for (i = 0; i < count; i++)
		printf(" %lld", after.counter[i] - before.counter[i]);
	putchar('\n');
	return 0;
}
