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

static int read_interval(struct own *own, const char *line, const char *s)
{
	enum { VCPU, ID, TIME_NS, OLD_NS, NEW_NS, NR };
	struct vcpu *vcpu;
	__u64 n[NR];

	if (!parse_numbers(s, n, NR) || n[ID] > INT_MAX)
		return bad_row(own, line);
	vcpu = reader_vcpu(own->r, n[VCPU]);
	if (!vcpu)
		return -1;
	vcpu->id = n[ID];
	return reader_change(own->r, vcpu, n[TIME_NS], n[OLD_NS], n[NEW_NS]);
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
static int read_version(struct own *own, const char *line)
{
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

/* What is behind @start in @line, or NULL if it does not start so. */
static const char *after(const char *line, const char *start)
{
	size_t length = strlen(start);

	return strncmp(line, start, length) ? NULL : line + length;
}

static int read_comment(struct own *own, const char *line)
{
	const char *s;

	if ((s = after(line, OWN_INTERVAL)))
		return read_interval(own, line, s);
	if ((s = after(line, OWN_VCPU)))
		return read_vcpu(own, line, s);
	if ((s = after(line, OWN_LOST)))
		return read_lost(own, line, s);
	if ((s = after(line, OWN_KERNEL)))
		return reader_release(own->r, s);
	if ((s = after(line, OWN_PARAMS)))
		return read_params(own, line, s);
	if ((s = after(line, OWN_END)))
		return check_end(own, line, s);
	if (after(line, "# kvm_halt_poll "))
		return read_version(own, line);
	return 0;
}

int read_own(struct reader *r)
{
	struct own own = { .r = r };
	bool whole = true;
	long length;
	char *line;
	int ret;

	while ((length = reader_line(r, &line, &whole)) >= 0) {
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
