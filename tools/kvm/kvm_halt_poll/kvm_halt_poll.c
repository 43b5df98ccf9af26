// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvm_halt_poll: what the halts of a host's vCPUs were like, and what other
 * parameters of halt polling would have made of them.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cmd.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "record", cmd_record, "record the halts of this host's vCPUs" },
	{ "top", cmd_top, "what polling does for each vCPU, each second, while it happens" },
	{ "report", cmd_report, "what the halts were like, what polling did, what to do" },
	{ "replay", cmd_replay, "what other parameters would have made of the same halts" },
	{ "verify", cmd_verify, "does the kernel do what its rule says?" },
	{ "tune", cmd_tune, "the parameters that suit the halts best" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

static void usage(FILE *file)
{
	size_t i;

	fputs("usage: kvm_halt_poll COMMAND [OPTION...] [FILE]\n\n", file);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n"
	      "FILE is what 'record' wrote, trace-cmd's trace.dat, the text of 'trace-cmd\n"
	      "report', of tracefs' trace or of 'perf script', or CSV; '-' or none: standard\n"
	      "input.  'kvm_halt_poll COMMAND --help' tells the options.\n", file);
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	}
	return NULL;
}

/*
 * A full disk or a closed pipe shows at the latest when the rest is written; if
 * it showed before, stdio has kept that, but not why.
 */
static int finish(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout))
		failed = true;
	if (failed && status != EXIT_ERROR) {
		fail("standard output: cannot be written%s%s", errno ? ": " : "",
		     errno ? strerror(errno) : "");
		status = EXIT_ERROR;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command;

	/* A closed pipe is an error of writing like any other. */
	signal(SIGPIPE, SIG_IGN);

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return finish(EXIT_OK);
	}
	command = find(argv[1]);
	if (!command) {
		fail("no command '%s'; there are record, top, report, replay, verify and tune",
		     argv[1]);
		return EXIT_USAGE;
	}
	return finish(command->run(argc - 1, argv + 1));
}
