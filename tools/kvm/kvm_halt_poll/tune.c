// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which parameters suit the halts that were recorded.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "json.h"
#include "options.h"
#include "oracle.h"
#include "plot.h"
#include "recorded.h"

#define DIRECTORY "/sys/module/kvm/parameters/"
/* Of the frontier so many are printed. */
#define FRONTIER_SHOWN 12
/* How often the neighbours of the best are tried. */
#define REFINEMENTS 8

/* One choice of parameters and what it comes to in either half of the time. */
struct set {
	struct kvm_halt_poll_params p;
	struct account half[2];
};

/* What is kept of a vCPU while the trace is followed. */
struct tune_vcpu {
	struct wake_vcpu wake;
	size_t nr;		/* of the events so far */
	unsigned int interval_ns;	/* at first */
};

/* A vCPU to replay. */
struct part {
	struct event *events;
	size_t nr, middle;	/* what is before that is in the first half */
	unsigned int interval_ns;
};

struct tune {
	struct trace trace;
	const struct options *o;
	struct wake wake;
	struct wake_cost cost;
	struct recorded recorded;
	struct oracle oracle;
	u64 longest_ns;		/* halt */

	struct part *parts;
	struct set *sets;
	size_t nr_sets, room;
	u64 searched_ns, searched_cpu_ns;
	bool out_of_memory;
};

/* The first sets have names. */
enum { OFF, DEFAULT, RECORDED };

static const unsigned int max_values[] = {
	5000, 10000, 15000, 20000, 30000, 40000, 50000, 60000, 80000, 100000, 120000, 150000,
	200000, 250000, 300000, 400000, 500000, 600000, 800000, 1000000, 1500000, 2000000,
};

static const unsigned int start_values[] = {
	2000, 5000, 10000, 20000, 50000, 100000, 200000,
};

static const unsigned int grow_values[] = { 1, 2, 3, 4 };
static const unsigned int shrink_values[] = { 0, 1, 2, 4 };

#define NR(array) (sizeof(array) / sizeof(*(array)))

static void add_set(struct tune *t, const struct kvm_halt_poll_params *p)
{
	struct set *sets;

	if (t->nr_sets == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		sets = realloc(t->sets, t->room * sizeof(*sets));
		if (!sets) {
			t->room = t->nr_sets;
			t->out_of_memory = true;
			return;
		}
		t->sets = sets;
	}
	t->sets[t->nr_sets++] = (struct set){ .p = *p };
}

/* All ways to go between @start and @max; if they are equal, there is no growth. */
static void add_ways(struct tune *t, unsigned int max_ns, unsigned int start_ns)
{
	size_t grow, shrink;

	for (grow = 0; grow < (start_ns < max_ns ? NR(grow_values) : 1); grow++) {
		for (shrink = 0; shrink < NR(shrink_values); shrink++)
			add_set(t, &(struct kvm_halt_poll_params){
				max_ns, grow_values[grow], start_ns, shrink_values[shrink]
			});
	}
}

static void add_max(struct tune *t, unsigned int max_ns)
{
	size_t start;

	for (start = 0; start < NR(start_values); start++) {
		if (start_values[start] < max_ns)
			add_ways(t, max_ns, start_values[start]);
	}
	add_ways(t, max_ns, max_ns);
}

/*
 * Whether a halt is longer than the maximum decides whether the interval shrinks:
 * a maximum that no poll is worth can be the best, up to the longest halt.
 */
static void add_grid(struct tune *t)
{
	u64 max_ns = max_values[NR(max_values) - 1];
	size_t i;

	for (i = 0; i < NR(max_values); i++)
		add_max(t, max_values[i]);
	while (max_ns < t->longest_ns && max_ns < UINT_MAX) {
		max_ns = max_ns * 2 < UINT_MAX ? max_ns * 2 : UINT_MAX;
		add_max(t, max_ns);
	}
}

static void add_scaled(struct tune *t, struct kvm_halt_poll_params p, double max, double start)
{
	p.max_ns = fmin(p.max_ns * max, UINT_MAX);
	p.grow_start_ns = fmin(p.grow_start_ns * start, UINT_MAX);
	if (p.grow_start_ns > p.max_ns)
		p.grow_start_ns = p.max_ns;
	add_set(t, &p);
}

/* What is near @p. */
static void add_neighbours(struct tune *t, struct kvm_halt_poll_params p)
{
	static const double scales[] = { 0.75, 0.9, 0.97, 1.03, 1.1, 1.3 };
	struct kvm_halt_poll_params q;
	size_t i;

	for (i = 0; i < NR(scales); i++) {
		add_scaled(t, p, scales[i], 1);
		add_scaled(t, p, 1, scales[i]);
		add_scaled(t, p, scales[i], scales[i]);
	}
	for (i = 0; i < NR(grow_values); i++) {
		q = p;
		q.grow = grow_values[i];
		add_set(t, &q);
	}
	for (i = 0; i < NR(shrink_values); i++) {
		q = p;
		q.shrink = shrink_values[i];
		add_set(t, &q);
	}
}

/* A thread's job: sets from *@next on, up to @end. */
struct job {
	struct tune *t;
	atomic_size_t *next;
	size_t end;
};

/* Up to MODEL_LANES sets; lanes that are left repeat the last. */
static void evaluate(const struct tune *t, struct set *sets, size_t nr)
{
	struct model_lanes lanes = {};
	size_t i, half, lane;

	for (lane = 0; lane < MODEL_LANES; lane++)
		lanes.p[lane] = sets[lane < nr ? lane : nr - 1].p;

	for (i = 0; i < t->trace.nr_vcpus; i++) {
		const struct part *part = &t->parts[i];
		const struct event *events[] = { part->events, part->events + part->middle };
		const size_t counts[] = { part->middle, part->nr - part->middle };

		for (lane = 0; lane < MODEL_LANES; lane++)
			lanes.interval_ns[lane] = kvm_halt_poll_cap(part->interval_ns,
								    &lanes.p[lane]);
		for (half = 0; half < 2; half++) {
			model_halts(&lanes, events[half], counts[half]);
			for (lane = 0; lane < MODEL_LANES; lane++) {
				if (lane < nr)
					account_add(&sets[lane].half[half], &lanes.a[lane]);
				lanes.a[lane] = (struct account){};
			}
		}
	}
}

static void *work(void *arg)
{
	struct job *job = arg;
	size_t i;

	while ((i = atomic_fetch_add(job->next, MODEL_LANES)) < job->end)
		evaluate(job->t, &job->t->sets[i],
			 job->end - i < MODEL_LANES ? job->end - i : MODEL_LANES);
	return NULL;
}

static u64 now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Evaluates the sets from @first on. */
static void evaluate_all(struct tune *t, size_t first)
{
	atomic_size_t next = first;
	struct job job = { t, &next, t->nr_sets };
	pthread_t threads[t->o->threads];
	unsigned int i, nr = 0;
	u64 start_ns = now_ns(CLOCK_MONOTONIC);
	u64 cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	/* This thread is one of them; if others cannot be had, it does all. */
	while (nr + 1 < t->o->threads && !pthread_create(&threads[nr], NULL, work, &job))
		nr++;
	work(&job);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	t->searched_ns += now_ns(CLOCK_MONOTONIC) - start_ns;
	t->searched_cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
}

/* Which part of the time counts: one of the halves, or both. */
enum span { FIRST, SECOND, WHOLE };

static struct account account_of(const struct set *set, enum span span)
{
	struct account a = set->half[span == WHOLE ? FIRST : span];

	if (span == WHOLE)
		account_add(&a, &set->half[SECOND]);
	return a;
}

static u64 time_of(const struct tune *t, enum span span)
{
	u64 ns = recorded_time_ns(&t->recorded);

	return span == WHOLE ? ns : ns / 2 + 1;
}

/* In nanoseconds of latency. */
static double score(const struct tune *t, const struct account *a)
{
	return account_latency_ns(a, t->cost.ns) + t->o->cpu_weight * account_polled_ns(a);
}

static bool affordable(const struct tune *t, const struct account *a, enum span span)
{
	return percent_of(account_polled_ns(a), time_of(t, span)) <= t->o->max_cpu;
}

/* Polling off is always affordable, and the first. */
static size_t find_best(const struct tune *t, enum span span)
{
	struct account a = account_of(&t->sets[OFF], span);
	double best_score = score(t, &a);
	size_t i, best = OFF;

	for (i = 1; i < t->nr_sets; i++) {
		a = account_of(&t->sets[i], span);
		if (affordable(t, &a, span) && score(t, &a) < best_score) {
			best_score = score(t, &a);
			best = i;
		}
	}
	return best;
}

static void search(struct tune *t)
{
	const struct trace_params *r = &t->trace.params;
	size_t i, first, best, before = OFF;

	add_set(t, &(struct kvm_halt_poll_params){
		0, default_params.grow, default_params.grow_start_ns, default_params.shrink
	});
	add_set(t, &default_params);
	if (r->known)
		add_set(t, &(struct kvm_halt_poll_params){
			r->max_ns, r->grow, r->grow_start_ns, r->shrink
		});
	add_grid(t);
	evaluate_all(t, 0);

	for (i = 0; i < REFINEMENTS; i++) {
		best = find_best(t, WHOLE);
		if (best == before)
			break;
		before = best;
		first = t->nr_sets;
		add_neighbours(t, t->sets[best].p);
		evaluate_all(t, first);
	}
}

static int tune_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct tune_vcpu *v = follow_data(vcpu);
	struct tune *t = ctx;

	recorded_add(&t->recorded, step);
	if (step->halt->ns > t->longest_ns)
		t->longest_ns = step->halt->ns;
	wake_add(&t->wake, &v->wake, step);
	return 0;
}

/* How many halts ended before @time_ns. */
static size_t halts_before(const struct vcpu *vcpu, u64 time_ns)
{
	size_t low = 0, high = vcpu->nr_halts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (vcpu->halts[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Events take the place of the halts that they are made of: there is no room for
 * both.  Of what is held back while the interval is not known there is a copy, so
 * that no halt is overwritten before it was read.
 */
static int convert_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct event *events = (struct event *)vcpu->halts;
	struct tune_vcpu *v = follow_data(vcpu);
	struct tune *t = ctx;

	_Static_assert(sizeof(struct event) == sizeof(struct halt), "16 bytes a halt");
	if (!v->nr && step->known)
		v->interval_ns = step->interval_ns;
	events[v->nr] = event_of(step, t->cost.ns);
	oracle_add(&t->oracle, events[v->nr].event_ns);
	v->nr++;
	return 0;
}

static int convert(struct tune *t)
{
	struct follow f = {
		.trace = &t->trace, .step = convert_step, .ctx = t,
		.size = sizeof(struct tune_vcpu),
	};
	int ret = follow_loaded(&f);
	size_t i;

	for (i = 0; i < t->trace.nr_vcpus && !ret; i++) {
		const struct tune_vcpu *v = follow_data(t->trace.vcpus[i]);

		t->parts[i].interval_ns = v->interval_ns;
	}
	follow_free(&f);
	return ret;
}

static int prepare(struct tune *t)
{
	struct follow f = {
		.trace = &t->trace, .step = tune_step, .ctx = t,
		.size = sizeof(struct tune_vcpu),
	};
	u64 middle_ns;
	size_t i;
	int ret;

	ret = follow_loaded(&f);
	follow_free(&f);
	if (ret)
		return ret;
	if (!(t->o->given & OPTION_WAKE_COST))
		t->cost = wake_estimate(&t->wake);

	t->parts = calloc(t->trace.nr_vcpus, sizeof(*t->parts));
	if (!t->parts)
		return fail("out of memory");
	middle_ns = t->recorded.start_ns + recorded_time_ns(&t->recorded) / 2;
	for (i = 0; i < t->trace.nr_vcpus; i++) {
		struct vcpu *vcpu = t->trace.vcpus[i];

		t->parts[i] = (struct part){
			(struct event *)vcpu->halts, vcpu->nr_halts,
			halts_before(vcpu, middle_ns), 0,
		};
	}
	return convert(t);
}

/* What the oracle comes to, in score and account. */
static struct account ask_oracle(const struct tune *t)
{
	double budget_ns = t->o->max_cpu / 100 * recorded_time_ns(&t->recorded);
	double longest_ns = t->o->cpu_weight > 0 ? t->cost.ns / t->o->cpu_weight : INFINITY;

	return oracle_ask(&t->oracle, longest_ns, budget_ns);
}

/* How far a set gets on the way from polling off to the oracle, in percent. */
static double achieved(const struct tune *t, const struct account *a)
{
	struct account off = account_of(&t->sets[OFF], WHOLE), best = ask_oracle(t);
	double all = score(t, &off) - score(t, &best);

	return all ? 100 * (score(t, &off) - score(t, a)) / all : 100;
}

static int compare_polled(const void *x, const void *y, void *arg)
{
	const struct tune *t = arg;
	const struct account a = account_of(&t->sets[*(const size_t *)x], WHOLE);
	const struct account b = account_of(&t->sets[*(const size_t *)y], WHOLE);
	u64 a_ns = account_polled_ns(&a), b_ns = account_polled_ns(&b);

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	if (a.hits != b.hits)
		return a.hits > b.hits ? -1 : 1;
	return *(const size_t *)x < *(const size_t *)y ? -1 : 1;
}

/* The sets that no other one beats in both: their numbers by CPU burned. */
static size_t *find_frontier(const struct tune *t, size_t *nr)
{
	size_t *all = malloc(t->nr_sets * sizeof(*all));
	size_t i, kept = 0;

	if (!all)
		return NULL;
	for (i = 0; i < t->nr_sets; i++)
		all[i] = i;
	qsort_r(all, t->nr_sets, sizeof(*all), compare_polled, (void *)t);
	for (i = 0; i < t->nr_sets; i++) {
		const struct account a = account_of(&t->sets[all[i]], WHOLE);
		const struct account last = account_of(&t->sets[all[kept ? kept - 1 : 0]], WHOLE);

		if (!kept || a.hits > last.hits)
			all[kept++] = all[i];
	}
	*nr = kept;
	return all;
}

struct holdout {
	bool possible;		/* there are halts in both halves */
	size_t first, second;	/* the best of each */
	double excess;		/* of the first's score in the second half, in percent */
};

static struct holdout hold_out(const struct tune *t)
{
	struct holdout h = { .first = find_best(t, FIRST), .second = find_best(t, SECOND) };
	const struct account mine = account_of(&t->sets[h.first], SECOND);
	const struct account best = account_of(&t->sets[h.second], SECOND);

	h.possible = best.halts && t->sets[OFF].half[FIRST].halts;
	if (score(t, &best) > 0)
		h.excess = 100 * (score(t, &mine) / score(t, &best) - 1);
	return h;
}

static void print_params(const char *name, const struct kvm_halt_poll_params *p)
{
	printf("%-10s %10u %5u %10u %6u", name, p->max_ns, p->grow, p->grow_start_ns, p->shrink);
}

static void print_costs(const struct tune *t, const struct account *a)
{
	printf(" %8.2f %% %10.2f %% %10.0f ns %10.0f ns\n", percent_of(a->hits, a->halts),
	       percent_of(account_polled_ns(a), recorded_time_ns(&t->recorded)),
	       (double)account_latency_ns(a, t->cost.ns) / a->halts, score(t, a) / a->halts);
}

static void print_set(const struct tune *t, const char *name, size_t i)
{
	const struct account a = account_of(&t->sets[i], WHOLE);

	print_params(name, &t->sets[i].p);
	print_costs(t, &a);
}

static void print_frontier(const struct tune *t, size_t best)
{
	size_t nr, i, shown, *frontier = find_frontier(t, &nr);

	if (!frontier)
		return;
	shown = nr < FRONTIER_SHOWN ? nr : FRONTIER_SHOWN;
	printf("\nfrontier: no set burns less CPU and adds less latency (%zu of %zu)\n", shown, nr);
	for (i = 0; i < shown; i++) {
		size_t set = frontier[shown > 1 ? i * (nr - 1) / (shown - 1) : 0];

		print_set(t, set == best ? "* best" : "", set);
	}
	free(frontier);
}

static void print_holdout(const struct tune *t)
{
	const struct holdout h = hold_out(t);

	if (!h.possible) {
		puts("\nhold-out: none, as all halts are in one half of the time");
		return;
	}
	printf("\nhold-out: what is best for the first half of the time scores %.1f %% above the "
	       "best there is for\nthe second:\n", h.excess);
	print_params("first", &t->sets[h.first].p);
	putchar('\n');
	print_params("second", &t->sets[h.second].p);
	putchar('\n');
}

static void print(const struct tune *t, size_t best)
{
	const struct kvm_halt_poll_params *p = &t->sets[best].p;
	const struct account oracle = ask_oracle(t), a = account_of(&t->sets[best], WHOLE);

	print_trace(&t->trace, &t->recorded);
	wake_print(&t->cost);
	print_model(&t->recorded, false);
	printf("score: latency + %g * CPU burned polling", t->o->cpu_weight);
	if (t->o->given & OPTION_MAX_CPU)
		printf(", where that is at most %g %% of one CPU", t->o->max_cpu);
	printf("\n\n%-10s %10s %5s %10s %6s %10s %12s %13s %13s\n", "", "max", "grow",
	       "grow_start", "shrink", "no block", "CPU", "latency/halt", "score/halt");
	print_set(t, "off", OFF);
	print_set(t, "default", DEFAULT);
	if (t->trace.params.known)
		print_set(t, "recorded", RECORDED);
	print_set(t, "best", best);
	printf("%-45s", "oracle: knows each halt time");
	print_costs(t, &oracle);
	printf("\nbest gets %.1f %% of what the oracle gets over polling off\n", achieved(t, &a));
	print_frontier(t, best);
	print_holdout(t);
	printf("\necho %u > " DIRECTORY "halt_poll_ns\n"
	       "echo %u > " DIRECTORY "halt_poll_ns_grow\n"
	       "echo %u > " DIRECTORY "halt_poll_ns_grow_start\n"
	       "echo %u > " DIRECTORY "halt_poll_ns_shrink\n",
	       p->max_ns, p->grow, p->grow_start_ns, p->shrink);
}

static json_t *set_json(const struct tune *t, size_t i)
{
	const struct account a = account_of(&t->sets[i], WHOLE);
	json_t *object = json_object();

	json_add(object, "params", json_params(&t->sets[i].p));
	json_add_account(object, &a, t->cost.ns);
	json_add(object, "score_ns", json_real(score(t, &a)));
	return object;
}

static json_t *frontier_json(const struct tune *t)
{
	size_t nr, i, *frontier = find_frontier(t, &nr);
	json_t *array = json_array();

	for (i = 0; frontier && i < nr; i++)
		json_append(array, set_json(t, frontier[i]));
	free(frontier);
	return array;
}

static json_t *holdout_json(const struct tune *t)
{
	const struct holdout h = hold_out(t);
	json_t *object = json_object();

	if (!h.possible) {
		json_decref(object);
		return json_null();
	}
	json_add(object, "first_half_best", json_params(&t->sets[h.first].p));
	json_add(object, "second_half_best", json_params(&t->sets[h.second].p));
	json_add(object, "excess_ratio", json_real(h.excess / 100));
	return object;
}

static int print_json(const struct tune *t, size_t best)
{
	const struct account oracle = ask_oracle(t), a = account_of(&t->sets[best], WHOLE);
	json_t *root = json_object(), *object = json_object();

	json_add_trace(root, &t->trace);
	json_add_u64(root, "time_ns", recorded_time_ns(&t->recorded));
	json_add_wake(root, &t->cost);
	json_add(root, "cpu_weight", json_real(t->o->cpu_weight));
	json_add(root, "max_cpu_ratio", t->o->given & OPTION_MAX_CPU ?
					json_real(t->o->max_cpu / 100) : json_null());
	json_add_u64(root, "sets", t->nr_sets);
	json_add(root, "off", set_json(t, OFF));
	json_add(root, "default", set_json(t, DEFAULT));
	json_add(root, "recorded", t->trace.params.known ? set_json(t, RECORDED) : json_null());
	json_add(root, "best", set_json(t, best));
	json_add_account(object, &oracle, t->cost.ns);
	json_add(object, "score_ns", json_real(score(t, &oracle)));
	json_add(root, "oracle", object);
	json_add(root, "best_of_oracle_ratio", json_real(achieved(t, &a) / 100));
	json_add(root, "frontier", frontier_json(t));
	json_add(root, "holdout", holdout_json(t));
	return json_print(root);
}

static void plot_point(const struct tune *t, FILE *file, const struct account *a)
{
	fprintf(file, "%.6g %.6g\n",
		percent_of(account_polled_ns(a), recorded_time_ns(&t->recorded)),
		(double)account_latency_ns(a, t->cost.ns) / a->halts);
}

static void plot_sets(const struct tune *t, FILE *file, const char *name,
		      const size_t *sets, size_t nr)
{
	size_t i;

	fprintf(file, "$%s << END\n", name);
	for (i = 0; i < nr; i++) {
		const struct account a = account_of(&t->sets[sets ? sets[i] : i], WHOLE);

		plot_point(t, file, &a);
	}
	fputs("END\n", file);
}

/* What could be had for each amount of CPU by who knows each halt time. */
static void plot_oracle(const struct tune *t, FILE *file)
{
	double most_ns = 0, budget_ns;
	size_t i;

	for (i = 0; i < t->nr_sets; i++) {
		const struct account a = account_of(&t->sets[i], WHOLE);

		most_ns = fmax(most_ns, account_polled_ns(&a));
	}
	fputs("$oracle << END\n", file);
	for (budget_ns = 0, i = 0; i <= 100; budget_ns = most_ns * ++i / 100) {
		const struct account a = oracle_ask(&t->oracle, INFINITY, budget_ns);

		plot_point(t, file, &a);
	}
	fputs("END\n", file);
}

static int draw(const struct tune *t, size_t best)
{
	size_t nr = 0, *frontier;
	struct plot plot;

	if (plot_open(&plot, t->o->plot, 800, 480))
		return -1;
	frontier = find_frontier(t, &nr);
	plot_sets(t, plot.gnuplot, "all", NULL, t->nr_sets);
	plot_sets(t, plot.gnuplot, "frontier", frontier, nr);
	plot_sets(t, plot.gnuplot, "best", &best, 1);
	plot_sets(t, plot.gnuplot, "default", (size_t []){ DEFAULT }, 1);
	plot_oracle(t, plot.gnuplot);
	free(frontier);
	fputs("set title ", plot.gnuplot);
	plot_string(&plot, t->trace.name);
	fprintf(plot.gnuplot,
		"\nset xlabel 'CPU burned polling (%% of one CPU)'\n"
		"set ylabel 'latency added by blocking (ns a halt)'\n"
		"set xrange [0:*]\nset yrange [0:*]\nset grid\nset key top right\n"
		"plot $all with points pointtype 7 pointsize 0.3 linecolor 'gray' "
		"title 'each set of parameters', "
		"$frontier with steps linewidth 2 linecolor 'blue' title 'frontier', "
		"$oracle with lines dashtype 2 linewidth 2 linecolor 'black' "
		"title 'knowing each halt time', "
		"$default with points pointtype 5 pointsize 1.2 linecolor 'orange' "
		"title 'default', "
		"$best with points pointtype 7 pointsize 1.2 linecolor 'red' "
		"title 'max %u, grow %u, grow_start %u, shrink %u'\n",
		t->sets[best].p.max_ns, t->sets[best].p.grow, t->sets[best].p.grow_start_ns,
		t->sets[best].p.shrink);
	return plot_close(&plot);
}

static int run(struct tune *t)
{
	size_t best;
	double replayed;

	if (wake_init(&t->wake) || trace_load(&t->trace, t->o->file) || prepare(t))
		return -1;
	search(t);
	if (t->out_of_memory)
		return fail("out of memory at %zu sets", t->nr_sets);
	best = find_best(t, WHOLE);

	replayed = (double)t->nr_sets * t->recorded.a.halts;
	if (!(t->o->given & OPTION_JSON))
		fprintf(stderr, "%zu sets of parameters in %.2f s, %.2f s of CPU, %u threads: "
			"%.1f million halts/s, %.1f in a second of CPU\n", t->nr_sets,
			t->searched_ns / 1e9, t->searched_cpu_ns / 1e9, t->o->threads,
			replayed * 1e3 / (t->searched_ns + 1),
			replayed * 1e3 / (t->searched_cpu_ns + 1));
	if ((t->o->given & OPTION_PLOT) && draw(t, best))
		return -1;
	if (t->o->given & OPTION_JSON)
		return print_json(t, best);
	print(t, best);
	return 0;
}

int cmd_tune(int argc, char **argv)
{
	struct options o = { .cpu_weight = 0.1, .max_cpu = INFINITY };
	struct tune t = { .o = &o };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status;

	o.threads = cpus > 1 ? cpus : 1;
	if (!options_parse(&o, argc, argv, OPTION_WAKE_COST | OPTION_CPU_WEIGHT | OPTION_MAX_CPU |
			   OPTION_THREADS | OPTION_PLOT | OPTION_JSON,
			   "Searches the parameters that suit the halts best, and says what else there\n"
			   "is, how good it could be, and how to set them.", &status))
		return status;

	t.cost = (struct wake_cost){ .ns = o.wake_ns, .source = WAKE_GIVEN };
	status = run(&t) ? EXIT_ERROR : EXIT_OK;
	free(t.sets);
	free(t.parts);
	wake_free(&t.wake);
	trace_free(&t.trace);
	return status;
}
