/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the subcommands share: how they are called, and how they speak.
 */
#ifndef __CMD_H
#define __CMD_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/compiler.h>

/* What the program exits with. */
enum {
	EXIT_OK,
	EXIT_ERROR,	/* one line on stderr says why */
	EXIT_USAGE,
	EXIT_DIFFERENT,	/* verify: the kernel did what its rule does not say */
};

/* Each takes its own name as argv[0] and returns one of the above. */
int cmd_record(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_tune(int argc, char **argv);

/* Prints one line on stderr; returns -1, so that a function can end with it. */
int fail(const char *format, ...) __printf(1, 2);

/*
 * An output file that is there whole or not at all: it is written beside its
 * name and takes the name at the end.  What is no regular file, such as a pipe,
 * is written as it is; "-" is standard output.
 */
struct output {
	FILE *file;
	char *name;
	char *temporary;	/* NULL: written in place */
};

/* 0, or -1 after one line on stderr. */
int output_open(struct output *out, const char *name);
int output_commit(struct output *out);
void output_discard(struct output *out);

#endif /* __CMD_H */
