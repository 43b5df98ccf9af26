// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd.h"
#include "screen.h"

/* Each line clears what is right of it; then what is below goes. */
static void draw(FILE *file, const char *text, const struct winsize *size)
{
	/* The last line stays free, as a newline there would scroll. */
	unsigned int lines = size->ws_row ? size->ws_row - 1 : 23;
	size_t columns = size->ws_col ?: 80;

	fputs("\033[H", file);
	while (*text && lines--) {
		size_t length = strcspn(text, "\n");

		fwrite(text, 1, length < columns ? length : columns, file);
		fputs("\033[K\n", file);
		text += length + 1;
	}
	fputs("\033[J", file);
}

int screen_show(FILE *file, const char *text)
{
	struct winsize size = {};

	if (isatty(fileno(file))) {
		/* Some tell no size: then as much as any has. */
		ioctl(fileno(file), TIOCGWINSZ, &size);
		draw(file, text, &size);
	} else {
		fputs(text, file);
	}
	if (fflush(file))
		return fail("standard output: cannot be written: %s", strerror(errno));
	return 0;
}
