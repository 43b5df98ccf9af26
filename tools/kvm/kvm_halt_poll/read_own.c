// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads what "record" wrote, and CSV, which is a part of it; see own.h.
 */
#include <limits.h>
#include <string.h>

#include "own.h"
#include "reader.h"

struct own {
	struct reader *r;
	bool recorded;		/* by us: there is a last line to wait for */
	bool ended;
	__u64 halts;		/* since the version's line */
};

/* @n unsigned decimals with a comma after each but the last, and nothing more. */
static bool parse_numbers(const char *s, __u64 *numbers, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if (i && *s++ != ',')
			return false;
		if (!parse_u64(&s, &numbers[i]))
			return false;
	}
	return !*s;
}

static int bad_row(struct own *own, const char *line)
{
	return reader_error(own->r, "'%.40s' is no row %s", line, OWN_HEADER);
}

static int read_halt(struct own *own, const char *line)
{
	enum { VCPU, TIME_NS, HALT_NS, WAITED, VALID, NR };
	struct vcpu *vcpu;
	__u64 n[NR];

	if (!parse_numbers(line, n, NR) || n[WAITED] > 1 || n[VALID] > 1)
		return bad_row(own, line);
	vcpu = reader_vcpu(own->r, n[VCPU]);
	if (!vcpu)
		return -1;
	own->halts++;
	return reader_halt(own->r, vcpu, n[TIME_NS], n[HALT_NS], n[WAITED], n[VALID]);
}

/*
 * The numbers of a row that starts with a vCPU's thread and KVM's number of it; NULL
 * after a complaint.
 */
static struct vcpu *read_of_vcpu(struct own *own, const char *line, const char *s,
				 __u64 *n, int nr)
{
	enum { VCPU, ID };
	struct vcpu *vcpu;

	if (!parse_numbers(s, n, nr) || n[ID] > INT_MAX) {
		bad_row(own, line);
		return NULL;
	}
	vcpu = reader_vcpu(own->r, n[VCPU]);
	if (vcpu)
		vcpu->id = n[ID];
	return vcpu;
}

static int read_interval(struct own *own, const char *line, const char *s)
{
	enum { TIME_NS = 2, OLD_NS, NEW_NS, NR };
	__u64 n[NR];
	struct vcpu *vcpu = read_of_vcpu(own, line, s, n, NR);

	if (!vcpu)
		return -1;
	return reader_change(own->r, vcpu, n[TIME_NS], n[OLD_NS], n[NEW_NS]);
}

static int read_skip(struct own *own, const char *line, const char *s)
{
	__u64 n[2];
	struct vcpu *vcpu = read_of_vcpu(own, line, s, n, 2);

	if (!vcpu)
		return -1;
	trace_skip(own->r->trace, vcpu);
	return 0;
}

static int read_vcpu(struct own *own, const char *line, const char *s)
{
	__u64 pid, vm = 0;
	bool known;
	struct vcpu *vcpu;

	if (!parse_u64(&s, &pid) || *s++ != ',')
		return bad_row(own, line);
	known = *s != ',';
	if ((known && (!parse_u64(&s, &vm) || vm > INT_MAX)) || *s++ != ',')
		return bad_row(own, line);
	vcpu = reader_vcpu(own->r, pid);
	if (!vcpu)
		return -1;
	if (known)
		vcpu->vm = vm;
	reader_comm(vcpu, s, strlen(s));
	return 0;
}

static int read_params(struct own *own, const char *line, const char *s)
{
	enum { MAX_NS, GROW, GROW_START_NS, SHRINK, NR };
	struct trace_params *params = &own->r->trace->params;
	__u64 n[NR];

	if (!parse_numbers(s, n, NR) || n[MAX_NS] > UINT_MAX || n[GROW] > UINT_MAX ||
	    n[GROW_START_NS] > UINT_MAX || n[SHRINK] > UINT_MAX)
		return bad_row(own, line);
	if (params->known && (n[MAX_NS] != params->max_ns || n[GROW] != params->grow ||
			      n[GROW_START_NS] != params->grow_start_ns ||
			      n[SHRINK] != params->shrink))
		return reader_error(own->r, "parameters of several recordings mixed: %s after "
				    "%u,%u,%u,%u", s, params->max_ns, params->grow,
				    params->grow_start_ns, params->shrink);
	*params = (struct trace_params){ true, n[MAX_NS], n[GROW], n[GROW_START_NS], n[SHRINK] };
	return 0;
}

static int read_lost(struct own *own, const char *line, const char *s)
{
	__u64 lost;

	if (!parse_numbers(s, &lost, 1))
		return bad_row(own, line);
	own->r->trace->lost += lost;
	return 0;
}

static int check_end(struct own *own, const char *line, const char *s)
{
	__u64 halts;

	if (!parse_numbers(s, &halts, 1))
		return bad_row(own, line);
	if (halts != own->halts)
		return reader_error(own->r, "%llu halts, but %llu were written",
				    own->halts, halts);
	own->ended = true;
	return 0;
}

/* Where files were put behind each other, each has a version and an end. */
static int read_version(struct own *own, const char *line, const char *s)
{
	(void)s;
	if (strcmp(line, OWN_VERSION))
		return reader_error(own->r, "'%.40s' is not the version that is known, '%s'",
				    line, OWN_VERSION);
	if (own->recorded && !own->ended)
		return reader_error(own->r, "what was recorded before is cut short");
	own->recorded = true;
	own->ended = false;
	own->halts = 0;
	return 0;
}

static int read_kernel(struct own *own, const char *line, const char *s)
{
	(void)line;
	return reader_release(own->r, s);
}

/* The most frequent first. */
static const struct {
	const char *start;
	int (*read)(struct own *own, const char *line, const char *s);
} comments[] = {
	{ OWN_INTERVAL, read_interval },
	{ OWN_SKIP, read_skip },
	{ OWN_VCPU, read_vcpu },
	{ OWN_LOST, read_lost },
	{ OWN_KERNEL, read_kernel },
	{ OWN_PARAMS, read_params },
	{ OWN_END, check_end },
	{ OWN_NAME, read_version },
};

static int read_comment(struct own *own, const char *line)
{
	size_t i, length;

	for (i = 0; i < sizeof(comments) / sizeof(*comments); i++) {
		length = strlen(comments[i].start);
		if (!strncmp(line, comments[i].start, length))
			return comments[i].read(own, line, line + length);
	}
	return 0;
}

int read_own(struct reader *r)
{
	struct own own = { .r = r };
	long length;
	char *line;
	int ret;

	while ((length = reader_line(r, &line)) >= 0) {
		if (*line == '#')
			ret = read_comment(&own, line);
		else if (*line && strcmp(line, OWN_HEADER))
			ret = read_halt(&own, line);
		else
			ret = 0;
		if (ret)
			return ret;
	}
	if (length == -2)
		return -1;
	if (own.recorded && !own.ended)
		return reader_error(r, "cut short: no last line '%s'", OWN_END "...");
	return 0;
}
