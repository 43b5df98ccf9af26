/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of the subcommands.
 */
#ifndef __OPTIONS_H
#define __OPTIONS_H

#include <linux/kvm_halt_poll.h>

#include "frame.h"
#include "trace.h"
#include "wake.h"

enum option_flag {
	OPTION_MAX		= 1 << 0,
	OPTION_GROW		= 1 << 1,
	OPTION_GROW_START	= 1 << 2,
	OPTION_SHRINK		= 1 << 3,
	OPTION_PARAMS		= OPTION_MAX | OPTION_GROW | OPTION_GROW_START | OPTION_SHRINK,
	OPTION_WAKE_COST	= 1 << 4,
	OPTION_CPU_WEIGHT	= 1 << 5,
	OPTION_MAX_CPU		= 1 << 6,
	OPTION_THREADS		= 1 << 7,
	OPTION_ALL		= 1 << 8,
	OPTION_PLOT		= 1 << 9,
	OPTION_JSON		= 1 << 10,
	OPTION_DURATION		= 1 << 11,
	OPTION_PERIOD		= 1 << 12,
	OPTION_COUNT		= 1 << 13,
	OPTION_SORT		= 1 << 14,
	OPTION_OUTPUT		= 1 << 15,
	OPTION_PID		= 1 << 16,
	OPTION_BUFFER		= 1 << 17,
	OPTION_BUDGET		= 1 << 18,
	/* What reads no file, but the kernel's buffers. */
	OPTION_LIVE		= OPTION_PID | OPTION_BUFFER,
};

#define LIVE_BUFFER_KB 4096

struct options {
	unsigned int given;	/* of enum option_flag */
	struct kvm_halt_poll_params params;
	unsigned int wake_ns;
	double cpu_weight;
	double max_cpu;		/* percent of one CPU */
	unsigned int threads;
	const char *plot;
	const char *file;	/* "-": standard input */
	double seconds;		/* of the duration or the period */
	unsigned int count;
	enum frame_key sort;
	const char *output;
	const char **pids;	/* of processes */
	unsigned int nr_pids;	/* 0: all */
	unsigned int buffer_kb;
};

/*
 * Parses @argv, where the options in @takes are known, and --help.  @o has the
 * defaults.  False if that is all, because of an error or of --help: then
 * *@status is what to exit with.
 */
bool options_parse(struct options *o, int argc, char **argv, unsigned int takes,
		   const char *purpose, int *status);

/* Needed where OPTION_PID was taken. */
void options_free(struct options *o);

/* What Linux 6.12 has on x86. */
extern const struct kvm_halt_poll_params default_params;

/*
 * What was recorded, with what the options say instead, and the budget that they say,
 * which no trace tells; false if some are unknown.
 */
bool options_params(const struct options *o, const struct trace *trace,
		    struct kvm_halt_poll_params *params);

#endif /* __OPTIONS_H */
