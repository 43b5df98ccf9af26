// SPDX-License-Identifier: GPL-2.0-only
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
	plot->gnuplot = popen("gnuplot", "w");
	if (!plot->gnuplot) {
		output_discard(&plot->out);
		return fail("gnuplot cannot be run");
	}
	fprintf(plot->gnuplot, "set terminal svg size %d,%d font 'sans,12' background 'white' "
		"noenhanced\nset output ", width, height);
	plot_string(plot, plot->out.temporary ?: plot->out.name);
	putc('\n', plot->gnuplot);
	return 0;
}

int plot_close(struct plot *plot)
{
	bool failed = ferror(plot->gnuplot);
	int status;

	fputs("\nunset output\n", plot->gnuplot);
	status = pclose(plot->gnuplot);
	if (failed || status) {
		output_discard(&plot->out);
		return fail("%s", status >> 8 == 127 ? "no gnuplot: install gnuplot-nox" :
						       "gnuplot failed");
	}
	return output_commit(&plot->out);
}
