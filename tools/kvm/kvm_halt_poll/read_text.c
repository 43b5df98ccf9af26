// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads traces as text, whoever wrote it: tracefs' trace and trace_pipe,
 * "trace-cmd report", "perf script".  They have in common that the event's name
 * comes behind a time and a colon, and its fields behind that:
 *
 *	       CPU 0/KVM-74      [001] d..1.     5.123456: kvm_vcpu_wakeup: wait ...
 *	       CPU 0/KVM-74      (     70) [001] d..1.     5.123456: kvm_vcpu_wakeup: ...
 *	       CPU 0/KVM-74    [001]     5.123456789: kvm_vcpu_wakeup:      wait ...
 *	 CPU 0/KVM    74 [001]     5.123456: kvm:kvm_vcpu_wakeup: wait ...
 *	 CPU 0/KVM    70/74     5.123456:    kvm:kvm_vcpu_wakeup: wait ...
 *
 * As a thread's name may have anything in it, a line is read from the event's
 * name to the left.  Lines without any of the events are passed over.
 */
#include <limits.h>
#include <string.h>

#include "reader.h"

/* What stands to the left of an event's name. */
struct context {
	__u64 pid;
	__u64 vm;		/* 0: unknown */
	__u64 time_ns;
	const char *comm;
	size_t comm_length;
};

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* The end of what is between @start and @end when blanks at its end are left out. */
static const char *trim_right(const char *start, const char *end)
{
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

/* Where the token that ends at @end starts. */
static const char *token_start(const char *start, const char *end)
{
	while (end > start && end[-1] != ' ' && end[-1] != '\t')
		end--;
	return end;
}

static const char *digits_start(const char *start, const char *end)
{
	while (end > start && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end;
}

/* The number between @s and @end, all of it. */
static bool parse_whole(const char *s, const char *end, __u64 *value)
{
	return s < end && parse_u64(&s, value) && s == end;
}

/* Seconds, a point, and up to nine digits. */
static bool parse_time(const char *s, const char *end, __u64 *time_ns)
{
	__u64 seconds, fraction;
	const char *point;
	int digits;

	if (!parse_u64(&s, &seconds) || *s != '.')
		return false;
	point = s++;
	if (!parse_whole(s, end, &fraction))
		return false;
	digits = end - point - 1;
	if (digits > 9)
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	return !__builtin_mul_overflow(seconds, 1000000000ULL, time_ns) &&
	       !__builtin_add_overflow(*time_ns, fraction, time_ns);
}

/* Takes "[001]" and at most one word behind it, the flags, off the end. */
static const char *strip_cpu(const char *start, const char *end)
{
	const char *word = token_start(start, end);
	const char *bracket;

	if (word < end && end[-1] != ']') {
		const char *before = trim_right(start, word);

		/* Flags are never a number; a thread's is. */
		if (before == start || before[-1] != ']' || digits_start(word, end) == word)
			return end;
		end = before;
	} else if (word == end) {
		return end;
	}
	bracket = digits_start(start, end - 1);
	if (bracket == start || bracket[-1] != '[' || bracket == end - 1)
		return end;
	return trim_right(start, bracket - 1);
}

/* Takes "(     70)" or "(-------)" off the end; nothing else ends with ")". */
static const char *strip_tgid(const char *start, const char *end, struct context *context)
{
	const char *s = end;

	if (s == start || s[-1] != ')')
		return end;
	while (s > start && *s != '(')
		s--;
	if (*s != '(')
		return end;
	parse_whole(skip_blanks(s + 1), end - 1, &context->vm);
	return trim_right(start, s);
}

/* "COMM-PID", or "COMM PID", or "COMM VM/PID". */
static bool parse_task(const char *start, const char *end, struct context *context)
{
	const char *pid = digits_start(start, end);

	if (pid == start || !parse_whole(pid, end, &context->pid))
		return false;
	if (pid[-1] == '/') {
		const char *vm = digits_start(start, pid - 1);

		if (!parse_whole(vm, pid - 1, &context->vm))
			return false;
		pid = vm;
		if (pid == start)
			return false;
	}
	if (pid[-1] == '-')
		end = pid - 1;
	else if (pid[-1] == ' ' || pid[-1] == '\t')
		end = trim_right(start, pid);
	else
		return false;
	context->comm = skip_blanks(start);
	context->comm_length = end > context->comm ? end - context->comm : 0;
	return true;
}

/* Everything between @line and @name, the start of the event's name. */
static bool parse_context(const char *line, const char *name, struct context *context)
{
	const char *time, *end = name;

	memset(context, 0, sizeof(*context));
	if (end - line > 4 && !strncmp(end - 4, "kvm:", 4))
		end -= 4;
	end = trim_right(line, end);
	if (end == line || *--end != ':')
		return false;
	time = token_start(line, end);
	if (!parse_time(time, end, &context->time_ns))
		return false;
	end = strip_cpu(line, trim_right(line, time));
	end = strip_tgid(line, end, context);
	return parse_task(line, end, context) && context->vm <= INT_MAX;
}

/* Moves *@s behind @text if it is there. */
static bool take(const char **s, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*s, text, length))
		return false;
	*s += length;
	return true;
}

static bool at_end(const char *s)
{
	return !*skip_blanks(s);
}

/* What stands to the right, as far as the event has it. */
struct fields {
	__u64 ns, id, old_ns, new_ns;
	bool waited, valid;
};

/* "wait time 63210 ns, polling valid" */
static bool parse_wakeup(const char *s, struct fields *f)
{
	f->waited = take(&s, "wait ");
	if (!f->waited && !take(&s, "poll "))
		return false;
	if (!take(&s, "time ") || !parse_u64(&s, &f->ns) || !take(&s, " ns, polling "))
		return false;
	f->valid = take(&s, "valid");
	return (f->valid || take(&s, "invalid")) && at_end(s);
}

static int tell_wakeup(struct reader *r, struct vcpu *vcpu, __u64 time_ns,
		       const struct fields *f)
{
	return reader_halt(r, vcpu, time_ns, f->ns, f->waited, f->valid);
}

static bool take_vcpu(const char **s, __u64 *id)
{
	return take(s, "vcpu ") && parse_u64(s, id) && *id <= INT_MAX && take(s, ": ");
}

/* "vcpu 0: halt_poll_ns 20000 (grow 10000)" */
static bool parse_change(const char *s, struct fields *f)
{
	return take_vcpu(&s, &f->id) && take(&s, "halt_poll_ns ") && parse_u64(&s, &f->new_ns) &&
	       (take(&s, " (grow ") || take(&s, " (shrink ")) &&
	       parse_u64(&s, &f->old_ns) && take(&s, ")") && at_end(s);
}

static int tell_change(struct reader *r, struct vcpu *vcpu, __u64 time_ns,
		       const struct fields *f)
{
	vcpu->id = f->id;
	return reader_change(r, vcpu, time_ns, f->old_ns, f->new_ns);
}

/* "vcpu 0: poll of 20000 ns skipped" */
static bool parse_skip(const char *s, struct fields *f)
{
	return take_vcpu(&s, &f->id) && take(&s, "poll of ") && parse_u64(&s, &f->ns) &&
	       take(&s, " ns skipped") && at_end(s);
}

static int tell_skip(struct reader *r, struct vcpu *vcpu, __u64 time_ns,
		     const struct fields *f)
{
	vcpu->id = f->id;
	return reader_skip(r, vcpu, time_ns);
}

/* Each by its name; the most frequent first. */
static const struct text_event {
	const char *name;
	bool (*parse)(const char *s, struct fields *f);
	int (*tell)(struct reader *r, struct vcpu *vcpu, __u64 time_ns, const struct fields *f);
} text_events[] = {
	{ "kvm_vcpu_wakeup:", parse_wakeup, tell_wakeup },
	{ "kvm_halt_poll_ns:", parse_change, tell_change },
	{ "kvm_halt_poll_skip:", parse_skip, tell_skip },
};

static int read_event(struct reader *r, const char *line, const char *name,
		      const struct text_event *event)
{
	struct fields fields = {};
	struct context context;
	struct vcpu *vcpu;

	if (!parse_context(line, name, &context))
		return reader_error(r, "no thread and time in seconds before '%.40s'", name);
	if (!event->parse(skip_blanks(strchr(name, ':') + 1), &fields))
		return reader_error(r, "not as the kernel prints it, or cut short: '%.80s'", name);

	vcpu = reader_vcpu(r, context.pid);
	if (!vcpu)
		return -1;
	if (context.vm)
		vcpu->vm = context.vm;
	/* What tracefs prints of a thread whose name it did not keep. */
	if (context.comm_length != 5 || strncmp(context.comm, "<...>", 5))
		reader_comm(vcpu, context.comm, context.comm_length);
	return event->tell(r, vcpu, context.time_ns, &fields);
}

/*
 * tracefs: "CPU:2 [LOST 12 EVENTS]"; trace-cmd: "CPU:2 [12 EVENTS DROPPED]";
 * either without a number if it is not known: at least one.  perf: "... 5.123456:
 * PERF_RECORD_LOST lost 12".
 */
static void read_lost(struct reader *r, const char *line)
{
	static const char perf[] = "PERF_RECORD_LOST lost ";
	const char *s = strstr(line, perf);
	__u64 cpu, lost = 1;

	if (s) {
		s += strlen(perf);
		if (parse_u64(&s, &lost))
			r->trace->lost += lost;
		return;
	}
	s = skip_blanks(line);
	if (!take(&s, "CPU:") || !parse_u64(&s, &cpu) || !take(&s, " ["))
		return;
	take(&s, "LOST ");
	if (parse_u64(&s, &lost))
		take(&s, " ");
	if (take(&s, "EVENTS]") || take(&s, "EVENTS DROPPED]"))
		r->trace->lost += lost;
}

/* tracefs' heading: of so many events that were written so many are left. */
static void read_written(struct reader *r, const char *line)
{
	__u64 left, written;
	const char *s = line;

	if (take(&s, "# entries-in-buffer/entries-written: ") && parse_u64(&s, &left) &&
	    take(&s, "/") && parse_u64(&s, &written) && written > left)
		r->trace->lost += written - left;
}

/* "perf script --header" tells the kernel. */
static int read_comment(struct reader *r, const char *line)
{
	const char *s = line;

	if (!take(&s, "# os release : ")) {
		read_written(r, line);
		return 0;
	}
	return reader_release(r, s);
}

/* The last place where @name stands, as a thread may be called like it. */
static const char *find_last(const char *line, const char *name)
{
	const char *found, *last = NULL;

	for (found = strstr(line, name); found; found = strstr(found + 1, name))
		last = found;
	return last;
}

static int read_line(struct reader *r, const char *line)
{
	const char *name;
	size_t i;

	if (*line == '#')
		return read_comment(r, line);
	for (i = 0; i < sizeof(text_events) / sizeof(*text_events); i++) {
		name = find_last(line, text_events[i].name);
		if (name)
			return read_event(r, line, name, &text_events[i]);
	}
	read_lost(r, line);
	return 0;
}

int read_text(struct reader *r)
{
	long length;
	char *line;
	int ret;

	while ((length = reader_line(r, &line)) >= 0) {
		ret = read_line(r, line);
		if (ret)
			return ret;
	}
	return length == -2 ? -1 : 0;
}
