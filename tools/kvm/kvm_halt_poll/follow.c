// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "follow.h"

/* A vCPU's, in vcpu->priv; what the user keeps is behind it. */
struct follower {
	bool known;
	bool lost;
	bool restarted;			/* at the next halt */
	unsigned int interval_ns;
	unsigned int nr_changes;
	struct change changes[2];
	u64 losses;			/* as of its last event */
	struct halt *pending;
	unsigned int nr_pending, room;
};

static struct follower *follower_of(struct follow *f, struct vcpu *vcpu)
{
	if (!vcpu->priv)
		vcpu->priv = calloc(1, sizeof(struct follower) + f->size);
	if (!vcpu->priv)
		fail("out of memory at vCPU %d", vcpu->pid);
	return vcpu->priv;
}

void *follow_data(const struct vcpu *vcpu)
{
	return (struct follower *)vcpu->priv + 1;
}

/*
 * The event of a wakeup follows the end of the halt, so that its time less the
 * halt time is not before the start.  Only a shrink can be early: this tells it
 * from one that adapts, which comes at the end of a halt longer than that gap.
 */
bool change_is_early(const struct change *change, const struct halt *halt)
{
	return change->new_ns < change->old_ns && change->time_ns <= halt->time_ns &&
	       halt->time_ns - change->time_ns >= halt->ns;
}

static int flush(struct follow *f, struct vcpu *vcpu, struct follower *v)
{
	struct step step = {
		.known = v->known,
		.before_ns = v->interval_ns,
		.interval_ns = v->interval_ns,
		.lost = v->lost,
	};
	unsigned int i;
	int ret;

	for (i = 0; i < v->nr_pending; i++) {
		step.halt = &v->pending[i];
		step.restarted = v->restarted;
		v->restarted = false;
		ret = f->step(f->ctx, vcpu, &step);
		if (ret)
			return ret;
	}
	v->nr_pending = 0;
	return 0;
}

/* Where events were lost, what was known of the interval is, too. */
static int check_lost(struct follow *f, struct vcpu *vcpu, struct follower *v)
{
	int ret;

	if (f->trace->lost == v->losses)
		return 0;
	v->losses = f->trace->lost;
	ret = flush(f, vcpu, v);
	v->known = false;
	v->lost = true;
	v->nr_changes = 0;
	return ret;
}

/* Whom an event is about, once it is told what was lost before. */
static int find_follower(struct follow *f, struct vcpu *vcpu, struct follower **v)
{
	*v = follower_of(f, vcpu);
	return *v ? check_lost(f, vcpu, *v) : -1;
}

static int follow_change(void *ctx, struct vcpu *vcpu, const struct change *change)
{
	struct follow *f = ctx;
	struct follower *v;
	int ret = find_follower(f, vcpu, &v);

	if (ret)
		return ret;
	if (!v->known) {
		v->known = true;
		v->lost = false;
		v->interval_ns = change->old_ns;
		ret = flush(f, vcpu, v);
	} else if (!v->nr_changes) {
		if (v->interval_ns && !change->old_ns) {
			v->interval_ns = 0;
			v->restarted = true;
		}
		ret = flush(f, vcpu, v);
	}
	if (v->nr_changes++)
		v->changes[0] = v->changes[1];
	v->changes[1] = *change;
	return ret;
}

static int hold_back(struct follow *f, struct vcpu *vcpu, struct follower *v,
		     const struct halt *halt)
{
	if (v->nr_pending == FOLLOW_PENDING) {
		int ret = flush(f, vcpu, v);

		if (ret)
			return ret;
	}
	if (v->nr_pending == v->room) {
		unsigned int room = v->room ? 2 * v->room : 4;
		struct halt *pending = realloc(v->pending, room * sizeof(*pending));

		if (!pending)
			return fail("out of memory at vCPU %d", vcpu->pid);
		v->pending = pending;
		v->room = room;
	}
	v->pending[v->nr_pending++] = *halt;
	return 0;
}

static int follow_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	struct follow *f = ctx;
	struct step step = { .halt = halt };
	struct follower *v;
	int ret = find_follower(f, vcpu, &v);

	if (ret)
		return ret;
	if (!v->known && !v->lost)
		return hold_back(f, vcpu, v, halt);
	if (v->known && !v->nr_changes && v->interval_ns && (v->nr_pending || halt->waited)) {
		if (!halt->skipped)
			return hold_back(f, vcpu, v, halt);
		/* There was a poll to skip, so the interval was not 0. */
		ret = flush(f, vcpu, v);
		if (ret)
			return ret;
	}

	step.known = v->known;
	step.restarted = v->restarted;
	v->restarted = false;
	step.lost = v->lost;
	step.before_ns = v->interval_ns;
	step.interval_ns = v->interval_ns;
	step.nr_changes = v->nr_changes;
	if (v->nr_changes) {
		const struct change *last = &v->changes[1];

		step.interval_ns = change_is_early(last, halt) ? last->new_ns : last->old_ns;
		step.changes[0] = v->changes[v->nr_changes > 1 ? 0 : 1];
		step.changes[1] = *last;
		v->interval_ns = last->new_ns;
		/* A kernel may trace more than the maximum, but does not use it. */
		if (f->trace->params.known && v->interval_ns > f->trace->params.max_ns)
			v->interval_ns = f->trace->params.max_ns;
		v->nr_changes = 0;
	}
	return f->step(f->ctx, vcpu, &step);
}

int follow_flush(struct follow *f)
{
	size_t i;

	for (i = 0; i < f->trace->nr_vcpus; i++) {
		struct vcpu *vcpu = f->trace->vcpus[i];
		struct follower *v = vcpu->priv;
		int ret = v ? flush(f, vcpu, v) : 0;

		if (ret)
			return ret;
	}
	return 0;
}

struct trace_sink follow_sink(struct follow *f)
{
	return (struct trace_sink){ follow_halt, follow_change, f };
}

bool follow_interval(const struct vcpu *vcpu, unsigned int *interval_ns)
{
	const struct follower *v = vcpu->priv;

	*interval_ns = v->interval_ns;
	return v->known;
}

int follow_read(struct follow *f, const char *name)
{
	const struct trace_sink sink = follow_sink(f);

	return trace_read(f->trace, name, &sink) ?: follow_flush(f);
}

static int play(struct follow *f, struct vcpu *vcpu)
{
	size_t i, change = 0;
	int ret;

	for (i = 0; i < vcpu->nr_halts; i++) {
		for (; change < vcpu->nr_changes && vcpu->changes[change].before <= i; change++) {
			ret = follow_change(f, vcpu, &vcpu->changes[change]);
			if (ret)
				return ret;
		}
		ret = follow_halt(f, vcpu, &vcpu->halts[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int follow_loaded(struct follow *f)
{
	size_t i;
	int ret;

	for (i = 0; i < f->trace->nr_vcpus; i++) {
		struct follower *v = follower_of(f, f->trace->vcpus[i]);

		if (!v)
			return -1;
		/* Where in it events were lost is no longer known. */
		v->losses = f->trace->lost;
		ret = play(f, f->trace->vcpus[i]);
		if (ret)
			return ret;
	}
	return follow_flush(f);
}

void follow_forget(struct vcpu *vcpu)
{
	struct follower *v = vcpu->priv;

	if (v)
		free(v->pending);
	free(v);
	vcpu->priv = NULL;
}

void follow_free(struct follow *f)
{
	size_t i;

	for (i = 0; i < f->trace->nr_vcpus; i++)
		follow_forget(f->trace->vcpus[i]);
}
