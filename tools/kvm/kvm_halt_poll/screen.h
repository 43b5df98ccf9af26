/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where text goes that is replaced by newer text: a terminal is drawn anew, as much
 * as fits, anything else gets one text after another, whole and plain.
 */
#ifndef __SCREEN_H
#define __SCREEN_H

/* @text ends with a newline: 0, or -1 after one line on stderr. */
int screen_show(FILE *file, const char *text);

#endif /* __SCREEN_H */
