/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What polling did in one period, as "top" shows it: a line for each VM, and
 * below it one for each of its vCPUs.
 */
#ifndef __FRAME_H
#define __FRAME_H

#include "follow.h"
#include "recorded.h"

#define FRAME_KEYS "halts, hits, burned, wasted, interval"

enum frame_key {
	FRAME_BURNED,
	FRAME_WASTED,
	FRAME_HALTS,
	FRAME_HITS,
	FRAME_INTERVAL,
};

/* False if it is none of FRAME_KEYS. */
bool frame_find_key(const char *text, enum frame_key *key);

/* What is summed up for a vCPU; zeroed at first. */
struct load {
	struct recorded r;		/* in this period */
	unsigned int idle;
};

/*
 * Any interval but 0 shrinks after a halt longer than the maximum, unless its poll
 * was cut short or skipped.  Where so many halts in a row changed nothing and none was
 * skipped, there was none.
 */
#define LOAD_IDLE 4

void load_add(struct load *load, const struct step *step, const struct trace_params *p);

/* The interval now; false if it is not known. */
bool load_interval(const struct load *load, const struct vcpu *vcpu,
		   unsigned int *interval_ns);

struct frame_row {
	int vm;			/* the process' pid; -1: unknown */
	int thread;		/* 0: all of the VM's */
	int id;			/* of the vCPU; -1: unknown */
	char name[16];
	struct recorded r;
	bool known;		/* whether the next is */
	unsigned int interval_ns;
	double sort, sort_vm;	/* by what, the own and the VM's */
};

struct frame {
	char when[16];
	u64 period_ns;
	u64 lost, lost_now;	/* since the start, and in this period */
	enum frame_key key;
	struct frame_row *rows;
	size_t nr_rows, nr_vms, room;
};

/* For at most so many vCPUs: 0, or -1 after one line on stderr. */
int frame_init(struct frame *f, size_t nr_vcpus);

/* Adds a vCPU; its VM has a line of its own, with this name. */
void frame_add(struct frame *f, const struct vcpu *vcpu, const struct load *load,
	       const char *vm_name);

/* Puts what was added in order. */
void frame_arrange(struct frame *f);

void frame_print(const struct frame *f, FILE *file);
void frame_free(struct frame *f);

#endif /* __FRAME_H */
