// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the kernel that was recorded do what the rule says?  Each vCPU's halts
 * are fed to the rule, one by one, from the interval that was in force, and
 * what the rule makes of it is compared with the kvm_halt_poll_ns events.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "cmd.h"
#include "follow.h"
#include "json.h"
#include "options.h"

/* As many unexplained differences are shown. */
#define SHOWN 10

/* What a halt is found to be. */
enum verdict {
	AS_RULE,
	CUT_SHORT,
	SKIPPED,
	NOT_ALLOWED,
	F1_WRAPPED,
	F2_ABOVE_MAX,
	F3_EXACTLY_MAX,
	F5_NO_CHANGE,
	F5_NO_EVENT,
	UNEXPLAINED,
	UNKNOWN,
	AFTER_LOSS,
	NR_VERDICTS,
};

static const struct {
	const char *key;
	const char *text;
} verdicts[NR_VERDICTS] = {
	[AS_RULE] = { "as_rule", "as the rule says" },
	[CUT_SHORT] = { "cut_short", "not adapted: the poll was cut short" },
	[SKIPPED] = { "skipped", "not adapted: the poll was skipped for want of budget" },
	[NOT_ALLOWED] = { "not_allowed", "reset to 0 and kept there: polling was not allowed" },
	[F1_WRAPPED] = { "f1_wrapped", "F1: growth wrapped in 32 bits" },
	[F2_ABOVE_MAX] = { "f2_above_max", "F2: an interval above the maximum was traced" },
	[F3_EXACTLY_MAX] = { "f3_exactly_max", "F3: a halt of exactly the maximum did nothing" },
	[F5_NO_CHANGE] = { "f5_no_change", "F5: an event without a change" },
	[F5_NO_EVENT] = { "f5_no_event", "F5: a change without an event" },
	[UNEXPLAINED] = { "unexplained", "UNEXPLAINED" },
	[UNKNOWN] = { "interval_unknown", "not verified: interval not known yet" },
	[AFTER_LOSS] = { "after_loss", "not verified: events were lost" },
};

/* What is kept of a vCPU. */
struct verify_vcpu {
	bool not_allowed;	/* since a reset */
};

struct verify {
	struct trace trace;
	const struct options *o;
	bool params_known;
	struct kvm_halt_poll_params params;

	u64 halts;
	u64 restarts;
	u64 count[NR_VERDICTS];
	/* Of the halts within the interval, and of those whose poll failed: */
	u64 within, within_blocked;
	u64 missed_adapted;
};

/* A poll that is skipped leaves the interval alone, once it is not above the maximum. */
static unsigned int next(const struct verify *v, unsigned int interval_ns,
			 const struct halt *halt)
{
	if (halt->skipped)
		return kvm_halt_poll_cap(interval_ns, &v->params);
	return kvm_halt_poll_next(interval_ns, halt->ns, halt->valid, &v->params);
}

/* What growing comes to if the product is cut to 32 bits and then not capped. */
static unsigned int grow_wrapped(const struct verify *v, unsigned int interval_ns)
{
	const struct kvm_halt_poll_params raise = {
		.max_ns = UINT_MAX, .grow = 1, .grow_start_ns = v->params.grow_start_ns,
	};

	return kvm_halt_poll_grow(interval_ns * v->params.grow, &raise);
}

/* Why there is no event although the rule, from @interval_ns on, changes it. */
static enum verdict explain_silence(const struct verify *v, const struct verify_vcpu *vcpu,
				    const struct halt *halt, unsigned int interval_ns)
{
	if (halt->valid && halt->ns == v->params.max_ns)
		return F3_EXACTLY_MAX;
	/* A poll that was cut short may find the event just before it blocks. */
	if (interval_ns)
		return halt->waited || halt->ns > interval_ns ? CUT_SHORT : UNEXPLAINED;
	return vcpu->not_allowed ? NOT_ALLOWED : UNEXPLAINED;
}

/* Why @change is not what the rule says. */
static enum verdict explain_change(const struct verify *v, const struct halt *halt,
				   const struct change *change)
{
	unsigned int want_ns = next(v, change->old_ns, halt);
	bool grew = halt->valid && halt->ns > change->old_ns && halt->ns <= v->params.max_ns;
	bool wraps = (u64)change->old_ns * v->params.grow > UINT_MAX;

	if (grew && wraps && change->new_ns == grow_wrapped(v, change->old_ns))
		return F1_WRAPPED;
	if (change->new_ns == change->old_ns)
		return want_ns == change->old_ns ? F5_NO_CHANGE : UNEXPLAINED;
	if (grew && !wraps && change->new_ns > v->params.max_ns &&
	    change->new_ns == grow_wrapped(v, change->old_ns))
		return F2_ABOVE_MAX;
	return UNEXPLAINED;
}

/* The last event before the wakeup's. */
static enum verdict judge_change(const struct verify *v, struct verify_vcpu *vcpu,
				 const struct step *step)
{
	const struct change *change = &step->changes[1];
	unsigned int want_ns = next(v, change->old_ns, step->halt);

	if (step->halt->skipped)
		return change->new_ns == want_ns && change_is_early(change, step->halt) ?
		       SKIPPED : UNEXPLAINED;
	if (change->new_ns == want_ns && change->new_ns != change->old_ns) {
		vcpu->not_allowed = false;
		return AS_RULE;
	}
	if (!change->new_ns && change_is_early(change, step->halt)) {
		vcpu->not_allowed = true;
		return NOT_ALLOWED;
	}
	return explain_change(v, step->halt, change);
}

static enum verdict judge(const struct verify *v, struct verify_vcpu *vcpu,
			  const struct step *step)
{
	const struct change *change = &step->changes[1];
	enum verdict verdict;

	/* Whatever the interval: there is no event, as there must be none; but 0 is no poll. */
	if (step->halt->skipped && !step->nr_changes)
		return step->known && !step->before_ns ? UNEXPLAINED : SKIPPED;
	if (!step->known)
		return step->lost ? AFTER_LOSS : UNKNOWN;
	if (!step->nr_changes) {
		if (next(v, step->before_ns, step->halt) == step->before_ns)
			return AS_RULE;
		return explain_silence(v, vcpu, step->halt, step->before_ns);
	}
	/* One before the halt and one after it are two events of one halt. */
	if (step->nr_changes > 1)
		return UNEXPLAINED;

	verdict = judge_change(v, vcpu, step);
	if (verdict == UNEXPLAINED || change->old_ns == step->before_ns)
		return verdict;
	/* Only the cap before a halt is silent; and it never raises. */
	return change->old_ns < step->before_ns ? F5_NO_EVENT : UNEXPLAINED;
}

static void show(const struct verify *v, const struct vcpu *vcpu, const struct step *step)
{
	const struct halt *halt = step->halt;
	const struct change *last = &step->changes[1];
	unsigned int from_ns = step->nr_changes ? last->old_ns : step->before_ns;

	printf("unexplained: vCPU %d at %" PRIu64 " ns: interval %u, halt of %" PRIu64
	       " ns, %s%s%s: the rule says %u, ", vcpu->pid, (uint64_t)halt->time_ns, from_ns,
	       (uint64_t)halt->ns, halt->waited ? "blocked" : "polled",
	       halt->skipped ? ", poll skipped" : "", halt->valid ? "" : ", invalid wakeup",
	       next(v, from_ns, halt));
	if (!step->nr_changes)
		puts("there is no event");
	else if (step->nr_changes > 1)
		printf("there are %u events, the last from %u to %u (parameters changed while "
		       "recording?)\n", step->nr_changes, last->old_ns, last->new_ns);
	else if (last->old_ns != step->before_ns)
		printf("the event goes from %u to %u, but the interval was %u\n",
		       last->old_ns, last->new_ns, step->before_ns);
	else
		printf("the event goes from %u to %u\n", last->old_ns, last->new_ns);
}

/* What tells whether the kernel adapts after a poll that was cut short. */
static void count_polls(struct verify *v, const struct step *step, enum verdict verdict)
{
	const struct halt *halt = step->halt;
	unsigned int most_ns;

	if (!step_polls_for(step, &most_ns) || !most_ns)
		return;
	if (halt->ns <= most_ns) {
		v->within++;
		v->within_blocked += halt->waited;
	} else if (verdict == AS_RULE && step->nr_changes) {
		v->missed_adapted += halt->waited;
	}
}

static int verify_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct verify *v = ctx;
	enum verdict verdict;

	if (!v->params_known) {
		v->params_known = options_params(v->o, &v->trace, &v->params);
		if (!v->params_known)
			return fail("%s: does not tell the parameters: give --max, --grow, "
				    "--grow-start and --shrink", v->trace.name);
	}

	if (step->restarted) {
		v->restarts++;
		*(struct verify_vcpu *)follow_data(vcpu) = (struct verify_vcpu){};
	}
	verdict = judge(v, follow_data(vcpu), step);
	v->halts++;
	v->count[verdict]++;
	count_polls(v, step, verdict);
	if (verdict == UNEXPLAINED && v->count[UNEXPLAINED] <= SHOWN &&
	    !(v->o->given & OPTION_JSON))
		show(v, vcpu, step);
	return 0;
}

/*
 * F4 leaves no mark in the events of a single halt: that a poll was cut short is
 * seen only where the vCPU blocked although the interval was not over, and there
 * the rule has nothing to adapt.  But as polls are cut short without regard to
 * when the event comes, their share among those halts is their share, at least,
 * among the longer ones, where a kernel that leaves the interval alone shows as
 * many silent halts.
 */
static double expected_cut_short(const struct verify *v)
{
	if (!v->within)
		return 0;
	return (double)v->within_blocked / v->within * (v->missed_adapted + v->count[CUT_SHORT]);
}

/* At 10 expected and none seen, chance is out of the question: e^-10. */
static bool has_f4(const struct verify *v)
{
	return !v->count[CUT_SHORT] && expected_cut_short(v) >= 10;
}

static void print(const struct verify *v)
{
	enum verdict i;

	if (v->count[UNEXPLAINED] > SHOWN)
		printf("unexplained: %" PRIu64 " more\n", (uint64_t)v->count[UNEXPLAINED] - SHOWN);
	printf("%s: %s, %s%s\n", v->trace.name, v->trace.kind,
	       v->trace.release[0] ? "Linux " : "kernel unknown", v->trace.release);
	printf("rule: halt_poll_ns %u, grow %u, grow_start %u, shrink %u\n", v->params.max_ns,
	       v->params.grow, v->params.grow_start_ns, v->params.shrink);
	printf("%12" PRIu64 "  halts of %zu vCPU%s\n", (uint64_t)v->halts,
	       v->trace.nr_vcpus, v->trace.nr_vcpus == 1 ? "" : "s");
	for (i = 0; i < NR_VERDICTS; i++) {
		if (v->count[i] || i == AS_RULE || i == CUT_SHORT || i == UNEXPLAINED)
			printf("%12" PRIu64 "  %s\n", (uint64_t)v->count[i], verdicts[i].text);
	}
	if (v->restarts)
		printf("%12" PRIu64 "  times the interval started from 0: a new vCPU on the same "
		       "thread (or a reset without an event)\n", (uint64_t)v->restarts);
	printf("%12" PRIu64 "  events lost\n", (uint64_t)v->trace.lost);
	if (has_f4(v))
		printf("F4: polls that are cut short adapt the interval: %" PRIu64 " of %" PRIu64
		       " polls blocked before they\nhad to, so %.0f or more of the others "
		       "must have been cut short, too, and yet all of them adapted.\n",
		       (uint64_t)v->within_blocked, (uint64_t)v->within, expected_cut_short(v));
}

static int print_json(const struct verify *v)
{
	json_t *root = json_object();
	enum verdict i;

	json_add_trace(root, &v->trace);
	json_add(root, "rule", json_params(&v->params));
	json_add_u64(root, "halts", v->halts);
	for (i = 0; i < NR_VERDICTS; i++) {
		if (v->count[i] || i != SKIPPED)
			json_add_u64(root, verdicts[i].key, v->count[i]);
	}
	json_add_u64(root, "restarts", v->restarts);
	json_add_u64(root, "polls_within_interval", v->within);
	json_add_u64(root, "polls_within_interval_blocked", v->within_blocked);
	json_add(root, "f4_adapts_when_cut_short", json_boolean(has_f4(v)));
	return json_print(root);
}

int cmd_verify(int argc, char **argv)
{
	struct options o = {};
	struct verify v = { .o = &o };
	struct follow f = {
		.trace = &v.trace, .step = verify_step, .ctx = &v,
		.size = sizeof(struct verify_vcpu),
	};
	int status;

	if (!options_parse(&o, argc, argv, OPTION_PARAMS | OPTION_JSON,
			   "Does the kernel that was recorded do what its rule says? The parameters are\n"
			   "those of the recording unless given. Exits with 3 if it does something that no\n"
			   "known defect explains.", &status))
		return status;

	status = EXIT_ERROR;
	if (!follow_read(&f, o.file)) {
		status = v.count[UNEXPLAINED] ? EXIT_DIFFERENT : EXIT_OK;
		if (!(o.given & OPTION_JSON))
			print(&v);
		else if (print_json(&v))
			status = EXIT_ERROR;
	}
	follow_free(&f);
	trace_free(&v.trace);
	return status;
}
