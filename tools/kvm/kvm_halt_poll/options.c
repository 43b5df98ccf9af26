// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
} known[] = {
	{ OPTION_MAX, "max", "NS", "halt_poll_ns" },
	{ OPTION_GROW, "grow", "N", "halt_poll_ns_grow" },
	{ OPTION_GROW_START, "grow-start", "NS", "halt_poll_ns_grow_start" },
	{ OPTION_SHRINK, "shrink", "N", "halt_poll_ns_shrink" },
	{ OPTION_WAKE_COST, "wake-cost", "NS",
	  "what blocking costs; measured in the trace unless given" },
	{ OPTION_CPU_WEIGHT, "cpu-weight", "W",
	  "latency that polling for 1 ns must save, in ns (0.1)" },
	{ OPTION_MAX_CPU, "max-cpu", "PCT",
	  "burn no more than so many percent of one CPU, all vCPUs together" },
	{ OPTION_THREADS, "threads", "N", "as many as there are CPUs unless given" },
	{ OPTION_ALL, "all", NULL, "all vCPUs, not only the busiest" },
	{ OPTION_PLOT, "plot", "FILE", "draw it with gnuplot, as SVG" },
	{ OPTION_JSON, "json", NULL, "print JSON" },
};

#define NR_KNOWN (sizeof(known) / sizeof(*known))

static void usage(const char *name, unsigned int takes, const char *purpose)
{
	char text[40];
	size_t i;

	printf("usage: kvm_halt_poll %s [OPTION...] [FILE]\n\n%s\n\n", name, purpose);
	for (i = 0; i < NR_KNOWN; i++) {
		if (!(known[i].flag & takes))
			continue;
		snprintf(text, sizeof(text), "--%s %s", known[i].name,
			 known[i].argument ?: "");
		printf("  %-18s %s\n", text, known[i].help);
	}
	printf("  %-18s %s\n", "-h, --help", "this");
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
	case OPTION_THREADS:
		return "a number from 1 to 1024";
	case OPTION_PLOT:
		return "the name of a file";
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

bool options_parse(struct options *o, int argc, char **argv, unsigned int takes,
		   const char *purpose, int *status)
{
	struct option longopts[NR_KNOWN + 2] = {};
	size_t i, nr = 0;
	int c;

	for (i = 0; i < NR_KNOWN; i++) {
		if (known[i].flag & takes)
			longopts[nr++] = (struct option){
				known[i].name, !!known[i].argument, NULL, FIRST + i
			};
	}
	longopts[nr] = (struct option){ "help", no_argument, NULL, 'h' };

	*status = EXIT_USAGE;
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":h", longopts, NULL)) != -1) {
		const int found = c == ':' ? optopt : c;

		if (found == 'h' && is_abbreviated(last_word(argv), "help"))
			return no_such_option(last_word(argv), argv[0]);
		if (found >= FIRST && is_abbreviated(last_word(argv), known[found - FIRST].name))
			return no_such_option(last_word(argv), argv[0]);
		if (c == 'h') {
			usage(argv[0], takes, purpose);
			*status = EXIT_OK;
			return false;
		}
		if (c == ':') {
			fail("%s needs a value", argv[optind - 1]);
			return false;
		}
		if (c < FIRST) {
			/* Of a single letter's word getopt_long() may not be through yet. */
			const char letter[] = { '-', optopt, 0 };

			return no_such_option(optopt && optopt < FIRST ? letter : argv[optind - 1],
					      argv[0]);
		}
		c -= FIRST;
		o->given |= known[c].flag;
		if (!set(o, known[c].flag, optarg)) {
			fail("--%s takes %s, not '%s'", known[c].name,
			     what_it_takes(known[c].flag), optarg);
			return false;
		}
	}
	if (argc - optind > 1) {
		fail("one trace at a time, not '%s' and '%s'", argv[optind], argv[optind + 1]);
		return false;
	}
	o->file = optind < argc ? argv[optind] : "-";
	return true;
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
	return recorded->known || (o->given & OPTION_PARAMS) == OPTION_PARAMS;
}
