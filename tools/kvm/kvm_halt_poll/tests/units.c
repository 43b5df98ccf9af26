// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model and what it rests on, with values worked out by hand.  Speaks TAP.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "oracle.h"
#include "recorded.h"
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

static const struct {
	const char *name;
	u64 ns;
	bool waited, known;
	unsigned int interval_ns, wake_ns;
	u64 event_ns, blocked_ns;
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
};

static void test_events(void)
{
	size_t i;

	for (i = 0; i < sizeof(event_cases) / sizeof(*event_cases); i++) {
		const struct halt halt = {
			.ns = event_cases[i].ns, .waited = event_cases[i].waited, .valid = 1,
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

static void feed(struct wake *wake, struct wake_vcpu *v, unsigned int interval_ns, u64 ns,
		 bool waited)
{
	const struct halt halt = { .ns = ns, .waited = waited, .valid = 1 };
	const struct step step = { .halt = &halt, .known = true, .interval_ns = interval_ns };

	wake_add(wake, v, &step);
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
	u64 hits, hit_ns, vain_ns, unknown;
} recorded_cases[] = {
	{ "hit", 30000, false, true, 40000, 1, 30000, 0, 0 },
	{ "hit, interval unknown", 30000, false, false, 0, 1, 30000, 0, 0 },
	{ "miss", 60000, true, true, 40000, 0, 0, 40000, 0 },
	{ "no poll", 60000, true, true, 0, 0, 0, 0, 0 },
	{ "miss, interval unknown", 60000, true, false, 0, 0, 0, 0, 1 },
	{ "cut short", 30000, true, true, 40000, 0, 0, 30000, 0 },
	{ "event before the wait", 40700, false, true, 40000, 1, 0, 40000, 0 },
};

static void test_recorded(void)
{
	struct recorded all = {};
	size_t i;

	for (i = 0; i < sizeof(recorded_cases) / sizeof(*recorded_cases); i++) {
		const struct halt halt = {
			.time_ns = 100000 * (i + 1), .ns = recorded_cases[i].ns,
			.waited = recorded_cases[i].waited, .valid = 1,
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
			     r.unknown == recorded_cases[i].unknown, true);
	}
	/* From 70000 to 700000. */
	expect("recorded: time", recorded_time_ns(&all), 630000);
	expect("recorded: cut short", all.cut_short, 1);
	expect("recorded: polled", account_polled_ns(&all.a), 170000);
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

int main(void)
{
	test_events();
	test_model();
	test_sums();
	test_wake();
	test_wake_room();
	test_oracle();
	test_timeline();
	test_recorded();
	test_text();
	printf("1..%u\n", tests);
	return failed > 0;
}
