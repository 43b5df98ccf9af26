/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pictures, drawn by gnuplot.
 */
#ifndef __PLOT_H
#define __PLOT_H

#include "cmd.h"

struct plot {
	struct output out;
	FILE *picture;		/* what gnuplot writes; nameless */
	FILE *gnuplot;		/* takes commands and, in $blocks, data */
};

/* An SVG of that size: 0, or -1 after one line on stderr. */
int plot_open(struct plot *plot, const char *name, int width, int height);
int plot_close(struct plot *plot);

/* @text as a string of gnuplot's. */
void plot_string(struct plot *plot, const char *text);

#endif /* __PLOT_H */
