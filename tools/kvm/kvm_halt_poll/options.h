/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of the subcommands that read a trace.
 */
#ifndef __OPTIONS_H
#define __OPTIONS_H

#include <linux/kvm_halt_poll.h>

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
};

struct options {
	unsigned int given;	/* of enum option_flag */
	struct kvm_halt_poll_params params;
	unsigned int wake_ns;
	double cpu_weight;
	double max_cpu;		/* percent of one CPU */
	unsigned int threads;
	const char *plot;
	const char *file;	/* "-": standard input */
};

/*
 * Parses @argv, where the options in @takes are known, and --help.  @o has the
 * defaults.  False if that is all, because of an error or of --help: then
 * *@status is what to exit with.
 */
bool options_parse(struct options *o, int argc, char **argv, unsigned int takes,
		   const char *purpose, int *status);

/* What Linux 6.12 has on x86. */
extern const struct kvm_halt_poll_params default_params;

/* What was recorded, with what the options say instead; false if some are unknown. */
bool options_params(const struct options *o, const struct trace *trace,
		    struct kvm_halt_poll_params *params);

#endif /* __OPTIONS_H */
