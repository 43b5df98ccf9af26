/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The halts of this host's vCPUs while they happen, by way of an instance of
 * tracefs of its own: a trace like any other, but for its end.
 *
 * Whoever takes them calls live_read(), live_deliver() and live_pause() by turns
 * until live_stopped(), and live_close() in any case.
 */
#ifndef __LIVE_H
#define __LIVE_H

#include "trace.h"

struct live;

/* CLOCK_MONOTONIC, which is the events' clock. */
__u64 live_now_ns(void);

/*
 * Finds out what the kernel has, and leaves it as it was.  From now on signals that
 * would end the program set live_stopped() instead.  @trace, empty at first, is
 * what is known so far of the kernel, of its vCPUs and of lost events; both
 * functions of @sink are called.  NULL after one line on stderr.
 */
struct live *live_open(struct trace *trace, const struct trace_sink *sink);

/*
 * Makes the instance, for these processes or, if there are none, for all: 0, or as the
 * next ones -1 after one line on stderr.
 */
int live_start(struct live *l, unsigned int buffer_kb, const char **pids, unsigned int nr_pids);

/* Empties the buffers, but for what comes in meanwhile. */
int live_read(struct live *l);

/*
 * All that happened before this moment can be delivered once the buffers were
 * emptied after it was asked for.
 */
__u64 live_settled_ns(void);

/* Hands what happened before @until_ns to the sink; what that returns ends it. */
int live_deliver(struct live *l, __u64 until_ns);

/* A tenth of a second, or less if a signal comes. */
void live_pause(void);
bool live_stopped(void);

/* No more events; all that there were are delivered, and what was lost is known. */
int live_finish(struct live *l);

/* What was lost, with what the kernel counts and reading the buffers did not tell. */
__u64 live_lost(const struct live *l);

/* Reads the module parameters, which may change. */
void live_read_params(struct live *l);

/* The name of the process that @vcpu is a thread of; "": unknown. */
const char *live_vm_comm(const struct vcpu *vcpu);

/*
 * Forgets vCPUs whose threads are gone and that had no event since it was called last,
 * after @forget was called for each.
 */
void live_drop_gone(struct live *l, void (*forget)(struct vcpu *vcpu));

/* Leaves nothing in tracefs.  The trace stays. */
void live_close(struct live *l);

#endif /* __LIVE_H */
