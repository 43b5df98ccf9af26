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

enum trace_type { TRACE_WAKEUP, TRACE_INTERVAL, TRACE_LOST };

struct trace_event {
	enum trace_type type;
	/* A wakeup: */
	u64 halt_ns;
	bool valid;
	/* A change of the interval: */
	unsigned int vcpu, from_ns, to_ns;
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

/* Events of this thread and of those that it will create. */
static inline void open_trace(void)
{
	char path[128], pid[16];
	int fd;

	snprintf(trace_dir, sizeof(trace_dir), "/sys/kernel/tracing/instances/halt_poll-%d",
		 getpid());
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (mkdir(trace_dir, 0700)) {
		trace_dir[0] = '\0';
		return;
	}

	if (!write_trace("options/event-fork", "1") || !write_trace("set_event_pid", pid) ||
	    !write_trace("events/kvm/kvm_halt_poll_ns/enable", "1") ||
	    !write_trace("events/kvm/kvm_vcpu_wakeup/enable", "1"))
		return;

	snprintf(path, sizeof(path), "%s/trace_pipe", trace_dir);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0)
		trace = fdopen(fd, "r");
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
	char valid[16];

	memset(e, 0, sizeof(*e));
	if (sscanf(line, "CPU:%*d [LOST %lu EVENTS]", &e->lost) == 1) {
		e->type = TRACE_LOST;
		return true;
	}
	if (!event)
		return false;

	if (sscanf(event, ": kvm_vcpu_wakeup: %*s time %lu ns, polling %15s", &e->halt_ns,
		   valid) == 2) {
		e->type = TRACE_WAKEUP;
		e->valid = !strcmp(valid, "valid");
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
