/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What KVM traces of halt polling by this process, from a tracefs instance of
 * its own.
 */
#ifndef SELFTEST_KVM_HALT_POLL_TRACE_H
#define SELFTEST_KVM_HALT_POLL_TRACE_H

#include <sys/stat.h>

/* NULL if there is no tracing. */
static FILE *trace;
static char trace_dir[64];
/* Why, for whoever skips. */
static char no_trace[128];

enum trace_type { TRACE_WAKEUP, TRACE_INTERVAL, TRACE_SKIP, TRACE_LOST };

struct trace_event {
	enum trace_type type;
	/* A wakeup: */
	u64 halt_ns;
	bool blocked, valid;
	/* A change of the interval: */
	unsigned int vcpu, from_ns, to_ns;
	/* A poll that was skipped: */
	unsigned int skipped_ns;
	/* Events that the buffer had no room for: */
	u64 lost;
};

static inline bool write_trace(const char *name, const char *val)
{
	int len = strlen(val), fd;
	char path[128];
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;

	ok = write(fd, val, len) == len;
	close(fd);
	return ok;
}

/* Older systems have tracefs in debugfs alone. */
static inline bool make_trace_dir(void)
{
	static const char * const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int i;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(trace_dir, sizeof(trace_dir), "%s/instances/halt_poll-%d", roots[i],
			 getpid());
		if (!mkdir(trace_dir, 0700))
			return true;
		/* The first that is there has the better reason. */
		if (errno != ENOENT)
			break;
	}
	trace_dir[0] = '\0';
	return false;
}

/* Events of this thread and of those that it will create. */
static inline bool start_trace(void)
{
	char path[128], pid[16];
	int fd;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!make_trace_dir() || !write_trace("options/event-fork", "1") ||
	    !write_trace("set_event_pid", pid) ||
	    !write_trace("events/kvm/kvm_halt_poll_ns/enable", "1") ||
	    !write_trace("events/kvm/kvm_vcpu_wakeup/enable", "1"))
		return false;
	/* Not there on kernels without a budget. */
	write_trace("events/kvm/kvm_halt_poll_skip/enable", "1");

	snprintf(path, sizeof(path), "%s/trace_pipe", trace_dir);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0)
		trace = fdopen(fd, "r");
	return trace;
}

static inline void open_trace(void)
{
	if (!start_trace())
		snprintf(no_trace, sizeof(no_trace),
			 "No tracefs instance with KVM's events: %s", strerror(errno));
}

/* Also runs in signal handlers; rmdir() fails as long as the trace is open. */
static inline void close_trace(void)
{
	if (trace)
		close(fileno(trace));
	if (*trace_dir)
		rmdir(trace_dir);
}

static inline bool parse_event(const char *line, struct trace_event *e)
{
	const char *event = strstr(line, ": kvm_");
	char valid[16], how[16];

	memset(e, 0, sizeof(*e));
	if (sscanf(line, "CPU:%*d [LOST %lu EVENTS]", &e->lost) == 1) {
		e->type = TRACE_LOST;
		return true;
	}
	if (!event)
		return false;

	if (sscanf(event, ": kvm_vcpu_wakeup: %15s time %lu ns, polling %15s", how,
		   &e->halt_ns, valid) == 3) {
		e->type = TRACE_WAKEUP;
		e->blocked = !strcmp(how, "wait");
		e->valid = !strcmp(valid, "valid");
		return true;
	}
	if (sscanf(event, ": kvm_halt_poll_skip: vcpu %u: poll of %u ns skipped", &e->vcpu,
		   &e->skipped_ns) == 2) {
		e->type = TRACE_SKIP;
		return true;
	}
	e->type = TRACE_INTERVAL;
	return sscanf(event, ": kvm_halt_poll_ns: vcpu %u: halt_poll_ns %u (%*s %u)", &e->vcpu,
		      &e->to_ns, &e->from_ns) == 3;
}

/* Returns false if there is no more for now. */
static inline bool next_event(struct trace_event *e)
{
	char line[256];

	while (fgets(line, sizeof(line), trace)) {
		if (parse_event(line, e))
			return true;
	}
	/* Which is no reason not to read on later. */
	clearerr(trace);
	return false;
}

#endif /* SELFTEST_KVM_HALT_POLL_TRACE_H */
