// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces: what kind they are, who the vCPUs are, and what no trace may have.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "own.h"
#include "reader.h"

/* As much as the kind of a trace is told from. */
#define HEAD_SIZE 4096

/* A vCPU and what reading needs beside it. */
struct entry {
	struct vcpu vcpu;
	__u64 time_ns;		/* of the last event */
	__u64 end_ns;		/* of the last halt */
	__u64 halts;
};

struct slot {
	int pid;
	struct entry *entry;	/* NULL: free */
};

static const char *name_of(const struct reader *r)
{
	return strcmp(r->trace->name, "-") ? r->trace->name : "standard input";
}

int reader_error(struct reader *r, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (r->line)
		return fail("%s:%llu: %s", name_of(r), r->line, text);
	if (r->offset)
		return fail("%s: offset %llu: %s", name_of(r), r->offset, text);
	return fail("%s: %s", name_of(r), text);
}

/* Reads until @wanted bytes are there or there are no more: 0 or -1. */
static int input_fill(struct reader *r, size_t wanted)
{
	struct input *in = &r->in;
	ssize_t got;

	if (in->start) {
		memmove(in->buf, in->buf + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	while (in->end < wanted && !in->eof) {
		got = read(in->fd, in->buf + in->end, INPUT_SIZE - in->end);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return reader_error(r, "cannot be read: %s", strerror(errno));
		}
		in->eof = !got;
		in->end += got;
	}
	return 0;
}

long reader_line(struct reader *r, char **line)
{
	struct input *in = &r->in;
	size_t length, known = 0;
	char *end;

	for (;;) {
		length = in->end - in->start;
		end = memchr(in->buf + in->start + known, '\n', length - known);
		if (end || in->eof)
			break;
		known = length;
		if (known == INPUT_SIZE) {
			r->line++;
			reader_error(r, "not a trace: the line has no end");
			return -2;
		}
		if (input_fill(r, known + 1))
			return -2;
	}

	if (!length)
		return -1;
	r->line++;
	if (!end) {
		reader_error(r, "cut short: the last line does not end");
		return -2;
	}
	*line = in->buf + in->start;
	length = end - *line;
	in->start += length + 1;
	if (length && (*line)[length - 1] == '\r')
		length--;
	/* The buffer has room for one more than is read into it. */
	(*line)[length] = 0;
	return length;
}

bool parse_u64(const char **p, __u64 *value)
{
	const char *s = *p;
	__u64 n = 0;
	unsigned int digit;

	for (; (digit = (unsigned char)*s - '0') < 10; s++) {
		/* 19 digits fit always. */
		if (s - *p >= 19 && (n > ULLONG_MAX / 10 || n * 10 > ULLONG_MAX - digit))
			return false;
		n = n * 10 + digit;
	}
	if (s == *p)
		return false;
	*value = n;
	*p = s;
	return true;
}

/* The slot of @pid, or the free one where it belongs. */
static struct slot *find_slot(struct slot *slots, size_t nr_slots, int pid)
{
	/* Multiplicative hashing: pids are often consecutive. */
	size_t i = (__u32)pid * 2654435769ULL;

	for (;; i++) {
		struct slot *slot = &slots[i & (nr_slots - 1)];

		if (!slot->entry || slot->pid == pid)
			return slot;
	}
}

static int grow_table(struct reader *r)
{
	size_t i, nr_slots = r->nr_slots ? 2 * r->nr_slots : 64;
	struct slot *slots = calloc(nr_slots, sizeof(*slots));
	struct vcpu **vcpus;

	vcpus = realloc(r->trace->vcpus, nr_slots / 2 * sizeof(*vcpus));
	if (vcpus)
		r->trace->vcpus = vcpus;
	if (!slots || !vcpus) {
		free(slots);
		return reader_error(r, "out of memory at %zu vCPUs", r->trace->nr_vcpus);
	}
	for (i = 0; i < r->nr_slots; i++) {
		if (r->slots[i].entry)
			*find_slot(slots, nr_slots, r->slots[i].pid) = r->slots[i];
	}
	free(r->slots);
	r->slots = slots;
	r->nr_slots = nr_slots;
	return 0;
}

static struct vcpu *add_vcpu(struct reader *r, int pid)
{
	struct trace *trace = r->trace;
	struct entry *entry;

	/* Half of the slots stay free. */
	if (trace->nr_vcpus == r->nr_slots / 2 && grow_table(r))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		reader_error(r, "out of memory at %zu vCPUs", trace->nr_vcpus);
		return NULL;
	}
	entry->vcpu.pid = pid;
	entry->vcpu.vm = -1;
	entry->vcpu.id = -1;
	*find_slot(r->slots, r->nr_slots, pid) = (struct slot){ pid, entry };
	trace->vcpus[trace->nr_vcpus++] = &entry->vcpu;
	return &entry->vcpu;
}

struct vcpu *reader_vcpu(struct reader *r, __u64 pid)
{
	struct slot *slot;

	if (r->last && (__u64)r->last->pid == pid)
		return r->last;
	if (pid > INT_MAX) {
		reader_error(r, "%llu is no number of a vCPU's thread", pid);
		return NULL;
	}
	slot = r->nr_slots ? find_slot(r->slots, r->nr_slots, pid) : NULL;
	r->last = slot && slot->entry ? &slot->entry->vcpu : add_vcpu(r, pid);
	return r->last;
}

void reader_comm(struct vcpu *vcpu, const char *comm, size_t length)
{
	if (vcpu->comm[0])
		return;
	if (length >= sizeof(vcpu->comm))
		length = sizeof(vcpu->comm) - 1;
	memcpy(vcpu->comm, comm, length);
	vcpu->comm[length] = 0;
}

int reader_release(struct reader *r, const char *release)
{
	char *known = r->trace->release;

	if (*known && strcmp(known, release))
		return reader_error(r, "events of several kernels mixed: %.64s after %s",
				    release, known);
	snprintf(known, sizeof(r->trace->release), "%s", release);
	return 0;
}

static int check_time(struct reader *r, struct entry *entry, __u64 time_ns)
{
	if (time_ns < entry->time_ns)
		return reader_error(r, "time runs backwards on vCPU %d: %llu ns after %llu ns",
				    entry->vcpu.pid, time_ns, entry->time_ns);
	entry->time_ns = time_ns;
	return 0;
}

/*
 * No halt starts before the one before it ended.  Times are cut to microseconds in
 * some texts, and the clock of the events may go up to 1/1000 slower than that of
 * the halts.
 */
static int check_start(struct reader *r, struct entry *entry, __u64 time_ns, __u64 ns)
{
	const __u64 gap_ns = time_ns - entry->end_ns;

	if (entry->halts && ns > gap_ns && ns - gap_ns > 1000 + ns / 1000)
		return reader_error(r, "time runs backwards on vCPU %d: a halt of %llu ns, but the "
				    "one before ended %llu ns ago", entry->vcpu.pid, ns, gap_ns);
	entry->end_ns = time_ns;
	return 0;
}

int reader_halt(struct reader *r, struct vcpu *vcpu, __u64 time_ns, __u64 ns,
		bool waited, bool valid)
{
	struct entry *entry = (struct entry *)vcpu;
	const struct halt halt = {
		.time_ns = time_ns, .ns = ns, .waited = waited, .valid = valid,
		.skipped = trace_skipped(r->trace, vcpu),
	};

	if (ns > HALT_NS_MAX)
		return reader_error(r, "%llu ns is no time that a halt can take", ns);
	if (check_time(r, entry, time_ns) || check_start(r, entry, time_ns, ns))
		return -1;
	entry->halts++;
	r->halts++;
	return r->sink->halt ? r->sink->halt(r->sink->ctx, vcpu, &halt) : 0;
}

int reader_change(struct reader *r, struct vcpu *vcpu, __u64 time_ns, __u64 old_ns,
		  __u64 new_ns)
{
	struct entry *entry = (struct entry *)vcpu;
	const struct change change = {
		.time_ns = time_ns, .before = entry->halts,
		.old_ns = old_ns, .new_ns = new_ns,
	};

	if (old_ns > UINT_MAX || new_ns > UINT_MAX)
		return reader_error(r, "%llu ns is no interval",
				    old_ns > UINT_MAX ? old_ns : new_ns);
	if (check_time(r, entry, time_ns))
		return -1;
	return r->sink->change ? r->sink->change(r->sink->ctx, vcpu, &change) : 0;
}

int reader_skip(struct reader *r, struct vcpu *vcpu, __u64 time_ns)
{
	if (check_time(r, (struct entry *)vcpu, time_ns))
		return -1;
	trace_skip(r->trace, vcpu);
	return 0;
}

/* Where there is a character that no text has: its offset; else -1. */
static long find_binary(const char *s, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		unsigned char c = s[i];

		if (!c || (c < ' ' && !strchr("\t\n\r\f\v\033", c)))
			return i;
	}
	return -1;
}

static bool starts_with(const struct input *in, const char *start)
{
	return !strncmp(in->buf, start, strlen(start));
}

/* Numbers with commas between them. */
static bool is_row(const char *line)
{
	size_t length = strspn(line, "0123456789,");

	return length && (line[length] == '\n' || line[length] == '\r') &&
	       memchr(line, ',', length);
}

static int read_any(struct reader *r)
{
	struct input *in = &r->in;
	long binary;

	if (input_fill(r, HEAD_SIZE))
		return -1;
	in->buf[in->end] = 0;
	if (!in->end)
		return reader_error(r, "empty");

	if (starts_with(in, "\027\010Dtracing")) {
		r->trace->kind = "trace.dat";
		return read_dat(r);
	}
	if (starts_with(in, "PERFILE2"))
		return reader_error(r, "is perf.data: give what 'perf script' makes of it");
	binary = find_binary(in->buf, in->end < HEAD_SIZE ? in->end : HEAD_SIZE);
	if (binary >= 0)
		return reader_error(r, "not a trace: binary data at offset %ld", binary);
	if (starts_with(in, OWN_NAME)) {
		r->trace->kind = "kvm_halt_poll record";
		return read_own(r);
	}
	if (starts_with(in, "vcpu,")) {
		r->trace->kind = "CSV";
		return read_own(r);
	}
	if (is_row(in->buf)) {
		r->line = 1;
		return reader_error(r, "no heading '%s' above the first row", OWN_HEADER);
	}
	r->trace->kind = "text";
	return read_text(r);
}

int trace_read(struct trace *trace, const char *name, const struct trace_sink *sink)
{
	struct reader r = { .trace = trace, .sink = sink };
	int ret;

	memset(trace, 0, sizeof(*trace));
	trace->name = name;
	r.in.fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (r.in.fd < 0)
		return fail("%s: cannot be read: %s", name, strerror(errno));

	r.in.buf = malloc(INPUT_SIZE + 1);
	ret = r.in.buf ? read_any(&r) : fail("out of memory");
	if (!ret && !r.halts) {
		r.line = 0;
		ret = reader_error(&r, "no event kvm_vcpu_wakeup in it, read as %s",
				   trace->kind);
	}
	free(r.in.buf);
	free(r.slots);
	if (r.in.fd != STDIN_FILENO)
		close(r.in.fd);
	return ret;
}

/* The array with room for one more, or NULL. */
static void *make_room(void *array, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return array;
	*room += *room / 2 + 4;
	return realloc(array, *room * size);
}

/* How much room the arrays have while they grow; in vcpu->priv. */
struct room {
	size_t halts, changes;
};

static struct room *room_of(struct vcpu *vcpu)
{
	if (!vcpu->priv)
		vcpu->priv = calloc(1, sizeof(struct room));
	return vcpu->priv;
}

static int load_halt(void *ctx, struct vcpu *vcpu, const struct halt *halt)
{
	struct room *room = room_of(vcpu);
	struct halt *halts = NULL;

	(void)ctx;
	if (room)
		halts = make_room(vcpu->halts, vcpu->nr_halts, &room->halts, sizeof(*halts));
	if (!halts)
		return fail("out of memory at %zu halts of vCPU %d", vcpu->nr_halts, vcpu->pid);
	vcpu->halts = halts;
	halts[vcpu->nr_halts++] = *halt;
	return 0;
}

static int load_change(void *ctx, struct vcpu *vcpu, const struct change *change)
{
	struct room *room = room_of(vcpu);
	struct change *changes = NULL;

	(void)ctx;
	if (room)
		changes = make_room(vcpu->changes, vcpu->nr_changes, &room->changes,
				    sizeof(*changes));
	if (!changes)
		return fail("out of memory at %zu changes of vCPU %d", vcpu->nr_changes,
			    vcpu->pid);
	vcpu->changes = changes;
	changes[vcpu->nr_changes++] = *change;
	return 0;
}

/* Gives back the room that is left. */
static void *trim(void *array, size_t nr, size_t size)
{
	void *trimmed = nr ? realloc(array, nr * size) : NULL;

	return trimmed ? trimmed : array;
}

int trace_load(struct trace *trace, const char *name)
{
	const struct trace_sink sink = { load_halt, load_change, NULL };
	int ret = trace_read(trace, name, &sink);
	size_t i;

	for (i = 0; i < trace->nr_vcpus; i++) {
		struct vcpu *v = trace->vcpus[i];

		v->halts = trim(v->halts, v->nr_halts, sizeof(*v->halts));
		v->changes = trim(v->changes, v->nr_changes, sizeof(*v->changes));
		free(v->priv);
		v->priv = NULL;
	}
	return ret;
}

void trace_free(struct trace *trace)
{
	size_t i;

	for (i = 0; i < trace->nr_vcpus; i++) {
		free(trace->vcpus[i]->halts);
		free(trace->vcpus[i]->changes);
		free(trace->vcpus[i]);
	}
	free(trace->vcpus);
	memset(trace, 0, sizeof(*trace));
}

void trace_skip(const struct trace *trace, struct vcpu *vcpu)
{
	vcpu->skips = true;
	vcpu->skips_lost = trace->lost;
}

bool trace_skipped(const struct trace *trace, struct vcpu *vcpu)
{
	bool skipped = vcpu->skips && vcpu->skips_lost == trace->lost;

	vcpu->skips = false;
	return skipped;
}
