// SPDX-License-Identifier: GPL-2.0-only
/*
 * What other parameters would have made of the halts that were recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "json.h"
#include "options.h"
#include "recorded.h"

/* What is kept of a vCPU. */
struct replay_vcpu {
	bool started;
	struct model_vcpu model;
	struct wake_vcpu wake;
};

struct replay {
	struct trace trace;
	const struct options *o;
	struct wake wake;
	struct wake_cost cost;
	bool params_known;	/* what was recorded and what the options say are all */
	struct kvm_halt_poll_params params;
	struct recorded recorded;
	struct account replayed;
	u64 skipped;		/* polls, in the replay */
};

static int measure_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct replay *r = ctx;
	struct replay_vcpu *v = follow_data(vcpu);

	wake_add(&r->wake, &v->wake, step);
	return 0;
}

/* What neither the trace nor an option tells is the default. */
static void decide_params(struct replay *r)
{
	struct trace trace = r->trace;

	r->params_known = options_params(r->o, &trace, &r->params);
	if (r->params_known)
		return;
	trace.params = (struct trace_params){
		true, default_params.max_ns, default_params.grow,
		default_params.grow_start_ns, default_params.shrink
	};
	options_params(r->o, &trace, &r->params);
}

static int replay_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct replay_vcpu *v = follow_data(vcpu);
	const struct halt *halt = step->halt;
	struct replay *r = ctx;
	struct event event;
	u64 start_ns = halt_start_ns(halt);

	if (!r->recorded.a.halts)
		decide_params(r);
	if (!v->started) {
		v->started = true;
		v->model = model_vcpu_at(start_ns,
					 kvm_halt_poll_cap(step->known ? step->interval_ns : 0,
							   &r->params), &r->params);
	}
	recorded_add(&r->recorded, step);
	event = event_of(step, r->cost.ns);
	r->skipped += !model_halt_budget(&r->replayed, &v->model, start_ns, &event, &r->params);
	return 0;
}

static bool is_regular(const char *name)
{
	struct stat st;

	return strcmp(name, "-") && !stat(name, &st) && S_ISREG(st.st_mode);
}

/*
 * What blocking costs must be known before the first halt is replayed.  A file
 * is read twice for that; a pipe cannot be and is loaded.
 */
static int run(struct replay *r)
{
	const bool measure = !(r->o->given & OPTION_WAKE_COST);
	const bool loaded = measure && !is_regular(r->o->file);
	struct follow f = {
		.trace = &r->trace, .step = measure_step, .ctx = r,
		.size = sizeof(struct replay_vcpu),
	};
	int ret = 0;

	if (loaded)
		ret = trace_load(&r->trace, r->o->file);
	if (!ret && measure) {
		ret = loaded ? follow_loaded(&f) : follow_read(&f, r->o->file);
		r->cost = wake_estimate(&r->wake);
		follow_free(&f);
		if (!loaded)
			trace_free(&r->trace);
	}
	if (!ret) {
		f.step = replay_step;
		ret = loaded ? follow_loaded(&f) : follow_read(&f, r->o->file);
	}
	follow_free(&f);
	return ret;
}

static void print_param(const char *name, bool known, unsigned int recorded,
			unsigned int replayed)
{
	char text[16] = "unknown";

	if (known)
		snprintf(text, sizeof(text), "%u", recorded);
	printf("%-24s %16s %16u\n", name, text, replayed);
}

static void print_ns(const char *name, u64 recorded_ns, u64 replayed_ns)
{
	printf("%-24s %16s %16s\n", name, text_ns(recorded_ns).s, text_ns(replayed_ns).s);
}

static void print_count(const char *name, u64 recorded, u64 replayed)
{
	printf("%-24s %16" PRIu64 " %16" PRIu64 "\n", name, (uint64_t)recorded,
	       (uint64_t)replayed);
}

static void print_percent(const char *name, double recorded, double replayed)
{
	printf("%-24s %14.2f %% %14.2f %%\n", name, recorded, replayed);
}

static void print(const struct replay *r)
{
	const struct account *a = &r->recorded.a, *b = &r->replayed;
	const struct trace_params *t = &r->trace.params;
	u64 time_ns = recorded_time_ns(&r->recorded);
	bool budget = r->o->given & OPTION_BUDGET;

	print_trace(&r->trace, &r->recorded);
	wake_print(&r->cost);
	print_model(&r->recorded, budget);
	if (!r->params_known)
		puts("what neither the trace nor an option tells is Linux' default on x86");
	printf("\n%-24s %16s %16s\n", "", "recorded", "replayed");
	print_param("halt_poll_ns", t->known, t->max_ns, r->params.max_ns);
	print_param("halt_poll_ns_grow", t->known, t->grow, r->params.grow);
	print_param("halt_poll_ns_grow_start", t->known, t->grow_start_ns, r->params.grow_start_ns);
	print_param("halt_poll_ns_shrink", t->known, t->shrink, r->params.shrink);
	if (budget)
		print_param("halt_poll_budget", false, 0, r->params.budget);
	print_count("halts", a->halts, b->halts);
	print_count("without blocking", a->hits, b->hits);
	print_percent("  of all halts", percent_of(a->hits, a->halts),
		      percent_of(b->hits, b->halts));
	if (budget)
		print_count("polls skipped", r->recorded.skipped, r->skipped);
	print_ns("CPU burned polling", account_polled_ns(a), account_polled_ns(b));
	print_percent("  of one CPU", percent_of(account_polled_ns(a), time_ns),
		      percent_of(account_polled_ns(b), time_ns));
	print_ns("  of it in vain", a->vain_ns, b->vain_ns);
	print_ns("latency added", account_latency_ns(a, r->cost.ns),
		 account_latency_ns(b, r->cost.ns));
	print_ns("  a halt", account_latency_ns(a, r->cost.ns) / a->halts,
		 account_latency_ns(b, r->cost.ns) / b->halts);
}

static int print_json(const struct replay *r)
{
	json_t *root = json_object(), *recorded = json_object(), *replayed = json_object();
	const struct trace_params *t = &r->trace.params;
	const struct kvm_halt_poll_params params = {
		t->max_ns, t->grow, t->grow_start_ns, t->shrink
	};

	json_add_trace(root, &r->trace);
	json_add_u64(root, "time_ns", recorded_time_ns(&r->recorded));
	json_add_wake(root, &r->cost);
	json_add(recorded, "params", t->known ? json_params(&params) : json_null());
	json_add_recorded(recorded, &r->recorded, r->cost.ns);
	json_add(root, "recorded", recorded);
	json_add(replayed, "params", json_params(&r->params));
	json_add_account(replayed, &r->replayed, r->cost.ns);
	if (r->o->given & OPTION_BUDGET) {
		json_add(replayed, "halt_poll_budget_ratio", json_real(r->params.budget / 100.0));
		json_add_u64(replayed, "polls_skipped", r->skipped);
	}
	json_add(root, "replayed", replayed);
	return json_print(root);
}

int cmd_replay(int argc, char **argv)
{
	struct options o = {};
	struct replay r = { .o = &o };
	int status;

	if (!options_parse(&o, argc, argv, OPTION_PARAMS | OPTION_BUDGET | OPTION_WAKE_COST |
			   OPTION_JSON,
			   "What other parameters would have made of the same halts, beside what was\n"
			   "recorded. A parameter that is not given is as it was recorded, but for the budget:\n"
			   "no trace tells it.",
			   &status))
		return status;

	r.cost = (struct wake_cost){ .ns = o.wake_ns, .source = WAKE_GIVEN };
	status = EXIT_ERROR;
	if (!wake_init(&r.wake) && !run(&r)) {
		status = EXIT_OK;
		if (!(o.given & OPTION_JSON))
			print(&r);
		else if (print_json(&r))
			status = EXIT_ERROR;
	}
	wake_free(&r.wake);
	trace_free(&r.trace);
	return status;
}
