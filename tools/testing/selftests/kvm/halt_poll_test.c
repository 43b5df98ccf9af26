// SPDX-License-Identifier: GPL-2.0
/*
 * Test that halt polling behaves: its module parameters, the polling interval of
 * a vCPU, the maximum that a VM can have of its own, the vCPU's stats.
 *
 * A parameter must have its documented default, unless somebody may have set it
 * (HALT_POLL_DEFAULTS=1 in the environment says that nobody has), take any 32-bit
 * value, and refuse all else without a change.
 *
 * The interval must move as it should.  The guest halts until its timer fires,
 * one halt at a time.  After each the test reads, from a tracefs instance of its
 * own, how long the halt took and how the interval changed, and from the vCPU's
 * stats whether and how long KVM polled.  What the interval should have become
 * comes from the kernel's own header, fed with the halt time that was traced: the
 * changes traced must be those, and where the header says "no change" there must
 * be none.
 *
 * So no time is judged, only what KVM makes of it, and a slow or emulated host
 * cannot make the test fail.  It can keep a trajectory from getting where it is
 * meant to, e.g. if wakeups are so late that no halt is short enough to grow
 * the interval: that is a skip.  Such a host may do better with all times
 * multiplied (-x).
 *
 * The stats must agree with each other, with the trace, and with the clock, and
 * those of polling must stand still if there is none.
 *
 * Where KVM has a stat of the interval, it must be what the header says, too; where
 * it has a budget, polling must keep within it, and polls that are skipped must
 * change nothing; and where a VM can have all parameters of its own, so must the
 * trajectories be that belong to these.  Kernels without are no failure: skips.
 *
 * Not seen from here: halts of exactly the maximum, and invalid wakeups, which
 * only s390 has.
 */
#include <linux/compiler.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "halt_poll_common.h"
#include "halt_poll_trace.h"
#include "../../../../include/linux/kvm_halt_poll.h"

#define GUARD_S			60
#define MAX_PHASES		4
/* How often to try again if a halt did not come about or was disturbed. */
#define TRIES_PER_HALT		10
#define MAX_SCALE		1000
/* The module's maximum where VMs have their own. */
#define MODULE_MAX_NS		80000
/* Halts with one budget. */
#define BUDGET_HALTS		500
#define BUDGET_PERIOD_US	100
#define BUDGET_MAX_NS		200000

/* Halts under the same conditions. */
struct phase {
	unsigned int halts;
	unsigned int period_us;
	unsigned int max_ns;
	unsigned int ends_at_ns;	/* the interval that they lead to */
	bool forbidden;			/* by the guest, on x86 in MSR_KVM_POLL_CONTROL */
	bool contended;			/* another task wants the CPU */
	struct tuning own;		/* given to the VM at first, if any */
};

struct trajectory {
	const char *name;
	unsigned int grow, grow_start_ns, shrink;
	bool own_max;			/* set by KVM_CAP_HALT_POLL */
	bool tuned;			/* the phases have tunings, no max_ns */
	struct phase phases[MAX_PHASES];
};

/* With grow 2 and grow_start 10000, from 0 by way of 10, 20, 40 and 80 us. */
#define GROW_TO_160_US							\
	{ .halts = 8, .period_us = 120, .max_ns = 160000, .ends_at_ns = 160000 }

static const struct trajectory trajectories[] = {
	/* Growth, and the maximum. */
	{
		.name = "growth to the maximum, decay by 2",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 7, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 0 },
		},
	}, {
		.name = "growth beyond the maximum is capped",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 8, .period_us = 180, .max_ns = 200000, .ends_at_ns = 200000 },
			{ .halts = 7, .period_us = 1000, .max_ns = 200000, .ends_at_ns = 0 },
		},
	}, {
		.name = "growth does not wrap",
		.grow = 429497, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 4, .period_us = 120, .max_ns = 160000, .ends_at_ns = 160000 },
			{ .halts = 3, .period_us = 300, .max_ns = UINT_MAX,
			  .ends_at_ns = UINT_MAX },
		},
	}, {
		.name = "grow 1 stays at grow_start",
		.grow = 1, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 5, .period_us = 120, .max_ns = 160000, .ends_at_ns = 10000 },
			{ .halts = 2, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 0 },
		},
	}, {
		.name = "grow 0 never grows",
		.grow = 0, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 5, .period_us = 50, .max_ns = 160000, .ends_at_ns = 0 },
		},
	}, {
		.name = "grow_start 0 never starts",
		.grow = 2, .grow_start_ns = 0, .shrink = 2,
		.phases = {
			{ .halts = 5, .period_us = 50, .max_ns = 160000, .ends_at_ns = 0 },
		},
	}, {
		.name = "grow_start above the maximum",
		.grow = 2, .grow_start_ns = 1600000, .shrink = 2,
		.phases = {
			{ .halts = 3, .period_us = 120, .max_ns = 160000, .ends_at_ns = 160000 },
			{ .halts = 2, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 0 },
		},
	},
	/* Decay. */
	{
		.name = "shrink 0 resets",
		.grow = 2, .grow_start_ns = 10000, .shrink = 0,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 0 },
		},
	}, {
		.name = "shrink 1 never shrinks",
		.grow = 2, .grow_start_ns = 10000, .shrink = 1,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 160000 },
		},
	}, {
		.name = "decay by 4",
		.grow = 2, .grow_start_ns = 10000, .shrink = 4,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 5, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 0 },
		},
	},
	/* The maximum changes under way. */
	{
		.name = "the maximum is lowered and raised",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 30, .max_ns = 50000, .ends_at_ns = 50000 },
			{ .halts = 3, .period_us = 80, .max_ns = 100000, .ends_at_ns = 100000 },
		},
	}, {
		.name = "the maximum is lowered below the halts",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 4, .period_us = 120, .max_ns = 50000, .ends_at_ns = 0 },
		},
	}, {
		.name = "the maximum is set to 0 and back",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 120, .max_ns = 0, .ends_at_ns = 0 },
			{ .halts = 2, .period_us = 120, .max_ns = 160000, .ends_at_ns = 20000 },
		},
	},
	/* Halts that must not count. */
	{
		.name = "polling forbidden by the guest starts over",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 120, .max_ns = 160000, .ends_at_ns = 0,
			  .forbidden = true },
			{ .halts = 2, .period_us = 120, .max_ns = 160000, .ends_at_ns = 20000 },
		},
	}, {
		.name = "polls cut short, halts below the maximum",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 5, .period_us = 30, .max_ns = 160000, .ends_at_ns = 40000 },
			{ .halts = 5, .period_us = 120, .max_ns = 160000, .ends_at_ns = 40000,
			  .contended = true },
			{ .halts = 3, .period_us = 30, .max_ns = 160000, .ends_at_ns = 40000 },
		},
	}, {
		.name = "polls cut short, halts above the maximum",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2,
		.phases = {
			{ .halts = 5, .period_us = 30, .max_ns = 160000, .ends_at_ns = 40000 },
			{ .halts = 5, .period_us = 1000, .max_ns = 160000, .ends_at_ns = 40000,
			  .contended = true },
			{ .halts = 3, .period_us = 30, .max_ns = 160000, .ends_at_ns = 40000 },
		},
	},
	/* A maximum of the VM's own. */
	{
		.name = "KVM_CAP_HALT_POLL overrides the module's maximum",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .own_max = true,
		.phases = {
			GROW_TO_160_US,
			{ .halts = 3, .period_us = 30, .max_ns = 50000, .ends_at_ns = 50000 },
			{ .halts = 3, .period_us = 30, .max_ns = 0, .ends_at_ns = 0 },
			{ .halts = 2, .period_us = 120, .max_ns = UINT_MAX, .ends_at_ns = 20000 },
		},
	},
	/* A tuning of the VM's own; the module's maximum is MODULE_MAX_NS. */
	{
		.name = "own maximum by its flag, dropped again",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 8, .period_us = 120, .ends_at_ns = 160000,
			  .own = { .flags = KVM_HALT_POLL_MAX_NS, .max_ns = 160000 } },
			{ .halts = 3, .period_us = 30, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	}, {
		.name = "own grow, dropped again",
		.grow = 2, .grow_start_ns = 10000, .shrink = 0, .tuned = true,
		.phases = {
			{ .halts = 4, .period_us = 60, .ends_at_ns = 70000,
			  .own = { .flags = KVM_HALT_POLL_GROW, .grow = 7 } },
			{ .halts = 2, .period_us = 1000, .ends_at_ns = 0,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
			{ .halts = 3, .period_us = 60, .ends_at_ns = MODULE_MAX_NS },
		},
	}, {
		.name = "own grow_start, dropped again",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 4, .period_us = 60, .ends_at_ns = 70000,
			  .own = { .flags = KVM_HALT_POLL_GROW_START_NS,
				   .grow_start_ns = 70000 } },
			{ .halts = 2, .period_us = 1000, .ends_at_ns = 0 },
			{ .halts = 5, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	}, {
		.name = "own shrink, dropped again",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_SHRINK, .shrink = 1 } },
			{ .halts = 3, .period_us = 1000, .ends_at_ns = MODULE_MAX_NS },
			{ .halts = 5, .period_us = 1000, .ends_at_ns = 0,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	}, {
		.name = "own budget of 0, dropped again",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS },
			{ .halts = 5, .period_us = 1000, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_BUDGET, .budget = 0 } },
			{ .halts = 5, .period_us = 1000, .ends_at_ns = 0,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	}, {
		.name = "own values, one after the other",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 2, .period_us = 60, .ends_at_ns = 5000,
			  .own = { .flags = KVM_HALT_POLL_GROW_START_NS | KVM_HALT_POLL_GROW,
				   .grow_start_ns = 5000, .grow = 1 } },
			{ .halts = 6, .period_us = 120, .ends_at_ns = 135000,
			  .own = { .flags = KVM_HALT_POLL_MAX_NS | KVM_HALT_POLL_GROW,
				   .max_ns = 160000, .grow = 3 } },
			{ .halts = 4, .period_us = 1000, .ends_at_ns = 0,
			  .own = { .flags = KVM_HALT_POLL_SHRINK, .shrink = 4 } },
			{ .halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	}, {
		.name = "own values, all at once",
		.grow = 2, .grow_start_ns = 10000, .shrink = 2, .tuned = true,
		.phases = {
			{ .halts = 7, .period_us = 120, .ends_at_ns = 150000,
			  .own = { .flags = HALT_POLL_FLAGS & ~KVM_HALT_POLL_INHERIT,
				   .max_ns = 150000, .grow = 3, .grow_start_ns = 6000,
				   .shrink = 5, .budget = 100 } },
			{ .halts = 4, .period_us = 1000, .ends_at_ns = 0 },
			{ .halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
			  .own = { .flags = KVM_HALT_POLL_INHERIT } },
		},
	},
};

struct changes {
	unsigned int nr;
	struct {
		unsigned int from, to;
	} list[4];
};

/* What trace and stats say about one halt. */
struct halt {
	unsigned int before_ns, after_ns;	/* the interval */
	unsigned int nr_wakeups;
	u64 ns;
	bool blocked, valid;
	u64 lost;				/* events */
	bool known;				/* is after_ns, as none was lost since? */
	struct changes changes;
	struct stats stats;
	s64 skipped;				/* polls, for want of budget */
	s64 traced_skips;
	unsigned int skipped_ns;		/* the last of them */
	s64 stat_ns;				/* the interval, by its stat; -1: none */
};

struct guest {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu;
	struct kvm_halt_poll_params params;
	unsigned int interval_ns;
	bool known;		/* the interval: there is a stat, or the trace told all of it */
	struct stats stats;
	s64 skipped;
};

static unsigned int scale = 1;
static int counter_khz;

/* Set by the host. */
static u64 guest_period;
static bool polling_forbidden;

static void guest_code(void)
{
	bool forbidden = false;

	guest_setup(0);
	for (;;) {
		if (forbidden != polling_forbidden) {
			forbidden = polling_forbidden;
			guest_forbid_polling(forbidden);
		}
		guest_halt(0, guest_period);
		GUEST_ASSERT(wakeups[0].nr_irqs);
		GUEST_SYNC(0);
	}
}

static const char no_budget[] = "No parameter halt_poll_budget on this kernel";
static const char no_tuning[] = "KVM_CAP_HALT_POLL has no flags on this kernel";

static bool has_budget(void)
{
	return params[BUDGET].val >= 0;
}

/* All times of the tables are for fast hosts. */
static unsigned int scaled(unsigned int val)
{
	return min((u64)val * scale, (u64)UINT_MAX);
}

/* Also runs in signal handlers. */
static void undo_everything(void)
{
	restore_params();
	close_trace();
}

static void add_change(struct changes *changes, unsigned int from, unsigned int to)
{
	if (changes->nr < ARRAY_SIZE(changes->list)) {
		changes->list[changes->nr].from = from;
		changes->list[changes->nr].to = to;
	}
	changes->nr++;
}

static void read_trace(struct halt *h)
{
	struct trace_event e;

	while (next_event(&e)) {
		if (e.type == TRACE_WAKEUP) {
			h->ns = e.halt_ns;
			h->valid = e.valid;
			h->blocked = e.blocked;
			h->nr_wakeups++;
		} else if (e.type == TRACE_LOST) {
			h->lost += e.lost;
			h->known = false;
		} else if (e.type == TRACE_SKIP) {
			h->traced_skips++;
			h->skipped_ns = e.skipped_ns;
		} else if (e.type == TRACE_INTERVAL) {
			add_change(&h->changes, e.from_ns, e.to_ns);
			h->after_ns = e.to_ns;
			h->known = true;
		}
	}
}

static void begin_halt(struct guest *g, struct halt *h)
{
	memset(h, 0, sizeof(*h));
	h->before_ns = g->interval_ns;
	h->after_ns = g->interval_ns;
	h->known = g->known;
}

static void finish_halt(struct guest *g, struct halt *h)
{
	struct stats start = g->stats;

	read_stats(g->vcpu, &g->stats);
	h->stats = g->stats;
	sub_stats(&h->stats, &start);
	h->skipped = read_new_stat(g->vcpu, SKIPPED) - g->skipped;
	g->skipped += h->skipped;
	if (trace)
		read_trace(h);
	h->stat_ns = read_new_stat(g->vcpu, INTERVAL);
	if (h->stat_ns >= 0) {
		h->after_ns = h->stat_ns;
		h->known = true;
	}
}

static void halt_once(struct guest *g, struct halt *h)
{
	begin_halt(g, h);
	run_to_ucall(g->vcpu, UCALL_SYNC, GUARD_S);
	finish_halt(g, h);
}

static u64 polled_ns(const struct halt *h)
{
	return h->stats.val[SUCCESS_NS] + h->stats.val[FAIL_NS];
}

static void move_interval(struct guest *g, unsigned int to, struct changes *wanted)
{
	if (to != g->interval_ns)
		add_change(wanted, g->interval_ns, to);
	g->interval_ns = to;
}

/*
 * What KVM should have done.  A poll that did not last for the interval hit, or
 * was cut short, or skipped: the interval stays as it is.  Returns whether KVM
 * should poll, which is certain with budgets of 0 and 100 alone.
 */
static bool predict(struct guest *g, const struct phase *phase, const struct halt *h,
		    struct changes *wanted)
{
	unsigned int polls_ns;

	wanted->nr = 0;
	move_interval(g, kvm_halt_poll_cap(g->interval_ns, &g->params), wanted);
	if (phase->forbidden)
		move_interval(g, 0, wanted);

	polls_ns = g->interval_ns;
	if (!phase->forbidden && polled_ns(h) >= polls_ns)
		move_interval(g, kvm_halt_poll_next(polls_ns, h->ns, h->valid, &g->params),
			      wanted);
	return polls_ns && g->params.budget;
}

static bool same_changes(const struct changes *a, const struct changes *b)
{
	return a->nr == b->nr && a->nr <= ARRAY_SIZE(a->list) &&
	       !memcmp(a->list, b->list, a->nr * sizeof(a->list[0]));
}

static void print_changes(const char *what, const struct changes *changes)
{
	int i;

	ksft_print_msg("  %s:", what);
	for (i = 0; i < changes->nr && i < ARRAY_SIZE(changes->list); i++)
		printf(" %u to %u", changes->list[i].from, changes->list[i].to);
	printf("%s\n", i ? "" : " no change");
}

/* Each skipped poll has its event; after a single one the interval is still the same. */
static bool skips_are_traced(const struct halt *h)
{
	if (!trace || h->lost)
		return true;
	if (h->traced_skips == h->skipped &&
	    (h->skipped != 1 || h->nr_wakeups != 1 || h->skipped_ns == h->after_ns))
		return true;

	ksft_print_msg("%ld polls skipped, but %ld traced; the last of %u ns, interval %u\n",
		       h->skipped, h->traced_skips, h->skipped_ns, h->after_ns);
	return false;
}

static bool check_halt(struct guest *g, const struct phase *phase, const struct halt *h)
{
	s64 attempted = h->stats.val[ATTEMPTED];
	struct changes wanted;
	bool polls, skips;

	polls = predict(g, phase, h, &wanted);
	skips = g->interval_ns && !g->params.budget;
	if (!skips_are_traced(h))
		return false;
	if (same_changes(&h->changes, &wanted) && attempted == polls && h->skipped == skips &&
	    (h->stat_ns < 0 || h->stat_ns == g->interval_ns))
		return true;

	ksft_print_msg("interval %u, maximum %u, halt of %lu ns\n", h->before_ns,
		       g->params.max_ns, h->ns);
	ksft_print_msg("  polls: wanted %d, got %ld, of %lu ns; skipped: wanted %d, got %ld\n",
		       polls, attempted, polled_ns(h), skips, h->skipped);
	if (h->stat_ns >= 0)
		ksft_print_msg("  interval: wanted %u, the stat says %ld\n", g->interval_ns,
			       h->stat_ns);
	print_changes("wanted", &wanted);
	print_changes("traced", &h->changes);
	return false;
}

/* What trace and stats tell must be all of it, and of one halt. */
static bool can_judge(const struct guest *g, const struct halt *h)
{
	return g->known && !h->lost && h->nr_wakeups == 1;
}

/*
 * Does this halt count?  If the guest did not halt, as its timer was too fast,
 * there was none; if it did so twice, as something else woke it up in between,
 * the stats do not tell what belongs to which, nor does a trace that lost events:
 * take the interval as traced, when it is again.
 */
static bool halt_counts(struct guest *g, const struct phase *phase, const struct halt *h)
{
	bool judged = can_judge(g, h);

	if (!judged)
		g->interval_ns = h->after_ns;
	g->known = h->known;
	if (!judged)
		return false;

	return !phase->contended || polled_ns(h) < h->before_ns;
}

static pthread_t spinner;
static sem_t spinning;
static bool stop_spinning;

/*
 * A poll ends when its CPU has another task to run.  This one always wants to,
 * and gets out of the way of any other at once.
 */
static void *spin(void *arg)
{
	const struct sched_param param = {};

	TEST_ASSERT(!sched_setscheduler(0, SCHED_IDLE, &param), "No SCHED_IDLE");
	sem_post(&spinning);
	while (!READ_ONCE(stop_spinning))
		;
	return NULL;
}

static void start_spinning(void)
{
	stop_spinning = false;
	sem_init(&spinning, 0, 0);
	TEST_ASSERT(!pthread_create(&spinner, NULL, spin, NULL), "No thread");
	sem_wait(&spinning);
}

static void end_spinning(void)
{
	WRITE_ONCE(stop_spinning, true);
	pthread_join(spinner, NULL);
}

/* Of the halts of a phase, why there may not have been enough that count. */
struct tally {
	unsigned int polls, cut_short;
	u64 lost;			/* events */
};

/* A poll that neither hit nor lasted for the interval. */
static bool is_cut_short(const struct guest *g, const struct halt *h)
{
	return h->stats.val[ATTEMPTED] && !h->stats.val[SUCCESSFUL] &&
	       polled_ns(h) < kvm_halt_poll_cap(h->before_ns, &g->params);
}

static void count_halt(struct tally *t, const struct guest *g, const struct halt *h)
{
	t->polls += h->stats.val[ATTEMPTED];
	t->cut_short += is_cut_short(g, h);
	t->lost += h->lost;
}

static int skip_phase(const struct guest *g, const struct phase *phase, unsigned int halts,
		      const struct tally *t)
{
	char why[96];

	if (t->lost)
		snprintf(why, sizeof(why), "%lu trace events lost", t->lost);
	else if (!phase->contended && t->polls && t->cut_short == t->polls)
		snprintf(why, sizeof(why), "all %u polls cut short: by other tasks, or by KVM",
			 t->polls);
	else
		snprintf(why, sizeof(why), "try -x %u", scale * 4);

	return skip("%u %shalts of %u us, interval %u: wanted %u, %u (%s)", halts,
		    phase->contended ? "contended " : "", scaled(phase->period_us),
		    g->interval_ns, phase->halts, scaled(phase->ends_at_ns), why);
}

static int run_halts(struct guest *g, const struct phase *phase)
{
	unsigned int tries = phase->halts * TRIES_PER_HALT, halts = 0;
	unsigned int start_ns = g->interval_ns, end_ns = scaled(phase->ends_at_ns);
	struct tally tally = {};
	struct halt h;

	while (halts < phase->halts || g->interval_ns != end_ns) {
		if (!tries--)
			return skip_phase(g, phase, halts, &tally);
		halt_once(g, &h);
		count_halt(&tally, g, &h);
		if (can_judge(g, &h) && !check_halt(g, phase, &h))
			return KSFT_FAIL;
		halts += halt_counts(g, phase, &h);
	}

	ksft_print_msg("%u halts of %u us, maximum %u: interval %u to %u\n", halts,
		       scaled(phase->period_us), g->params.max_ns, start_ns, g->interval_ns);
	return KSFT_PASS;
}

static void tell_guest(struct guest *g, unsigned int period_us, bool forbidden)
{
	guest_period = (u64)scaled(period_us) * counter_khz / 1000;
	polling_forbidden = forbidden;
	sync_global_to_guest(g->vm, guest_period);
	sync_global_to_guest(g->vm, polling_forbidden);
}

/* As the module's parameters are. */
static void follow_module(struct guest *g)
{
	g->params = (struct kvm_halt_poll_params) {
		.max_ns = params[HALT_POLL_NS].val,
		.grow = params[GROW].val,
		.grow_start_ns = params[GROW_START].val,
		.shrink = params[SHRINK].val,
		.budget = has_budget() ? params[BUDGET].val : 100,
	};
}

/* All times of a tuning are for fast hosts, too. */
static void tune(struct guest *g, const struct tuning *own)
{
	struct tuning t = *own;

	t.max_ns = scaled(t.max_ns);
	t.grow_start_ns = scaled(t.grow_start_ns);
	set_tuning(g->vm, &t);

	if (t.flags & KVM_HALT_POLL_INHERIT)
		follow_module(g);
	if (t.flags & KVM_HALT_POLL_MAX_NS)
		g->params.max_ns = t.max_ns;
	if (t.flags & KVM_HALT_POLL_GROW)
		g->params.grow = t.grow;
	if (t.flags & KVM_HALT_POLL_GROW_START_NS)
		g->params.grow_start_ns = t.grow_start_ns;
	if (t.flags & KVM_HALT_POLL_SHRINK)
		g->params.shrink = t.shrink;
	if (t.flags & KVM_HALT_POLL_BUDGET)
		g->params.budget = t.budget;
}

static int run_phase(struct guest *g, const struct phase *phase)
{
	int result;

	if (phase->own.flags)
		tune(g, &phase->own);
	tell_guest(g, phase->period_us, phase->forbidden);
	if (phase->contended)
		start_spinning();
	result = run_halts(g, phase);
	if (phase->contended)
		end_spinning();
	return result;
}

/* A budget that there is not is none to set. */
static int set_params(unsigned int max_ns, unsigned int grow, unsigned int grow_start_ns,
		      unsigned int shrink)
{
	const s64 wanted[NR_PARAMS] = {
		[HALT_POLL_NS]	= scaled(max_ns),
		[GROW]		= grow,
		[GROW_START]	= scaled(grow_start_ns),
		[SHRINK]	= shrink,
		[BUDGET]	= 100,
	};
	const char *problem;
	int i;

	for (i = 0; i < NR_PARAMS; i++) {
		if (i == BUDGET && !has_budget())
			continue;
		problem = set_param(&params[i], wanted[i]);
		if (problem)
			return skip("%s", problem);
	}
	return KSFT_PASS;
}

static void create_guest(struct guest *g)
{
	memset(g, 0, sizeof(*g));
	g->vm = create_halting_vm(1, &g->vcpu, guest_code);
	g->known = true;
	read_stats(g->vcpu, &g->stats);
	g->skipped = read_new_stat(g->vcpu, SKIPPED);
	follow_module(g);
}

static void set_own_max(struct guest *g, unsigned int max_ns)
{
	g->params.max_ns = scaled(max_ns);
	vm_enable_cap(g->vm, KVM_CAP_HALT_POLL, g->params.max_ns);
}

/* Returns NULL, or why the module's maximum cannot be set. */
static const char *set_module_max(struct guest *g, unsigned int max_ns)
{
	g->params.max_ns = scaled(max_ns);
	return set_param(&params[HALT_POLL_NS], g->params.max_ns);
}

static int run_phases(const struct trajectory *t)
{
	const struct phase *phase = t->phases;
	const char *problem = NULL;
	int result = KSFT_PASS;
	struct guest g;

	create_guest(&g);
	for (; phase < t->phases + MAX_PHASES && phase->halts && !result; phase++) {
		if (t->own_max)
			set_own_max(&g, phase->max_ns);
		else if (!t->tuned)
			problem = set_module_max(&g, phase->max_ns);
		result = problem ? skip("%s", problem) : run_phase(&g, phase);
	}
	kvm_vm_free(g.vm);
	return result;
}

static bool is_forbidden(const struct trajectory *t)
{
	int i;

	for (i = 0; i < MAX_PHASES; i++) {
		if (t->phases[i].forbidden)
			return true;
	}
	return false;
}

static int run_trajectory(const struct trajectory *t)
{
	int result;

	if (!trace)
		return skip("%s", no_trace);
	if (is_forbidden(t) && !guest_can_forbid_polling())
		return skip("No way for the guest to forbid polling");
	if (t->own_max && !kvm_has_cap(KVM_CAP_HALT_POLL))
		return skip("No KVM_CAP_HALT_POLL");
	if (t->tuned && !has_tuning())
		return skip("%s", no_tuning);

	result = set_params(t->own_max || t->tuned ? MODULE_MAX_NS : t->phases[0].max_ns,
			    t->grow, t->grow_start_ns, t->shrink);
	return result ? result : run_phases(t);
}

/* Two VMs at a time, one with a maximum of its own. */
static int test_other_vm(void)
{
	static const struct phase own = {
		.halts = 8, .period_us = 120, .ends_at_ns = 160000,
	};
	static const struct phase module = {
		.halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
	};
	struct guest a, b;
	int result;

	if (!trace)
		return skip("%s", no_trace);
	if (!kvm_has_cap(KVM_CAP_HALT_POLL))
		return skip("No KVM_CAP_HALT_POLL");
	result = set_params(MODULE_MAX_NS, 2, 10000, 2);
	if (result)
		return result;

	create_guest(&a);
	create_guest(&b);
	set_own_max(&a, own.ends_at_ns);
	result = run_phase(&a, &own);
	if (!result)
		result = run_phase(&b, &module);
	kvm_vm_free(a.vm);
	kvm_vm_free(b.vm);
	return result;
}

static bool refused(struct kvm_vm *vm, u32 flags, u64 max_ns)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_HALT_POLL,
		.flags = flags,
		.args = { max_ns },
	};
	int ret = __vm_ioctl(vm, KVM_ENABLE_CAP, &cap);

	if (ret == -1 && errno == EINVAL)
		return true;

	ksft_print_msg("flags %u, maximum %lu: wanted EINVAL, got %d (%s)\n", flags,
		       max_ns, ret, ret ? strerror(errno) : "accepted");
	return false;
}

/*
 * What is refused leaves the maximum as it was.  If it was taken, or its low 32
 * bits were, all would be the other way round.
 */
static const struct refused_case {
	unsigned int max_ns;
	struct {
		u32 flags;
		u64 max_ns;
	} refused[4];
} refused_cases[] = {
	{
		.max_ns = UINT_MAX,
		.refused = { { 1, 0 }, { 1u << 31, 0 }, { 0, 1ull << 32 }, { 0, 1ull << 63 } },
	}, {
		.max_ns = 0,
		.refused = { { 1, UINT_MAX }, { 1u << 31, UINT_MAX }, { 0, (1ull << 33) - 1 },
			     { 0, ULLONG_MAX } },
	},
};

/* The stats of so many halts, or of those up to the first poll. */
static void sum_halts(struct guest *g, int halts, bool to_first_poll, struct stats *sum)
{
	struct stats start = g->stats;
	struct halt h;

	do {
		halt_once(g, &h);
	} while (--halts && !(to_first_poll && h.stats.val[ATTEMPTED]));
	*sum = g->stats;
	sub_stats(sum, &start);
}

static int judge_refused(const struct refused_case *c, int i, const struct stats *d)
{
	s64 polls = d->val[ATTEMPTED], waited = hist_count(d, WAIT_HIST);

	if (!polls && !waited)
		return skip("No halt got as far as to poll or to block");
	if (!polls == !c->max_ns)
		return KSFT_PASS;

	ksft_print_msg("maximum %u, flags %u and %lu refused: %ld polls\n", c->max_ns,
		       c->refused[i].flags, c->refused[i].max_ns, polls);
	return KSFT_FAIL;
}

/*
 * Needs no trace.  With a maximum of more than any halt takes, the interval grows
 * but never shrinks: once there was a poll, each halt polls.
 */
static int test_refused(struct guest *g, const struct refused_case *c)
{
	int i, result = KSFT_PASS;
	struct stats d;

	vm_enable_cap(g->vm, KVM_CAP_HALT_POLL, c->max_ns);
	if (c->max_ns) {
		sum_halts(g, 50, true, &d);
		if (!d.val[ATTEMPTED])
			return skip("No poll to tell from none");
	}

	for (i = 0; i < ARRAY_SIZE(c->refused) && !result; i++) {
		if (!refused(g->vm, c->refused[i].flags, c->refused[i].max_ns))
			return KSFT_FAIL;
		sum_halts(g, 5, false, &d);
		result = judge_refused(c, i, &d);
	}
	return result;
}

static int test_refused_values(void)
{
	int i, result = KSFT_PASS;
	struct guest g;

	if (!kvm_has_cap(KVM_CAP_HALT_POLL))
		return skip("No KVM_CAP_HALT_POLL");

	create_guest(&g);
	tell_guest(&g, 50, false);
	for (i = 0; i < ARRAY_SIZE(refused_cases) && !result; i++)
		result = test_refused(&g, &refused_cases[i]);
	kvm_vm_free(g.vm);
	return result;
}

static const unsigned int defaults[NR_PARAMS] = {
	[HALT_POLL_NS]	= DEFAULT_HALT_POLL_NS,
	[GROW]		= 2,
	[GROW_START]	= 10000,
	[SHRINK]	= 2,
	[BUDGET]	= 100,
};

static bool on_command_line(const char *name)
{
	char line[4096], wanted[64], *c;

	if (!read_sysfs("/proc/cmdline", line, sizeof(line)))
		return false;
	for (c = line; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	snprintf(wanted, sizeof(wanted), "kvm.%s=", name);
	return strstr(line, wanted);
}

static bool lacks_budget(const struct param *p)
{
	return p == &params[BUDGET] && !has_budget();
}

/* Who may have set a parameter: the kernel's command line, modprobe, any script. */
static int test_default(struct param *p, unsigned int wanted)
{
	read_param(p);
	if (p->val == wanted)
		return KSFT_PASS;

	if (lacks_budget(p))
		return skip("%s", no_budget);
	if (p->val >= 0 && on_command_line(p->name))
		return skip("%ld comes from the kernel's command line", p->val);
	if (p->val >= 0 && !getenv("HALT_POLL_DEFAULTS"))
		return skip("Not %u but %ld, which somebody may have set", wanted, p->val);

	ksft_print_msg("%s: wanted %u, got %ld%s\n", p->name, wanted, p->val,
		       p->val < 0 ? ", it is absent" : "");
	return KSFT_FAIL;
}

struct text_value {
	const char *text;
	s64 val;		/* what it means, or -1 */
	int error;		/* what it is refused with */
};

static const struct text_value values[] = {
	{ "0", 0 }, { "1", 1 }, { "100\n", 100 }, { "0x10", 16 },
	/* What sysfs makes of no bytes at all, 0 and no error, is no value either. */
	{ "", -1, 0 },
	{ "-1", -1, EINVAL }, { "4294967296", -1, ERANGE },
	{ "18446744073709551617", -1, ERANGE }, { "\n", -1, EINVAL }, { " ", -1, EINVAL },
	{ "text", -1, EINVAL }, { "20x", -1, EINVAL }, { "20 1", -1, EINVAL },
	{ "1.5", -1, EINVAL }, { "0x", -1, EINVAL },
	{}
}, counts[] = {
	{ "101", 101 }, { "123456", 123456 }, { "4294967295", UINT_MAX },
	{}
}, percents[] = {
	{ "50", 50 }, { "100", 100 },
	{ "101", -1, EINVAL }, { "123456", -1, EINVAL }, { "4294967295", -1, EINVAL },
	{}
};

static bool takes(struct param *p, const char *text, s64 wanted)
{
	int len = strlen(text), ret = pwrite(p->fd, text, len, 0);

	read_param(p);
	if (ret == len && p->val == wanted)
		return true;

	ksft_print_msg("%s: wrote '%s', got %d (%s), reads %ld\n", p->name, text, ret,
		       ret < 0 ? strerror(errno) : "taken", p->val);
	return false;
}

static bool refuses(struct param *p, const char *text, int error)
{
	int ret = pwrite(p->fd, text, strlen(text), 0), err = ret < 0 ? errno : 0;
	s64 before = p->val;

	read_param(p);
	if (ret <= 0 && err == error && p->val == before)
		return true;

	ksft_print_msg("%s: wrote '%s', wanted error %d, got %d (%d), reads %ld, %ld before\n",
		       p->name, text, error, err, ret, p->val, before);
	return false;
}

static bool test_texts(struct param *p, const struct text_value *v)
{
	bool ok = true;

	for (; v->text; v++)
		ok &= v->val < 0 ? refuses(p, v->text, v->error) : takes(p, v->text, v->val);
	return ok;
}

static int test_values(struct param *p)
{
	bool percent = p == &params[BUDGET];
	struct stat st;
	char path[96];
	bool ok;

	if (lacks_budget(p))
		return skip("%s", no_budget);

	param_path(p->name, path, sizeof(path));
	if (stat(path, &st)) {
		ksft_print_msg("%s: %s\n", path, strerror(errno));
		return KSFT_FAIL;
	}
	if (!(st.st_mode & 0222))
		return skip("Mode %04o: nobody may write it", st.st_mode & 07777);
	if ((st.st_mode & 07777) != 0644) {
		ksft_print_msg("%s: wanted mode 0644, got %04o\n", path, st.st_mode & 07777);
		return KSFT_FAIL;
	}
	if (!open_param(p))
		return skip("Cannot write it: %s", strerror(errno));

	ok = test_texts(p, values);
	ok &= test_texts(p, percent ? percents : counts);
	ok &= takes(p, p->old, strtoul(p->old, NULL, 10));
	return ok ? KSFT_PASS : KSFT_FAIL;
}

/* What to make of the stats: first halts of 120 us, then others. */
static const struct stats_case {
	const char *name;
	unsigned int max_ns, then_us;
	bool hits, misses;		/* polls that there should be */
	bool forbidden;			/* by the guest */
} stats_cases[] = {
	{
		.name = "stats of polls that hit",
		.max_ns = 160000, .then_us = 60, .hits = true,
	}, {
		.name = "stats of polls that miss",
		.max_ns = 160000, .then_us = 1000, .misses = true,
	}, {
		.name = "stats without polling, maximum 0",
		.max_ns = 0, .then_us = 1000,
	}, {
		.name = "stats without polling, forbidden by the guest",
		.max_ns = 160000, .then_us = 1000, .forbidden = true,
	},
};

/* A halt that blocked took as long as poll and wait together, no other took less. */
static bool stats_match_trace(const struct halt *h)
{
	u64 ns = polled_ns(h) + h->stats.val[WAIT_NS];
	s64 waited = hist_count(&h->stats, WAIT_HIST);

	if (h->lost || h->nr_wakeups != 1)
		return true;
	if (waited == h->blocked && (ns == h->ns || (ns < h->ns && !waited)))
		return true;

	ksft_print_msg("traced %s of %lu ns, but polled %lu and waited %ld, %ld times\n",
		       h->blocked ? "a block" : "a halt", h->ns, polled_ns(h),
		       h->stats.val[WAIT_NS], waited);
	return false;
}

static bool halts_match_trace(struct guest *g, unsigned int period_us, bool forbidden)
{
	struct halt h;
	int i;

	tell_guest(g, period_us, forbidden);
	for (i = 0; i < 12; i++) {
		halt_once(g, &h);
		g->interval_ns = h.after_ns;
		if (!stats_match_trace(&h))
			return false;
	}
	return true;
}

static int judge_stats(const struct stats_case *c, const struct stats *d, u64 elapsed_ns)
{
	const char *problem = stats_problem(d, elapsed_ns);
	s64 failed = hist_count(d, FAIL_HIST), waited = hist_count(d, WAIT_HIST);

	ksft_print_msg("%ld exits, %ld polls, %ld hit, %ld missed, %ld halts blocked\n",
		       d->val[EXITS], d->val[ATTEMPTED], d->val[SUCCESSFUL], failed, waited);
	if (problem) {
		ksft_print_msg("%s\n", problem);
		return KSFT_FAIL;
	}
	if (!c->hits && !c->misses && d->val[ATTEMPTED])
		return KSFT_FAIL;
	if (!c->hits && !c->misses && (!d->val[EXITS] || !waited))
		return skip("No halt that blocked (try -x %u)", scale * 4);
	if ((c->hits && !d->val[SUCCESSFUL]) || (c->misses && !failed))
		return skip("No poll %s (try -x %u)", c->hits ? "hit" : "missed", scale * 4);
	return KSFT_PASS;
}

static int test_stats(const struct stats_case *c)
{
	struct stats start, d;
	struct guest g;
	int result;
	bool ok;
	u64 ns;

	if (!kvm_has_cap(KVM_CAP_HALT_POLL))
		return skip("No KVM_CAP_HALT_POLL");
	if (c->forbidden && !guest_can_forbid_polling())
		return skip("No way for the guest to forbid polling");

	create_guest(&g);
	set_own_max(&g, c->max_ns);
	start = g.stats;
	ns = monotonic_ns();
	ok = halts_match_trace(&g, 120, c->forbidden) &&
	     halts_match_trace(&g, c->then_us, c->forbidden);
	d = g.stats;
	sub_stats(&d, &start);
	result = judge_stats(c, &d, monotonic_ns() - ns);
	kvm_vm_free(g.vm);
	return ok ? result : KSFT_FAIL;
}

/* Halts under a budget, summed up. */
struct spending {
	s64 polls, skipped, hits;
	u64 polled_ns, elapsed_ns;
	u64 overrun_ns;		/* by how much one poll exceeded its interval, at most */
	u64 earned_ns;		/* what the budget allows, if no more than a poll is saved */
};

static void spend(struct spending *s, const struct halt *h, unsigned int budget, u64 ns)
{
	u64 poll_ns = polled_ns(h);

	s->polls += h->stats.val[ATTEMPTED];
	s->hits += h->stats.val[SUCCESSFUL];
	s->skipped += h->skipped;
	s->polled_ns += poll_ns;
	s->elapsed_ns += ns;
	s->earned_ns += min(ns * budget / 100, (u64)scaled(BUDGET_MAX_NS));
	if (poll_ns > h->before_ns)
		s->overrun_ns = max(s->overrun_ns, poll_ns - h->before_ns);
}

/* A skipped poll must leave the interval as it is; one of several halts may have. */
static bool skip_is_quiet(const struct halt *h)
{
	if (!h->skipped || h->stats.val[ATTEMPTED] || h->stats.val[EXITS] > 1)
		return true;
	if (!h->changes.nr && h->before_ns == h->after_ns)
		return true;

	ksft_print_msg("interval %u to %u although the poll was skipped\n", h->before_ns,
		       h->after_ns);
	return false;
}

static const char *budget_problem(const struct spending *s, unsigned int budget)
{
	u64 allowed_ns = s->elapsed_ns * budget / 100 + scaled(BUDGET_MAX_NS);

	if (budget == 100 && s->skipped)
		return "polls were skipped, without a limit";
	if (!budget && s->polls)
		return "polls without any budget";
	if (budget && !s->polls)
		return "no polls at all";
	if (s->polls && !s->hits)
		return "the polls that started were in vain";
	/* What a poll takes too long is paid for later, but for the last one's. */
	if (s->polled_ns > allowed_ns + s->overrun_ns)
		return "polling took more than the budget";
	if (s->skipped > s->polls && 2 * (s->polled_ns + scaled(BUDGET_MAX_NS)) < s->earned_ns)
		return "polls were skipped that the budget allows";
	return NULL;
}

static int run_budget(struct guest *g, unsigned int budget)
{
	struct spending s = {};
	const char *problem;
	u64 start, now;
	struct halt h;
	int i;

	problem = set_param(&params[BUDGET], budget);
	if (problem)
		return skip("%s", problem);

	start = monotonic_ns();
	for (i = 0; i < BUDGET_HALTS; i++) {
		halt_once(g, &h);
		g->interval_ns = h.after_ns;
		now = monotonic_ns();
		spend(&s, &h, budget, now - start);
		start = now;
		if (!skip_is_quiet(&h) || !skips_are_traced(&h))
			return KSFT_FAIL;
	}

	ksft_print_msg("budget %u: %ld polls, %ld hit, %ld skipped, %lu of %lu us (%.1f %%)\n",
		       budget, s.polls, s.hits, s.skipped, s.polled_ns / 1000,
		       s.elapsed_ns / 1000, 100.0 * s.polled_ns / s.elapsed_ns);
	/* No more debt is kept than a poll of the maximum costs. */
	if (s.overrun_ns > scaled(BUDGET_MAX_NS))
		return skip("The host was held up in a poll, for %lu us", s.overrun_ns / 1000);
	problem = budget_problem(&s, budget);
	if (!problem)
		return KSFT_PASS;
	ksft_print_msg("budget %u: %s\n", budget, problem);
	return KSFT_FAIL;
}

/* Let the interval grow until polls hit. */
static bool grow_to_hits(struct guest *g)
{
	int tries = 20 * TRIES_PER_HALT, hits = 0;
	struct halt h;

	while (hits < 3 && tries--) {
		halt_once(g, &h);
		g->interval_ns = h.after_ns;
		hits = h.stats.val[SUCCESSFUL] ? hits + 1 : 0;
	}
	return hits == 3;
}

/* Needs no trace: a guest woken so often that polling would take nearly all the time. */
static int test_budget(unsigned int budget)
{
	struct guest g;
	int result;

	if (!has_budget())
		return skip("%s", no_budget);
	if (!new_stats[SKIPPED].offset) {
		ksft_print_msg("A budget, but no stat %s\n", new_stats[SKIPPED].name);
		return KSFT_FAIL;
	}
	result = set_params(BUDGET_MAX_NS, 2, 10000, 1);
	if (result)
		return result;

	create_guest(&g);
	tell_guest(&g, BUDGET_PERIOD_US, false);
	if (grow_to_hits(&g))
		result = run_budget(&g, budget);
	else
		result = skip("No polls that hit (try -x %u)", scale * 4);
	kvm_vm_free(g.vm);
	return result;
}

static const unsigned int budgets[] = { 100, 50, 20, 10, 5, 0 };

/* Old kernels return 1, and no flag is 1. */
static int test_flags(void)
{
	int flags = kvm_check_cap(KVM_CAP_HALT_POLL), of_vm;
	struct guest g;

	if (flags <= 1)
		return skip("%s", no_tuning);

	create_guest(&g);
	of_vm = vm_check_cap(g.vm, KVM_CAP_HALT_POLL);
	kvm_vm_free(g.vm);
	if (flags == (1 | HALT_POLL_FLAGS) && of_vm == flags)
		return KSFT_PASS;

	ksft_print_msg("wanted %#x, got %#x, and %#x for a VM\n", 1 | HALT_POLL_FLAGS, flags,
		       of_vm);
	return KSFT_FAIL;
}

/* Two VMs take turns, each with values of its own; then one drops them. */
static const struct {
	bool second;
	struct phase phase;
} turns[] = {
	{ false, { .halts = 2, .period_us = 120, .ends_at_ns = 30000,
		   .own = { .flags = KVM_HALT_POLL_MAX_NS | KVM_HALT_POLL_GROW,
			    .max_ns = 160000, .grow = 3 } } },
	{ true,  { .halts = 3, .period_us = 60, .ends_at_ns = 20000,
		   .own = { .flags = KVM_HALT_POLL_GROW_START_NS | KVM_HALT_POLL_SHRINK,
			    .grow_start_ns = 5000, .shrink = 0 } } },
	{ false, { .halts = 2, .period_us = 120, .ends_at_ns = 160000 } },
	{ true,  { .halts = 2, .period_us = 60, .ends_at_ns = MODULE_MAX_NS } },
	{ false, { .halts = 1, .period_us = 1000, .ends_at_ns = 80000 } },
	{ true,  { .halts = 1, .period_us = 1000, .ends_at_ns = 0 } },
	/* They change, and one goes. */
	{ false, { .halts = 1, .period_us = 1000, .ends_at_ns = 20000,
		   .own = { .flags = KVM_HALT_POLL_SHRINK, .shrink = 4 } } },
	{ true,  { .halts = 2, .period_us = 60, .ends_at_ns = 20000,
		   .own = { .flags = KVM_HALT_POLL_INHERIT } } },
	{ false, { .halts = 2, .period_us = 120, .ends_at_ns = 160000 } },
	{ true,  { .halts = 3, .period_us = 60, .ends_at_ns = MODULE_MAX_NS } },
};

static int test_two_vms(void)
{
	struct guest guests[2];
	int i, result;

	if (!trace)
		return skip("%s", no_trace);
	if (!has_tuning())
		return skip("%s", no_tuning);
	result = set_params(MODULE_MAX_NS, 2, 10000, 2);
	if (result)
		return result;

	create_guest(&guests[0]);
	create_guest(&guests[1]);
	for (i = 0; i < ARRAY_SIZE(turns) && !result; i++)
		result = run_phase(&guests[turns[i].second], &turns[i].phase);
	kvm_vm_free(guests[0].vm);
	kvm_vm_free(guests[1].vm);
	return result;
}

static void *run_once(void *arg)
{
	struct kvm_vcpu *vcpu = arg;

	run_to_ucall(vcpu, UCALL_SYNC, GUARD_S);
	return NULL;
}

/*
 * While the vCPU is blocked in a halt that no poll covers, its VM gets values with
 * which the interval shrinks otherwise: that halt has to go by these.
 */
static int test_tune_blocked(void)
{
	static const struct phase grow = {
		.halts = 6, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
	}, sleep = {
		.halts = 1, .period_us = 50000,
	};
	static const struct tuning own = { .flags = KVM_HALT_POLL_SHRINK, .shrink = 4 };
	pthread_t thread;
	struct guest g;
	struct halt h;
	int result;

	if (!trace)
		return skip("%s", no_trace);
	if (!has_tuning())
		return skip("%s", no_tuning);
	result = set_params(MODULE_MAX_NS, 2, 10000, 2);
	if (result)
		return result;

	create_guest(&g);
	result = run_phase(&g, &grow);
	if (!result) {
		tell_guest(&g, sleep.period_us, false);
		begin_halt(&g, &h);
		TEST_ASSERT(!pthread_create(&thread, NULL, run_once, g.vcpu), "No thread");
		usleep(scaled(sleep.period_us) / 5);
		tune(&g, &own);
		pthread_join(thread, NULL);
		finish_halt(&g, &h);
		if (!can_judge(&g, &h) || h.ns < scaled(sleep.period_us) * 1000ull / 2)
			result = skip("The vCPU was not halted all the time");
		else if (!check_halt(&g, &sleep, &h))
			result = KSFT_FAIL;
	}
	kvm_vm_free(g.vm);
	return result;
}

/* Each would change a value, or drop them all, if it was taken in part. */
static const struct {
	u32 flags;
	u64 args[4];
} refused_tunings[] = {
	/* No such flag, alone and beside one. */
	{ 1, { 20000 } },
	{ 1 << 7, { 20000 } },
	{ 1u << 31, { 20000 } },
	{ KVM_HALT_POLL_MAX_NS | 1 << 7, { 20000 } },
	/* Not by itself, or with values. */
	{ KVM_HALT_POLL_INHERIT | KVM_HALT_POLL_MAX_NS, { 20000 } },
	{ KVM_HALT_POLL_INHERIT | KVM_HALT_POLL_BUDGET, { 0, 0, 0, 50 } },
	{ KVM_HALT_POLL_INHERIT, { 20000 } },
	{ KVM_HALT_POLL_INHERIT, { 0, 0, 0, 1 } },
	/* Too wide. */
	{ KVM_HALT_POLL_MAX_NS, { 1ull << 32 | 20000 } },
	{ KVM_HALT_POLL_MAX_NS, { ULLONG_MAX } },
	{ KVM_HALT_POLL_GROW_START_NS, { 0, 0, 1ull << 32 | 20000 } },
	{ KVM_HALT_POLL_BUDGET, { 0, 0, 0, 1ull << 32 } },
	{ KVM_HALT_POLL_BUDGET, { 0, 0, 0, ULLONG_MAX } },
	{ 0, { 1ull << 32 | 20000 } },
	/* Without their flag. */
	{ KVM_HALT_POLL_GROW, { 20000, 7 } },
	{ KVM_HALT_POLL_GROW, { 0, 1ull << 32 | 7 } },
	{ KVM_HALT_POLL_SHRINK, { 0, 1ull << 32 | 7 } },
	{ KVM_HALT_POLL_MAX_NS, { 20000, 7 } },
	{ KVM_HALT_POLL_MAX_NS, { 20000, 0, 20000 } },
	{ KVM_HALT_POLL_MAX_NS, { 20000, 0, 0, 1 } },
	/* More than all of the time, with values that are right. */
	{ KVM_HALT_POLL_BUDGET, { 0, 0, 0, 101 } },
	{ KVM_HALT_POLL_BUDGET | KVM_HALT_POLL_MAX_NS | KVM_HALT_POLL_GROW,
	  { 20000, 7, 0, 101 } },
};

static bool refuses_tuning(struct kvm_vm *vm, int i)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_HALT_POLL,
		.flags = refused_tunings[i].flags,
	};
	int ret;

	memcpy(cap.args, refused_tunings[i].args, sizeof(refused_tunings[i].args));
	ret = __vm_ioctl(vm, KVM_ENABLE_CAP, &cap);
	if (ret == -1 && errno == EINVAL)
		return true;

	ksft_print_msg("flags %#x, args %#llx %#llx %#llx %#llx: wanted EINVAL, got %d (%s)\n",
		       cap.flags, cap.args[0], cap.args[1], cap.args[2], cap.args[3], ret,
		       ret ? strerror(errno) : "accepted");
	return false;
}

/* What is refused leaves a VM's values as they were, and the lack of them. */
static int test_refused_tunings(bool tuned)
{
	static const struct phase grow = {
		.halts = 7, .period_us = 60, .ends_at_ns = MODULE_MAX_NS,
	}, decay = {
		.halts = 4, .period_us = 1000, .ends_at_ns = 0,
	};
	static const struct tuning own = {
		.flags = HALT_POLL_FLAGS & ~KVM_HALT_POLL_INHERIT,
		.max_ns = MODULE_MAX_NS, .grow = 4, .grow_start_ns = 5000, .shrink = 5,
		.budget = 100,
	};
	struct guest g;
	int i, result;

	if (!trace)
		return skip("%s", no_trace);
	if (!has_tuning())
		return skip("%s", no_tuning);
	result = set_params(tuned ? 0 : MODULE_MAX_NS, 2, 10000, 2);
	if (result)
		return result;

	create_guest(&g);
	if (tuned)
		tune(&g, &own);
	for (i = 0; i < ARRAY_SIZE(refused_tunings) && !result; i++) {
		if (!refuses_tuning(g.vm, i))
			result = KSFT_FAIL;
	}
	if (!result)
		result = run_phase(&g, &grow);
	if (!result)
		result = run_phase(&g, &decay);
	kvm_vm_free(g.vm);
	return result;
}

/* That its values are right is seen after each halt above. */
static int test_interval_stat(void)
{
	const struct vcpu_stat *stat = &new_stats[INTERVAL];
	u32 wanted = KVM_STATS_TYPE_INSTANT | KVM_STATS_UNIT_SECONDS | KVM_STATS_BASE_POW10;

	if (!stat->offset)
		return skip("No vCPU stat %s on this kernel", stat->name);
	if (stat->flags == wanted && stat->exponent == -9)
		return KSFT_PASS;

	ksft_print_msg("%s: wanted flags %#x, exponent -9, got %#x, %d\n", stat->name, wanted,
		       stat->flags, stat->exponent);
	return KSFT_FAIL;
}

/* Contention is for one CPU, which threads created later inherit. */
static void pin_to_one_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	TEST_ASSERT(!sched_setaffinity(0, sizeof(cpus), &cpus), "No affinity");
}

static void help(const char *name)
{
	printf("usage: %s [-h] [-x factor]\n\n", name);
	printf("-x: Multiply all times, for slow hosts (default: %u).\n", scale);
}

static void parse_options(int argc, char *argv[])
{
	int opt;

	while ((opt = getopt(argc, argv, "hx:")) != -1) {
		switch (opt) {
		case 'x':
			scale = parse_u32(opt, optarg, 1, MAX_SCALE);
			break;
		default:
			other_option(opt, help, argv[0]);
		}
	}

	expect_no_argument(argc, argv);
}

int main(int argc, char *argv[])
{
	char name[64];
	int i;

	parse_options(argc, argv);

	ksft_print_header();
	counter_khz = probe_kvm(guest_code);
	pin_to_one_cpu();
	setup_cleanup(undo_everything);
	open_trace();

	ksft_set_plan(2 * NR_PARAMS + ARRAY_SIZE(trajectories) + ARRAY_SIZE(stats_cases) +
		      ARRAY_SIZE(budgets) + 8);
	for (i = 0; i < NR_PARAMS; i++) {
		snprintf(name, sizeof(name), "%s, default", params[i].name);
		report_result(name, test_default(&params[i], defaults[i]));
		snprintf(name, sizeof(name), "%s, values", params[i].name);
		report_result(name, test_values(&params[i]));
	}
	for (i = 0; i < ARRAY_SIZE(trajectories); i++)
		report_result(trajectories[i].name, run_trajectory(&trajectories[i]));
	report_result("KVM_CAP_HALT_POLL leaves other VMs alone", test_other_vm());
	report_result("KVM_CAP_HALT_POLL refuses flags and wide values", test_refused_values());
	for (i = 0; i < ARRAY_SIZE(stats_cases); i++)
		report_result(stats_cases[i].name, test_stats(&stats_cases[i]));
	report_result("vCPU stat of the interval", test_interval_stat());
	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		snprintf(name, sizeof(name), "budget of %u %%", budgets[i]);
		report_result(name, test_budget(budgets[i]));
	}
	report_result("KVM_CAP_HALT_POLL reports its flags", test_flags());
	report_result("two VMs with values of their own", test_two_vms());
	report_result("own values given to a vCPU that is blocked", test_tune_blocked());
	report_result("own values refused, the module's hold", test_refused_tunings(false));
	report_result("own values refused, those before hold", test_refused_tunings(true));
	ksft_finished();
}
