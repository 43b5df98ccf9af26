// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model and what it rests on, with values worked out by hand.  Speaks TAP.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "frame.h"
#include "model.h"
#include "oracle.h"
#include "recorded.h"
#include "screen.h"
#include "timeline.h"
#include "wake.h"

static unsigned int tests, failed;

static void expect(const char *what, unsigned long long got, unsigned long long want)
{
	tests++;
	failed += got != want;
	printf("%s %u - %s\n", got == want ? "ok" : "not ok", tests, what);
	if (got != want)
		printf("# is %llu, not %llu\n", got, want);
}

/* Line by line, so that it is seen which one is wrong. */
static void expect_text(const char *what, const char *got, const char *want)
{
	tests++;
	failed += !!strcmp(got, want);
	printf("%s %u - %s\n", strcmp(got, want) ? "not ok" : "ok", tests, what);
	if (!strcmp(got, want))
		return;
	for (; *got; got += strcspn(got, "\n"), got += *got == '\n')
		printf("# is  %.*s\n", (int)strcspn(got, "\n"), got);
	for (; *want; want += strcspn(want, "\n"), want += *want == '\n')
		printf("# not %.*s\n", (int)strcspn(want, "\n"), want);
}

static const struct {
	const char *name;
	u64 ns;
	bool waited, known;
	unsigned int interval_ns, wake_ns;
	u64 event_ns, blocked_ns;
	bool skipped;
} event_cases[] = {
	/* that did not block */
	{ "poll that hit", 30000, false, true, 40000, 2500, 30000, 32500 },
	{ "poll that hit, interval unknown", 30000, false, false, 0, 2500, 30000, 32500 },
	{ "event at the very end of the poll", 40000, false, true, 40000, 2500, 40000, 42500 },
	{ "event before the wait", 700, false, true, 0, 2500, 700, 700 },
	{ "poll that just missed", 40700, false, true, 40000, 2500, 40700, 40700 },
	{ "longest halt", HALT_NS_MAX, false, false, 0, 2500, HALT_NS_MAX, HALT_NS_MAX },
	/* that blocked */
	{ "no poll", 60000, true, true, 0, 2500, 57500, 60000 },
	{ "poll that failed long before", 60000, true, true, 40000, 2500, 57500, 60000 },
	{ "poll that failed just before", 60000, true, true, 58000, 2500, 58001, 60000 },
	{ "poll that was cut short", 50000, true, true, 80000, 2500, 47500, 50000 },
	{ "interval unknown", 60000, true, false, 0, 2500, 57500, 60000 },
	{ "shorter than blocking takes", 2000, true, false, 0, 2500, 0, 2000 },
	/* whose poll was skipped */
	{ "skipped, and over after the interval", 60000, true, true, 58000, 2500, 57500, 60000, true },
	{ "skipped, and over within the interval", 30000, true, true, 40000, 2500, 27500, 30000, true },
	{ "skipped, shorter than blocking takes", 2000, true, false, 0, 2500, 1, 2000, true },
	{ "skipped, event before the wait", 700, false, true, 40000, 2500, 700, 700, true },
};

static void test_events(void)
{
	size_t i;

	for (i = 0; i < sizeof(event_cases) / sizeof(*event_cases); i++) {
		const struct halt halt = {
			.ns = event_cases[i].ns, .waited = event_cases[i].waited, .valid = 1,
			.skipped = event_cases[i].skipped,
		};
		const struct step step = {
			.halt = &halt, .known = event_cases[i].known,
			.interval_ns = event_cases[i].interval_ns,
		};
		const struct event event = event_of(&step, event_cases[i].wake_ns);
		char what[100];

		snprintf(what, sizeof(what), "%s: event, blocked", event_cases[i].name);
		expect(what, event.event_ns == event_cases[i].event_ns &&
			     event.blocked_ns == event_cases[i].blocked_ns && event.valid, true);
	}
}

/* Many equal events with blocking at 2500 ns. */
static const struct {
	const char *name;
	struct kvm_halt_poll_params p;
	unsigned int interval_ns;
	u64 event_ns;
	bool invalid;
	size_t nr;
	/* at the end */
	unsigned int last_ns;
	u64 hits, hit_ns, vain_ns;
} model_cases[] = {
	/* 0, 10, 20 and 40 us miss, 80 us hits */
	{ "grows until it hits", { 200000, 2, 10000, 2 }, 0, 60000, false, 10,
	  80000, 6, 360000, 70000 },
	/* 160, 80, 40, 20, 10 us miss, then 0 */
	{ "shrinks to nothing", { 200000, 2, 10000, 2 }, 160000, 1000000, false, 10,
	  0, 0, 0, 310000 },
	{ "shrink 0: to nothing at once", { 200000, 2, 10000, 0 }, 160000, 1000000, false, 10,
	  0, 0, 0, 160000 },
	/* the halt that blocks takes 201 us, which is above the maximum */
	{ "blocking carries it over the maximum", { 200000, 2, 10000, 2 }, 0, 198500, false, 10,
	  0, 0, 0, 0 },
	/* and here 200 us, which is not */
	{ "up to the maximum", { 200000, 2, 10000, 2 }, 0, 197500, false, 10,
	  200000, 4, 790000, 310000 },
	{ "polling off", { 0, 2, 10000, 2 }, 0, 60000, false, 10, 0, 0, 0, 0 },
	{ "invalid wakeups shrink", { 200000, 2, 10000, 2 }, 40000, 30000, true, 3,
	  0, 1, 30000, 30000 },
	{ "fixed window", { 65000, 2, 65000, 2 }, 0, 60000, false, 10, 65000, 9, 540000, 0 },
};

/* In all lanes but the first something else goes on. */
static void test_model(void)
{
	size_t i, j;

	for (i = 0; i < sizeof(model_cases) / sizeof(*model_cases); i++) {
		struct model_lanes lanes = {};
		struct event events[10];
		char what[100];

		for (j = 0; j < model_cases[i].nr; j++)
			events[j] = (struct event){
				model_cases[i].event_ns, model_cases[i].event_ns + 2500,
				!model_cases[i].invalid
			};
		lanes.p[0] = model_cases[i].p;
		lanes.interval_ns[0] = model_cases[i].interval_ns;
		for (j = 1; j < MODEL_LANES; j++)
			lanes.p[j] = (struct kvm_halt_poll_params){ 1000 * j, j, 100 * j, j };
		model_halts(&lanes, events, model_cases[i].nr);

		snprintf(what, sizeof(what), "%s: last interval", model_cases[i].name);
		expect(what, lanes.interval_ns[0], model_cases[i].last_ns);
		snprintf(what, sizeof(what), "%s: hits", model_cases[i].name);
		expect(what, lanes.a[0].hits, model_cases[i].hits);
		snprintf(what, sizeof(what), "%s: polled in hits", model_cases[i].name);
		expect(what, lanes.a[0].hit_ns, model_cases[i].hit_ns);
		snprintf(what, sizeof(what), "%s: polled in vain", model_cases[i].name);
		expect(what, lanes.a[0].vain_ns, model_cases[i].vain_ns);
		snprintf(what, sizeof(what), "%s: latency", model_cases[i].name);
		expect(what, account_latency_ns(&lanes.a[0], 2500),
		       2500 * (model_cases[i].nr - model_cases[i].hits));
	}
}

/*
 * Ten halts, one in 100 us, with events at 60 us.  A poll of 65 us takes 6500 thousand
 * of credit, which is as much as there can be, and costs 6000; 20 % of 100 us are 2000.
 * So the first is paid for, and then every third.
 */
static const struct {
	const char *name;
	unsigned int budget, interval_ns;
	u64 hits, skipped, vain_ns;
} budget_cases[] = {
	{ "budget 20", 20, 65000, 4, 6, 0 },
	{ "budget 60: earned as fast as spent", 60, 65000, 10, 0, 0 },
	{ "budget 0", 0, 65000, 0, 10, 0 },
	{ "budget 100", 100, 65000, 10, 0, 0 },
	{ "budget 0: no poll, nothing to skip", 0, 0, 0, 9, 0 },
};

/* Whenever the first halt is; the clock wraps in the last. */
static const u64 budget_starts_ns[] = { 0, 1000000000, 1ULL << 60, ~0ULL - 300000 };

static void test_budget_from(u64 start_ns, size_t i)
{
	const struct event event = { 60000, 62500, 1 };
	const struct kvm_halt_poll_params p = { 65000, 2, 65000, 2, budget_cases[i].budget };
	struct model_vcpu v = model_vcpu_at(start_ns, budget_cases[i].interval_ns, &p);
	struct account a = {};
	u64 skipped = 0;
	char what[100];
	size_t j;

	for (j = 0; j < 10; j++)
		skipped += !model_halt_budget(&a, &v, start_ns + j * 100000, &event, &p);
	snprintf(what, sizeof(what), "%s, from %llu: hits, skipped", budget_cases[i].name,
		 (unsigned long long)start_ns);
	expect(what, a.halts == 10 && a.hits == budget_cases[i].hits &&
		     skipped == budget_cases[i].skipped, true);
	expect("  polled", a.hit_ns == 60000 * a.hits && a.vain_ns == budget_cases[i].vain_ns, true);
	expect("  the interval stays", v.interval_ns, 65000);
}

static void test_budget(void)
{
	size_t i, j;

	for (i = 0; i < sizeof(budget_cases) / sizeof(*budget_cases); i++)
		for (j = 0; j < sizeof(budget_starts_ns) / sizeof(*budget_starts_ns); j++)
			test_budget_from(budget_starts_ns[j], i);
}

static void test_sums(void)
{
	struct account a = { .halts = 3, .hits = 1, .hit_ns = ~0ULL, .vain_ns = 5 };
	struct account sum = { .halts = 1ULL << 40 };

	expect("sums stay at the top", account_polled_ns(&a), ~0ULL);
	account_add(&a, &a);
	expect("sums of sums, too", a.hit_ns, ~0ULL);
	expect("and others add up", a.vain_ns, 10);
	expect("products stay at the top", account_latency_ns(&sum, 4294967295U), ~0ULL);
}

static void feed_halt(struct wake *wake, struct wake_vcpu *v, unsigned int interval_ns,
		      const struct halt *halt)
{
	const struct step step = { .halt = halt, .known = true, .interval_ns = interval_ns };

	wake_add(wake, v, &step);
}

static void feed(struct wake *wake, struct wake_vcpu *v, unsigned int interval_ns, u64 ns,
		 bool waited)
{
	const struct halt halt = { .ns = ns, .waited = waited, .valid = 1 };

	feed_halt(wake, v, interval_ns, &halt);
}

/* Grows from 0 up to events at 60 us. */
static void feed_growth(struct wake *wake, struct wake_vcpu *v, u64 cost_ns)
{
	unsigned int ns[] = { 0, 10000, 20000, 40000 }, i;

	for (i = 0; i < 4; i++)
		feed(wake, v, ns[i], 60000 + cost_ns, true);
	feed(wake, v, 80000, 60000, false);
}

static void test_wake(void)
{
	struct wake_vcpu v = {};
	struct wake_cost cost;
	struct wake wake;
	int i;

	if (wake_init(&wake))
		return;
	cost = wake_estimate(&wake);
	expect("no pairs: assumed", cost.source, WAKE_ASSUMED);
	expect("no pairs: what is assumed", cost.ns, WAKE_ASSUMED_NS);

	feed_growth(&wake, &v, 2500);
	cost = wake_estimate(&wake);
	expect("one growth: 4 pairs", cost.pairs, 4);
	expect("one growth: assumed", cost.source, WAKE_ASSUMED);

	/* Blocked halts with the interval of the hit before are no pairs. */
	for (i = 0; i < 20; i++)
		feed(&wake, &v, 80000, 1000000, true);
	expect("events that no poll would catch make no pair", wake_estimate(&wake).pairs, 4);

	feed_growth(&wake, &v, 2500);
	cost = wake_estimate(&wake);
	expect("two growths: measured", cost.source, WAKE_MEASURED);
	expect("two growths: pairs", cost.pairs, 8);
	expect("two growths: cost", cost.ns, 2500);
	expect("two growths: all agree", cost.error_ns, 0);

	/*
	 * Then 100 times events at 30 us with an interval of 160 us, and one at
	 * 250 us with an interval of 20 us: a difference that is no cost.
	 */
	for (i = 0; i < 100; i++) {
		feed(&wake, &v, 160000, 30000, false);
		feed(&wake, &v, 20000, 252500, true);
	}
	expect("phases of the load are no cost", wake_estimate(&wake).ns, 2500);

	/* As good as half of the pairs differ by 2.5 us, the others by 122.5 us. */
	for (i = 0; i < 100; i++) {
		feed(&wake, &v, 160000, 30000, false);
		feed(&wake, &v, 20000, 32500 + i % 2 * 120000, true);
	}
	expect("what differs too much is not used", wake_estimate(&wake).source, WAKE_ASSUMED);
	wake_free(&wake);
}

/* Events at 60 us, of which every other is not polled for. */
static void test_wake_skipped(void)
{
	const struct halt skipped = { .ns = 62500, .waited = 1, .valid = 1, .skipped = 1 };
	struct wake_vcpu v = {};
	struct wake wake;
	int i;

	if (wake_init(&wake))
		return;
	for (i = 0; i < 8; i++) {
		feed(&wake, &v, 80000, 60000, false);
		feed_halt(&wake, &v, 80000, &skipped);
	}
	/* Each with the hit before it, and all but the last with the one behind. */
	expect("skipped polls: pairs", wake_estimate(&wake).pairs, 15);
	expect("skipped polls: cost", wake_estimate(&wake).ns, 2500);
	wake_free(&wake);
}

static void test_wake_room(void)
{
	struct wake_vcpu v = {};
	struct wake wake;
	int i;

	if (wake_init(&wake))
		return;
	for (i = 0; i < 3 * WAKE_PAIRS; i++)
		feed_growth(&wake, &v, 2500);
	expect("pairs without end: no more are kept", wake.nr <= WAKE_PAIRS, true);
	expect("pairs without end: nor much fewer", wake.nr >= WAKE_PAIRS / 2, true);
	expect("pairs without end: cost", wake_estimate(&wake).ns, 2500);
	wake_free(&wake);
}

static void test_oracle(void)
{
	static struct oracle o;
	struct account a;
	unsigned int i;

	for (i = 0; i < 2; i++)
		oracle_add(&o, 10000);
	oracle_add(&o, 50000);
	oracle_add(&o, 1000000);

	a = oracle_ask(&o, 100000, INFINITY);
	expect("oracle: halts", a.halts, 4);
	expect("oracle: what is worth it", a.hits, 3);
	expect("oracle: polls just as long", a.hit_ns, 70000);
	expect("oracle: never in vain", a.vain_ns, 0);
	a = oracle_ask(&o, INFINITY, INFINITY);
	expect("oracle: all, if CPU is worth nothing", a.hit_ns, 1070000);
	a = oracle_ask(&o, 100000, 15000);
	expect("oracle: the shortest first, as far as the budget goes", a.hits, 1);
	expect("oracle: not above it", a.hit_ns, 10000);
	a = oracle_ask(&o, 100000, 0);
	expect("oracle: nothing for nothing", a.hits, 0);
	a = oracle_ask(&o, 5000, INFINITY);
	expect("oracle: nothing worth it", a.hits, 0);

	/* 50000 and 50200 share a bucket, between which the worth ends. */
	oracle_add(&o, 50200);
	a = oracle_ask(&o, 50100, INFINITY);
	expect("oracle: not beaten where its bucket is half worth it", a.hits >= 3, true);
	expect("oracle: nor in CPU", a.hit_ns <= 20000 + a.hits * 50000 - 100000, true);
	a = oracle_ask(&o, 100000, 70000);
	expect("oracle: not beaten where its bucket is half affordable", a.hits, 3);
	expect("oracle: at the price of the shortest", a.hit_ns, 70000);

	expect("bucket of 0", oracle_bucket(0), 0);
	expect("buckets are exact up to 127", oracle_bucket(127), 127);
	expect("and go on from there", oracle_bucket(128), 128);
	expect("two share one from there on", oracle_bucket(129), 128);
	expect("the longest halt has one", oracle_bucket(HALT_NS_MAX) < ORACLE_BUCKETS, true);
	expect("the longest number, too", oracle_bucket(~0ULL), ORACLE_BUCKETS - 1);
}

static void test_timeline(void)
{
	struct timeline t;

	timeline_init(&t, 1000000);
	expect("timeline: empty", timeline_used(&t), 0);
	timeline_add(&t, 1000000, 10);
	timeline_add(&t, 999999, 30);
	expect("timeline: what is early is in the first column", t.columns[0].sum, 40);
	timeline_add(&t, 1000000 + 1024 * 59, 50);
	expect("timeline: the last column", t.columns[59].sum, 50);
	expect("timeline: as wide as at first", t.width_ns, 1024);
	timeline_add(&t, 1000000 + 1024 * 60, 70);
	expect("timeline: twice as wide", t.width_ns, 2048);
	expect("timeline: the first as it was", t.columns[0].nr, 2);
	expect("timeline: the last in the middle", t.columns[29].sum, 50);
	expect("timeline: the new one behind it", t.columns[30].sum, 70);
	expect("timeline: no more", timeline_used(&t), 31);
	timeline_add(&t, ~0ULL, 1);
	expect("timeline: the end of time", timeline_used(&t) <= TIMELINE_COLUMNS, true);
}

static const struct {
	const char *name;
	u64 ns;
	bool waited, known;
	unsigned int interval_ns;
	u64 hits, hit_ns, vain_ns, unknown, polls, poll_hits;
	bool skipped;
} recorded_cases[] = {
	{ "hit", 30000, false, true, 40000, 1, 30000, 0, 0, 1, 1 },
	{ "hit, interval unknown", 30000, false, false, 0, 1, 30000, 0, 0, 1, 1 },
	{ "miss", 60000, true, true, 40000, 0, 0, 40000, 0, 1, 0 },
	{ "no poll", 60000, true, true, 0, 0, 0, 0, 0, 0, 0 },
	{ "miss, interval unknown", 60000, true, false, 0, 0, 0, 0, 1, 0, 0 },
	{ "cut short", 30000, true, true, 40000, 0, 0, 30000, 0, 1, 0 },
	{ "event before the wait", 40700, false, true, 40000, 1, 0, 40000, 0, 1, 0 },
	{ "skipped", 60000, true, true, 40000, 0, 0, 0, 0, 0, 0, true },
	{ "skipped, short", 30000, true, true, 40000, 0, 0, 0, 0, 0, 0, true },
	{ "skipped, interval unknown", 60000, true, false, 0, 0, 0, 0, 0, 0, 0, true },
	{ "skipped, event before the wait", 700, false, true, 40000, 1, 0, 0, 0, 0, 0, true },
};

static void test_recorded(void)
{
	struct recorded all = {};
	size_t i;

	for (i = 0; i < sizeof(recorded_cases) / sizeof(*recorded_cases); i++) {
		const struct halt halt = {
			.time_ns = 100000 * (i + 1), .ns = recorded_cases[i].ns,
			.waited = recorded_cases[i].waited, .valid = 1,
			.skipped = recorded_cases[i].skipped,
		};
		const struct step step = {
			.halt = &halt, .known = recorded_cases[i].known,
			.interval_ns = recorded_cases[i].interval_ns,
		};
		struct recorded r = {};
		char what[100];

		recorded_add(&r, &step);
		recorded_merge(&all, &r);
		snprintf(what, sizeof(what), "recorded %s", recorded_cases[i].name);
		expect(what, r.a.halts == 1 && r.a.hits == recorded_cases[i].hits &&
			     r.a.hit_ns == recorded_cases[i].hit_ns &&
			     r.a.vain_ns == recorded_cases[i].vain_ns &&
			     r.unknown == recorded_cases[i].unknown &&
			     r.polls == recorded_cases[i].polls &&
			     r.poll_hits == recorded_cases[i].poll_hits, true);
	}
	/* From 70000 to 1100000. */
	expect("recorded: time", recorded_time_ns(&all), 1030000);
	expect("recorded: cut short", all.cut_short, 1);
	expect("recorded: skipped", all.skipped, 4);
	expect("recorded: polled", account_polled_ns(&all.a), 170000);
	expect("recorded: polls", all.polls, 5);
	expect("recorded: polls that hit", all.poll_hits, 2);
}

static void test_text(void)
{
	static const struct {
		u64 ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" }, { 9999, "9999 ns" }, { 10000, "10.0 us" },
		{ 9999949, "9999.9 us" }, { 10000000, "10.0 ms" }, { 10000000000, "10.0 s" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(cases[i].text, strcmp(text_ns(cases[i].ns).s, cases[i].text), 0);
}

/* Two VMs, of which one has two vCPUs, for as long as a test. */
static struct vcpu watched[] = {
	{ .pid = 502, .vm = 500, .id = 1, .comm = "CPU 1/KVM" },
	{ .pid = 501, .vm = 500, .id = 0, .comm = "CPU 0/KVM" },
	{ .pid = 601, .vm = 600, .id = -1, .comm = "\033[J" },
};
static struct vcpu *watched_vcpus[] = { &watched[0], &watched[1], &watched[2] };
static struct trace watched_trace;

static int watch(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	(void)ctx;
	load_add(follow_data(vcpu), step, &watched_trace.params);
	return 0;
}

static struct follow watcher = {
	.trace = &watched_trace, .step = watch, .size = sizeof(struct load),
};

static void watch_anew(unsigned int shrink)
{
	watched_trace = (struct trace){
		.params = { true, 200000, 2, 10000, shrink },
		.vcpus = watched_vcpus, .nr_vcpus = 3,
	};
}

static struct vcpu *watched_by_pid(int pid)
{
	size_t i = 0;

	while (watched[i].pid != pid)
		i++;
	return &watched[i];
}

static void halts_as(int pid, unsigned int nr, const struct halt *halt)
{
	const struct trace_sink sink = follow_sink(&watcher);

	while (nr--)
		sink.halt(sink.ctx, watched_by_pid(pid), halt);
}

static void halts(int pid, unsigned int nr, u64 ns, bool waited)
{
	const struct halt halt = { .time_ns = 1000000, .ns = ns, .waited = waited, .valid = 1 };

	halts_as(pid, nr, &halt);
}

/* Halts that block, as their polls are skipped. */
static void skips(int pid, unsigned int nr, u64 ns)
{
	const struct halt halt = {
		.time_ns = 1000000, .ns = ns, .waited = 1, .valid = 1, .skipped = 1,
	};

	halts_as(pid, nr, &halt);
}

/* A halt that blocks and changes the interval. */
static void adapts(int pid, unsigned int old_ns, unsigned int new_ns, u64 ns)
{
	const struct trace_sink sink = follow_sink(&watcher);
	const struct change change = { .time_ns = 999900, .old_ns = old_ns, .new_ns = new_ns };

	sink.change(sink.ctx, watched_by_pid(pid), &change);
	halts(pid, 1, ns, true);
}

/* What is shown of 1 ms, after the two lines of the head; then all starts anew. */
static void expect_frame(const char *what, enum frame_key key, const char *want)
{
	char got[2000] = "";
	struct frame f;
	FILE *file;
	size_t i;

	follow_flush(&watcher);
	if (frame_init(&f, watched_trace.nr_vcpus))
		return;
	f.key = key;
	f.period_ns = 1000000;
	for (i = 0; i < watched_trace.nr_vcpus; i++) {
		struct vcpu *vcpu = watched_trace.vcpus[i];

		/* Those without an event are not known of. */
		if (vcpu->priv)
			frame_add(&f, vcpu, follow_data(vcpu), vcpu->vm == 500 ? "qemu" : "");
	}
	frame_arrange(&f);
	file = fmemopen(got, sizeof(got), "w");
	frame_print(&f, file);
	fclose(file);
	frame_free(&f);
	for (i = 0; i < watched_trace.nr_vcpus; i++) {
		if (watched_trace.vcpus[i]->priv)
			memset(follow_data(watched_trace.vcpus[i]), 0, sizeof(struct recorded));
	}
	expect_text(what, strchr(strchr(got, '\n') + 1, '\n') + 1, want);
}

static void test_frames(void)
{
	watch_anew(2);
	/* Polls for 0, 10, 20 and 40 us in vain, then twice for 60 us of 80. */
	adapts(501, 0, 10000, 60000);
	adapts(501, 10000, 20000, 60000);
	adapts(501, 20000, 40000, 60000);
	adapts(501, 40000, 80000, 60000);
	halts(501, 2, 60000, false);
	/* Three tell nothing, the fourth that none of them polled. */
	halts(502, 5, 300000, true);
	halts(601, 1, 30000, false);
	expect_frame("frame: what was burned comes first", FRAME_BURNED,
		"    500  all       -   11000.0      18.2         -   >19.00    >7.00           - qemu\n"
		"    500    0     501    6000.0      33.3      40.0    19.00     7.00        80.0 CPU 0/KVM\n"
		"    500    1     502    5000.0       0.0         -    >0.00    >0.00         0.0 CPU 1/KVM\n"
		"    600  all       -    1000.0     100.0     100.0     3.00     0.00           - -\n"
		"    600    -     601    1000.0     100.0     100.0     3.00     0.00           - ?[J\n\n");

	adapts(501, 80000, 40000, 300000);
	halts(502, 2, 300000, true);
	expect_frame("frame: each for itself, and halts first", FRAME_HALTS,
		"    500  all       -    3000.0       0.0       0.0     8.00     8.00           - qemu\n"
		"    500    1     502    2000.0       0.0         -     0.00     0.00         0.0 CPU 1/KVM\n"
		"    500    0     501    1000.0       0.0       0.0     8.00     8.00        40.0 CPU 0/KVM\n"
		"    600  all       -       0.0         -         -     0.00     0.00           - -\n"
		"    600    -     601       0.0         -         -     0.00     0.00           - ?[J\n\n");

	/* What the interval was is no longer known where events were lost. */
	watched_trace.lost = 1;
	halts(501, 1, 50000, true);
	adapts(502, 0, 10000, 100000);
	halts(601, 1, 30000, false);
	expect_frame("frame: lost events, and hits first", FRAME_HITS,
		"    600  all       -    1000.0     100.0     100.0     3.00     0.00           - -\n"
		"    600    -     601    1000.0     100.0     100.0     3.00     0.00           - ?[J\n"
		"    500  all       -    2000.0       0.0         -    >0.00    >0.00           - qemu\n"
		"    500    0     501    1000.0       0.0         -    >0.00    >0.00           - CPU 0/KVM\n"
		"    500    1     502    1000.0       0.0         -     0.00     0.00        10.0 CPU 1/KVM\n\n");

	/* It is 10 us of 502, and comes to be known of 501 and 601. */
	halts(502, 1, 5000, false);
	adapts(501, 40000, 20000, 300000);
	adapts(601, 100000, 200000, 150000);
	expect_frame("frame: the longest interval first", FRAME_INTERVAL,
		"    600  all       -    1000.0       0.0       0.0    10.00    10.00           - -\n"
		"    600    -     601    1000.0       0.0       0.0    10.00    10.00       200.0 ?[J\n"
		"    500  all       -    2000.0      50.0      50.0     4.50     4.00           - qemu\n"
		"    500    0     501    1000.0       0.0       0.0     4.00     4.00        20.0 CPU 0/KVM\n"
		"    500    1     502    1000.0     100.0     100.0     0.50     0.00        10.0 CPU 1/KVM\n\n");

	/* The hits of 502 burn more, the miss of 501 wastes more. */
	halts(502, 9, 9000, false);
	adapts(501, 20000, 0, 300000);
	follow_forget(watched_by_pid(601));
	expect_frame("frame: what was wasted first, and one that is gone", FRAME_WASTED,
		"    500  all       -   10000.0      90.0      90.0    10.10     2.00           - qemu\n"
		"    500    0     501    1000.0       0.0       0.0     2.00     2.00         0.0 CPU 0/KVM\n"
		"    500    1     502    9000.0     100.0     100.0     8.10     0.00        10.0 CPU 1/KVM\n\n");
	follow_free(&watcher);

	/* Without shrinking, long halts do not tell whether there was a poll. */
	watch_anew(1);
	halts(502, 5, 300000, true);
	expect_frame("frame: a divisor of 1", FRAME_BURNED,
		"    500  all       -    5000.0       0.0         -    >0.00    >0.00           - qemu\n"
		"    500    1     502    5000.0       0.0         -    >0.00    >0.00           - CPU 1/KVM\n\n");
	follow_free(&watcher);

	/* A poll that hits shows that there is one, and three misses in a row no more. */
	watch_anew(2);
	adapts(502, 100000, 200000, 150000);
	halts(502, 3, 300000, true);
	halts(502, 1, 100000, false);
	halts(502, 3, 300000, true);
	expect_frame("frame: polls that are cut short now and then", FRAME_BURNED,
		"    500  all       -    8000.0      12.5      12.5   140.00   130.00           - qemu\n"
		"    500    1     502    8000.0      12.5      12.5   140.00   130.00       200.0 CPU 1/KVM\n\n");
	follow_free(&watcher);
}

/* Skipped, nothing is burned, and nothing says that the interval is 0. */
static void test_frames_skipped(void)
{
	watch_anew(2);
	skips(502, 5, 300000);
	expect_frame("frame: skipped polls while the interval is not known", FRAME_BURNED,
		"    500  all       -    5000.0       0.0         -     0.00     0.00           - qemu\n"
		"    500    1     502    5000.0       0.0         -     0.00     0.00           - CPU 1/KVM\n\n");

	/* Polls for 100 us in vain, then for 100 us of 200. */
	adapts(502, 100000, 200000, 150000);
	skips(502, 5, 300000);
	halts(502, 1, 100000, false);
	expect_frame("frame: skipped polls in between", FRAME_BURNED,
		"    500  all       -    7000.0      14.3      50.0    20.00    10.00           - qemu\n"
		"    500    1     502    7000.0      14.3      50.0    20.00    10.00       200.0 CPU 1/KVM\n\n");
	follow_free(&watcher);

	/* An interval that was taken to be 0 was not. */
	watch_anew(2);
	halts(502, 4, 300000, true);
	skips(502, 1, 300000);
	expect_frame("frame: a skipped poll after long halts", FRAME_BURNED,
		"    500  all       -    5000.0       0.0         -    >0.00    >0.00           - qemu\n"
		"    500    1     502    5000.0       0.0         -    >0.00    >0.00           - CPU 1/KVM\n\n");
	follow_free(&watcher);
}

#define COLUMNS \
	"     vm vcpu  thread   halts/s hit/halt% hit/poll%  burned%  wasted% interval_us name\n"

static void expect_printed(const char *what, const struct frame *f, const char *want)
{
	char got[400] = "";
	FILE *file = fmemopen(got, sizeof(got), "w");

	frame_print(f, file);
	fclose(file);
	expect_text(what, got, want);
}

static void test_head(void)
{
	struct frame_row rows[] = {
		{ .vm = 5, .name = "qemu", .r.skipped = 3 },
		{ .vm = 5, .thread = 7, .name = "CPU 0/KVM", .r.skipped = 3 },
	};
	struct frame f = {
		.when = "21:30:01", .period_ns = 2500400000ULL, .lost = 12, .lost_now = 2,
	};

	expect_printed("frame: the head", &f,
		"21:30:01, 2.500 s: 0 VMs, 0 vCPUs, 2 events lost, 12 in all\n" COLUMNS "\n");
	f.rows = rows;
	f.nr_rows = 2;
	f.nr_vms = 1;
	expect_printed("frame: the head, if polls were skipped", &f,
		"21:30:01, 2.500 s: 1 VM, 1 vCPU, 2 events lost, 12 in all, 3 polls skipped\n"
		COLUMNS
		"      5  all       -       0.0         -         -     0.00     0.00           - qemu\n"
		"      5    0       7       0.0         -         -     0.00     0.00           - CPU 0/KVM\n\n");
}

/* However long after it the halt comes, as in another read. */
static void test_skips(void)
{
	struct vcpu a = {}, b = {};
	struct trace trace = {};

	expect("skips: none", trace_skipped(&trace, &a), false);
	trace_skip(&trace, &a);
	expect("skips: not another vCPU's", trace_skipped(&trace, &b), false);
	expect("skips: the next halt's", trace_skipped(&trace, &a), true);
	expect("skips: and no more", trace_skipped(&trace, &a), false);
	trace_skip(&trace, &a);
	trace.lost++;
	expect("skips: forgotten where events were lost", trace_skipped(&trace, &a), false);
	trace_skip(&trace, &a);
	expect("skips: known again after that", trace_skipped(&trace, &a), true);
}

static void test_keys(void)
{
	static const struct {
		const char *name;
		bool found;
		enum frame_key key;
	} cases[] = {
		{ "burned", true, FRAME_BURNED }, { "wasted", true, FRAME_WASTED },
		{ "halts", true, FRAME_HALTS }, { "hits", true, FRAME_HITS },
		{ "interval", true, FRAME_INTERVAL }, { "", false, 0 }, { "halt", false, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum frame_key key = 0;
		char what[40];

		snprintf(what, sizeof(what), "key '%s'", cases[i].name);
		expect(what, frame_find_key(cases[i].name, &key) == cases[i].found &&
			     key == cases[i].key, true);
	}
}

/* What arrives on a terminal of that size. */
static void expect_drawn(const char *what, unsigned short rows, unsigned short columns,
			 const char *text, const char *want)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct termios raw;
	char got[1000] = "";
	size_t length = 0;
	ssize_t more;
	FILE *file;

	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
		expect(what, false, true);
		return;
	}
	file = fopen(ptsname(terminal), "r+");
	tcgetattr(fileno(file), &raw);
	cfmakeraw(&raw);
	tcsetattr(fileno(file), TCSANOW, &raw);
	ioctl(fileno(file), TIOCSWINSZ, &size);
	screen_show(file, text);
	fclose(file);
	/* It comes in pieces, and ends with an error as the other side is closed. */
	while ((more = read(terminal, got + length, sizeof(got) - 1 - length)) > 0)
		length += more;
	close(terminal);
	expect_text(what, got, want);
}

static void test_screen(void)
{
	static const char text[] = "one\n0123456789\n\nfour\n";
	char got[100] = "";
	FILE *file = tmpfile();

	screen_show(file, text);
	screen_show(file, text);
	rewind(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = 0;
	fclose(file);
	expect_text("screen: no terminal", got,
		    "one\n0123456789\n\nfour\none\n0123456789\n\nfour\n");
	expect_drawn("screen: all of it fits", 5, 10, text,
		     "\033[Hone\033[K\n0123456789\033[K\n\033[K\nfour\033[K\n\033[J");
	expect_drawn("screen: too few lines, too short", 3, 9, text,
		     "\033[Hone\033[K\n012345678\033[K\n\033[J");
	expect_drawn("screen: a terminal without a size", 0, 0, text,
		     "\033[Hone\033[K\n0123456789\033[K\n\033[K\nfour\033[K\n\033[J");
}

int main(void)
{
	test_events();
	test_model();
	test_budget();
	test_sums();
	test_wake();
	test_wake_skipped();
	test_wake_room();
	test_oracle();
	test_timeline();
	test_recorded();
	test_text();
	test_frames();
	test_frames_skipped();
	test_head();
	test_skips();
	test_keys();
	test_screen();
	printf("1..%u\n", tests);
	return failed > 0;
}
