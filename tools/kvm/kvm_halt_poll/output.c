// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output that is whole or not there, and the one line that says what is wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

int fail(const char *format, ...)
{
	va_list args;

	fputs("kvm_halt_poll: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

/* A temporary file has the mode that a new file would have got. */
static int open_temporary(struct output *out)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&out->temporary, "%s.XXXXXX", out->name) < 0) {
		out->temporary = NULL;
		return -1;
	}
	fd = mkstemp(out->temporary);
	if (fd < 0) {
		free(out->temporary);
		out->temporary = NULL;
		return -1;
	}
	fchmod(fd, 0666 & ~mask);
	return fd;
}

int output_open(struct output *out, const char *name)
{
	struct stat st;
	int fd;

	memset(out, 0, sizeof(*out));
	out->name = strdup(strcmp(name, "-") ? name : "standard output");
	if (!out->name)
		return fail("out of memory");

	if (!strcmp(name, "-")) {
		out->file = stdout;
		return 0;
	}

	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		out->file = fopen(name, "w");
	} else {
		fd = open_temporary(out);
		if (fd >= 0)
			out->file = fdopen(fd, "w");
	}
	if (!out->file) {
		fail("%s: cannot be written: %s", name, strerror(errno));
		output_discard(out);
		return -1;
	}
	return 0;
}

/* An error of an earlier write shows here, too: stdio keeps it, but not why. */
int output_commit(struct output *out)
{
	bool failed = ferror(out->file);

	errno = 0;
	if (out->file == stdout ? fflush(stdout) : fclose(out->file))
		failed = true;
	out->file = NULL;
	if (!failed && out->temporary && rename(out->temporary, out->name))
		failed = true;
	if (failed) {
		fail("%s: cannot be written%s%s", out->name, errno ? ": " : "",
		     errno ? strerror(errno) : "");
		output_discard(out);
		return -1;
	}
	free(out->temporary);
	free(out->name);
	memset(out, 0, sizeof(*out));
	return 0;
}

void output_discard(struct output *out)
{
	if (out->file && out->file != stdout)
		fclose(out->file);
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->name);
	memset(out, 0, sizeof(*out));
}
