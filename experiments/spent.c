// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the time, and the CPU time that a process with all its threads has had,
 * in ns, as the scheduler counts it: /proc goes by ticks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec now, cpu;
	clockid_t clock;

	if (argc != 2 || clock_getcpuclockid(atoi(argv[1]), &clock) ||
	    clock_gettime(clock, &cpu) || clock_gettime(CLOCK_MONOTONIC, &now)) {
		fputs("usage: spent PID, of a process that lives\n", stderr);
		return 2;
	}
	printf("%lld %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec,
	       cpu.tv_sec * 1000000000LL + cpu.tv_nsec);
	return 0;
}
