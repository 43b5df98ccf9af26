// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/stringify.h>

#include "cmd.h"
#include "options.h"

const struct kvm_halt_poll_params default_params = {
	.max_ns = 200000, .grow = 2, .grow_start_ns = 10000, .shrink = 2,
};

/* getopt_long()'s value of an option is its index here, plus FIRST. */
#define FIRST 256

static const struct {
	unsigned int flag;
	const char *name;
	const char *argument;	/* NULL: none */
	const char *help;
	char letter;		/* 0: none */
} known[] = {
	{ OPTION_MAX, "max", "NS", "halt_poll_ns", 0 },
	{ OPTION_GROW, "grow", "N", "halt_poll_ns_grow", 0 },
	{ OPTION_GROW_START, "grow-start", "NS", "halt_poll_ns_grow_start", 0 },
	{ OPTION_SHRINK, "shrink", "N", "halt_poll_ns_shrink", 0 },
	{ OPTION_BUDGET, "budget", "PCT", "halt_poll_budget; no limit unless given", 0 },
	{ OPTION_WAKE_COST, "wake-cost", "NS",
	  "what blocking costs; measured in the trace unless given", 0 },
	{ OPTION_CPU_WEIGHT, "cpu-weight", "W",
	  "latency that polling for 1 ns must save, in ns (0.1)", 0 },
	{ OPTION_MAX_CPU, "max-cpu", "PCT",
	  "burn no more than so many percent of one CPU, all vCPUs together", 0 },
	{ OPTION_THREADS, "threads", "N", "as many as there are CPUs unless given", 0 },
	{ OPTION_ALL, "all", NULL, "all vCPUs, not only the busiest", 0 },
	{ OPTION_PLOT, "plot", "FILE", "draw it with gnuplot, as SVG", 0 },
	{ OPTION_JSON, "json", NULL, "print JSON", 0 },
	{ OPTION_DURATION, "duration", "SECONDS", "for so long", 'd' },
	{ OPTION_PERIOD, "delay", "SECONDS", "from one refresh to the next; 1 unless given", 'd' },
	{ OPTION_COUNT, "count", "N", "so many refreshes; 0, as if not given: no end", 'n' },
	{ OPTION_SORT, "sort", "COLUMN", "by " FRAME_KEYS "; burned unless given", 's' },
	{ OPTION_PID, "pid", "PID", "only this process' threads; may be given again", 'p' },
	{ OPTION_OUTPUT, "output", "FILE",
	  "kvm_halt_poll.csv unless given; -: standard output", 'o' },
	{ OPTION_BUFFER, "buffer", "KB",
	  "for each CPU, in the kernel; " __stringify(LIVE_BUFFER_KB) " unless given", 'b' },
};

#define NR_KNOWN (sizeof(known) / sizeof(*known))

static void usage(const char *name, unsigned int takes, const char *purpose)
{
	char text[40];
	size_t i;

	printf("usage: kvm_halt_poll %s [OPTION...]%s\n\n%s\n\n", name,
	       takes & OPTION_LIVE ? "" : " [FILE]", purpose);
	for (i = 0; i < NR_KNOWN; i++) {
		const char letter[] = { '-', known[i].letter, ',', ' ', 0 };

		if (!(known[i].flag & takes))
			continue;
		snprintf(text, sizeof(text), "%s--%s %s", known[i].letter ? letter : "",
			 known[i].name, known[i].argument ?: "");
		printf("  %-22s %s\n", text, known[i].help);
	}
	printf("  %-22s %s\n", "-h, --help", "this");
}

/* Digits and nothing else: strtoul() alone would take "-1" and " 1". */
static bool parse_u32(const char *text, unsigned int *value)
{
	unsigned long n;

	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	n = strtoul(text, NULL, 10);
	*value = n;
	return !errno && n <= UINT_MAX;
}

static bool parse_fraction(const char *text, double *value)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	*value = strtod(text, &end);
	return !*end && isfinite(*value);
}

/* So that none is too long for a sum of nanoseconds. */
static bool parse_seconds(const char *text, double least, double *value)
{
	return parse_fraction(text, value) && *value >= least && *value <= 1e9;
}

/* Positive, and of up to eight digits: a pid, or a size. */
static bool parse_count(const char *text, unsigned int *value)
{
	return parse_u32(text, value) && *value && *value <= 99999999;
}

static bool add_pid(struct options *o, const char *text)
{
	unsigned int pid;

	if (!parse_count(text, &pid))
		return false;
	o->pids[o->nr_pids++] = text;
	return true;
}

static bool set(struct options *o, unsigned int flag, const char *text)
{
	switch (flag) {
	case OPTION_MAX:
		return parse_u32(text, &o->params.max_ns);
	case OPTION_GROW:
		return parse_u32(text, &o->params.grow);
	case OPTION_GROW_START:
		return parse_u32(text, &o->params.grow_start_ns);
	case OPTION_SHRINK:
		return parse_u32(text, &o->params.shrink);
	case OPTION_BUDGET:
		return parse_u32(text, &o->params.budget) &&
		       o->params.budget <= KVM_HALT_POLL_NO_BUDGET;
	case OPTION_WAKE_COST:
		return parse_u32(text, &o->wake_ns);
	case OPTION_CPU_WEIGHT:
		return parse_fraction(text, &o->cpu_weight);
	case OPTION_MAX_CPU:
		return parse_fraction(text, &o->max_cpu);
	case OPTION_THREADS:
		return parse_u32(text, &o->threads) && o->threads >= 1 && o->threads <= 1024;
	case OPTION_PLOT:
		o->plot = text;
		return *text && strcmp(text, "-");
	case OPTION_DURATION:
		return parse_seconds(text, 1 / 1e9, &o->seconds);
	case OPTION_PERIOD:
		return parse_seconds(text, 0.1, &o->seconds);
	case OPTION_COUNT:
		return parse_u32(text, &o->count);
	case OPTION_SORT:
		return frame_find_key(text, &o->sort);
	case OPTION_PID:
		return add_pid(o, text);
	case OPTION_OUTPUT:
		o->output = text;
		return *text;
	case OPTION_BUFFER:
		return parse_count(text, &o->buffer_kb);
	default:
		return true;
	}
}

static const char *what_it_takes(unsigned int flag)
{
	switch (flag) {
	case OPTION_CPU_WEIGHT:
	case OPTION_MAX_CPU:
		return "a number such as 0.5";
	case OPTION_BUDGET:
		return "a number from 0 to 100";
	case OPTION_THREADS:
		return "a number from 1 to 1024";
	case OPTION_PLOT:
	case OPTION_OUTPUT:
		return "the name of a file";
	case OPTION_DURATION:
		return "a number of seconds";
	case OPTION_PERIOD:
		return "a number of seconds from 0.1 on";
	case OPTION_SORT:
		return "one of " FRAME_KEYS;
	case OPTION_PID:
		return "the pid of a process";
	case OPTION_BUFFER:
		return "a number of KB";
	default:
		return "a number from 0 to 4294967295";
	}
}

/* The word of the option that was found last; its value may be a word of its own. */
static const char *last_word(char **argv)
{
	return argv[optind - (optarg && optarg == argv[optind - 1] ? 2 : 1)];
}

/*
 * getopt_long() takes "--max" for "--max-cpu" where nothing else starts like that:
 * a value would silently go elsewhere.
 */
static bool is_abbreviated(const char *word, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(word, "--", 2))
		return false;
	return strncmp(word + 2, name, length) || (word[2 + length] && word[2 + length] != '=');
}

static bool no_such_option(const char *word, const char *command)
{
	fail("%s: no such option, or not for it (see %s --help)", word, command);
	return false;
}

/*
 * Which option it is that getopt_long() has found by @value: by its letter or, from
 * FIRST on, by its name.  NR_KNOWN: none, or help.
 */
static size_t find(int value, unsigned int takes)
{
	size_t i;

	if (value >= FIRST)
		return value - FIRST;
	for (i = 0; i < NR_KNOWN; i++) {
		if (known[i].flag & takes && known[i].letter == value)
			break;
	}
	return i;
}

/* What getopt_long() is to know. */
static void list(unsigned int takes, char *letters, struct option *names)
{
	size_t i;

	letters += sprintf(letters, ":h");
	for (i = 0; i < NR_KNOWN; i++) {
		if (!(known[i].flag & takes))
			continue;
		*names++ = (struct option){
			known[i].name, !!known[i].argument, NULL, FIRST + i
		};
		if (known[i].letter)
			letters += sprintf(letters, "%c%s", known[i].letter,
					   known[i].argument ? ":" : "");
	}
	*names = (struct option){ "help", no_argument, NULL, FIRST + NR_KNOWN };
}

bool options_parse(struct options *o, int argc, char **argv, unsigned int takes,
		   const char *purpose, int *status)
{
	struct option names[NR_KNOWN + 2] = {};
	char letters[3 + 2 * NR_KNOWN];
	int c;

	*status = EXIT_USAGE;
	if (takes & OPTION_PID) {
		o->pids = calloc(argc, sizeof(*o->pids));
		if (!o->pids) {
			fail("out of memory");
			*status = EXIT_ERROR;
			return false;
		}
	}
	list(takes, letters, names);
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		const int found = c == ':' ? optopt : c;
		const size_t i = find(found, takes);

		if (found >= FIRST &&
		    is_abbreviated(last_word(argv), i < NR_KNOWN ? known[i].name : "help"))
			return no_such_option(last_word(argv), argv[0]);
		if (c == 'h' || c == FIRST + NR_KNOWN) {
			usage(argv[0], takes, purpose);
			*status = EXIT_OK;
			return false;
		}
		if (c == ':') {
			fail("%s needs a value", argv[optind - 1]);
			return false;
		}
		if (c == '?') {
			/* Of a single letter's word getopt_long() may not be through yet. */
			const char letter[] = { '-', optopt, 0 };

			return no_such_option(optopt && optopt < FIRST ? letter : argv[optind - 1],
					      argv[0]);
		}
		o->given |= known[i].flag;
		if (!set(o, known[i].flag, optarg)) {
			fail("--%s takes %s, not '%s'", known[i].name,
			     what_it_takes(known[i].flag), optarg);
			return false;
		}
	}
	if (takes & OPTION_LIVE && optind < argc) {
		fail("%s takes no argument '%s'", argv[0], argv[optind]);
		return false;
	}
	if (argc - optind > 1) {
		fail("one trace at a time, not '%s' and '%s'", argv[optind], argv[optind + 1]);
		return false;
	}
	o->file = optind < argc ? argv[optind] : "-";
	return true;
}

void options_free(struct options *o)
{
	free(o->pids);
}

bool options_params(const struct options *o, const struct trace *trace,
		    struct kvm_halt_poll_params *p)
{
	const struct trace_params *recorded = &trace->params;

	p->max_ns = o->given & OPTION_MAX ? o->params.max_ns : recorded->max_ns;
	p->grow = o->given & OPTION_GROW ? o->params.grow : recorded->grow;
	p->grow_start_ns = o->given & OPTION_GROW_START ? o->params.grow_start_ns :
							  recorded->grow_start_ns;
	p->shrink = o->given & OPTION_SHRINK ? o->params.shrink : recorded->shrink;
	p->budget = o->given & OPTION_BUDGET ? o->params.budget : KVM_HALT_POLL_NO_BUDGET;
	return recorded->known || (o->given & OPTION_PARAMS) == OPTION_PARAMS;
}
