// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "plot.h"

void plot_string(struct plot *plot, const char *text)
{
	putc('\'', plot->gnuplot);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', plot->gnuplot);
		/* Control characters would end the line. */
		putc((unsigned char)*text < ' ' ? '?' : *text, plot->gnuplot);
	}
	putc('\'', plot->gnuplot);
}

int plot_open(struct plot *plot, const char *name, int width, int height)
{
	if (output_open(&plot->out, name))
		return -1;
	plot->picture = tmpfile();
	plot->gnuplot = plot->picture ? popen("gnuplot", "w") : NULL;
	if (!plot->gnuplot) {
		fail("gnuplot cannot be run: %s", strerror(errno));
		if (plot->picture)
			fclose(plot->picture);
		output_discard(&plot->out);
		return -1;
	}
	fprintf(plot->gnuplot, "set terminal svg size %d,%d font 'sans,12' background 'white' "
		"noenhanced\nset output '/dev/fd/%d'\n", width, height, fileno(plot->picture));
	return 0;
}

/* gnuplot does not tell when the disk is full: whether all is there is seen at its end. */
static bool is_whole(FILE *picture)
{
		char last[32] = "";

	if (fseek(picture, 1 - (long)sizeof(last), SEEK_END))
		return false;
	return fread(last, 1, sizeof(last) - 1, picture) && strstr(last, "</svg>");
}

static int copy(const struct plot *plot)
{
	char buf[4096];
	size_t nr;

	rewind(plot->picture);
	while ((nr = fread(buf, 1, sizeof(buf), plot->picture))) {
		if (fwrite(buf, 1, nr, plot->out.file) != nr)
			return fail("%s: cannot be written: %s", plot->out.name, strerror(errno));
	}
	return 0;
}

int plot_close(struct plot *plot)
{
	bool failed = ferror(plot->gnuplot);
	int status, ret;

	fputs("\nunset output\n", plot->gnuplot);
	status = pclose(plot->gnuplot);
	if (failed || status)
		ret = fail("%s", status >> 8 == 127 ? "no gnuplot: install gnuplot-nox" :
						      "gnuplot failed");
	else if (!is_whole(plot->picture))
		ret = fail("%s: gnuplot did not write all of it: is the disk full?",
			   plot->out.name);
	else
		ret = copy(plot);
	fclose(plot->picture);
	if (!ret)
		return output_commit(&plot->out);
	output_discard(&plot->out);
	return ret;
}
