/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the readers of the various kinds of traces share; nobody else's.
 */
#ifndef __READER_H
#define __READER_H

#include <linux/compiler.h>

#include "trace.h"

/* No line of any kind of trace comes near. */
#define INPUT_SIZE (256 * 1024)

/* Lines of a file or pipe, in one buffer. */
struct input {
	int fd;
	char *buf;
	size_t start, end;
	bool eof;
};

struct reader {
	struct trace *trace;
	const struct trace_sink *sink;
	struct input in;
	__u64 line;		/* present line; 0: not read by lines */
	__u64 offset;		/* in the file, where there are no lines; 0: none yet */
	__u64 halts;		/* so far */

	struct slot *slots;	/* of the table of vCPUs */
	size_t nr_slots;
	struct vcpu *last;	/* looked up */
};

/*
 * The next line without its line break and ended by 0 in *@line, its length, or
 * -1 at the end, or -2 after an error was told.  A line that does not end is one,
 * as it is cut short.
 */
long reader_line(struct reader *r, char **line);

/* Puts file and line in front.  Returns -1. */
int reader_error(struct reader *r, const char *format, ...)
	__printf(2, 3);

/* NULL after an error was told. */
struct vcpu *reader_vcpu(struct reader *r, __u64 pid);

/* What @vcpu is called, if that is not known yet. */
void reader_comm(struct vcpu *vcpu, const char *comm, size_t length);

/* The kernel that the events are of; it is an error if they are of another, too. */
int reader_release(struct reader *r, const char *release);

/* One event: 0, or what ends reading. */
int reader_halt(struct reader *r, struct vcpu *vcpu, __u64 time_ns, __u64 ns,
		bool waited, bool valid);
int reader_change(struct reader *r, struct vcpu *vcpu, __u64 time_ns, __u64 old_ns,
		  __u64 new_ns);
int reader_skip(struct reader *r, struct vcpu *vcpu, __u64 time_ns);

/*
 * Parses an unsigned decimal at *@p and moves *@p behind it; false if there is
 * none or if it exceeds 64 bits.
 */
bool parse_u64(const char **p, __u64 *value);

/* The readers: all of the input, of which some is in r->in already. */
int read_own(struct reader *r);
int read_text(struct reader *r);
int read_dat(struct reader *r);

#endif /* __READER_H */
