// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each CPU has a buffer of its own, and a thread that moves to another CPU has
 * its events in both.  In each round all buffers are emptied; whatever happened
 * a while before the round began has been read by its end, and is delivered in
 * order of time.  The rest waits for the next round.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <kbuffer.h>
#include <tracefs.h>

#include "cmd.h"
#include "events.h"
#include "live.h"

#define NSEC 1000000000ULL
#define ROUND_NS 100000000
/* An event is in its buffer, once it has its time, long before this is over. */
#define SETTLED_NS 50000000
/* Pids are below this: the kernel's PID_MAX_LIMIT. */
#define PID_LIMIT 4194304
#define PARAMETERS "/sys/module/kvm/parameters/"

struct pending {
	__u64 time_ns;
	__u64 number;		/* as it was read: the order where times are equal */
	__u64 lost;		/* just before it */
	enum event_kind kind;
	struct event event;
};

struct live_vcpu {
	struct vcpu vcpu;
	__u64 time_ns;		/* of the last event delivered */
	__u64 checked_ns;	/* the same, when live_drop_gone() saw it last */
	char vm_comm[16];
};

struct live {
	struct trace *trace;
	const struct trace_sink *sink;
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct event_formats formats;
	struct kbuffer *kbuffer;
	struct tracefs_cpu **cpus;
	int nr_cpus;
	unsigned int buffer_kb;
	void *page;
	struct pending *pending;
	size_t nr_pending, room;
	__u64 nr_read;
	struct live_vcpu **by_pid;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

bool live_stopped(void)
{
	return stopped;
}

__u64 live_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

__u64 live_settled_ns(void)
{
	return live_now_ns() - SETTLED_NS;
}

void live_pause(void)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };

	nanosleep(&pause, NULL);
}

static bool read_parameter(const char *name, unsigned int *value)
{
	char path[96];
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%u", value) == 1;
	fclose(file);
	return found;
}

void live_read_params(struct live *l)
{
	struct trace_params *p = &l->trace->params;

	p->known = read_parameter("halt_poll_ns", &p->max_ns) &&
		   read_parameter("halt_poll_ns_grow", &p->grow) &&
		   read_parameter("halt_poll_ns_grow_start", &p->grow_start_ns) &&
		   read_parameter("halt_poll_ns_shrink", &p->shrink);
}

/* Name and process of a thread; false if it is gone. */
static bool read_status(int pid, char comm[16], int *tgid)
{
	char path[32], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Name:\t%15[^\n]", comm) != 1)
			found = sscanf(line, "Tgid:\t%d", tgid) == 1;
	}
	fclose(file);
	return found;
}

/* Who a thread is: while it lives, since the kernel keeps no more than names. */
static void identify(struct live_vcpu *v)
{
	int tgid;

	if (read_status(v->vcpu.pid, v->vcpu.comm, &v->vcpu.vm))
		read_status(v->vcpu.vm, v->vm_comm, &tgid);
}

static struct live_vcpu *add_vcpu(struct live *l, int pid)
{
	size_t nr = l->trace->nr_vcpus;
	struct live_vcpu *v;
	struct vcpu **vcpus;

	vcpus = realloc(l->trace->vcpus, (nr + 1) * sizeof(*vcpus));
	if (vcpus)
		l->trace->vcpus = vcpus;
	v = calloc(1, sizeof(*v));
	if (!vcpus || !v) {
		free(v);
		fail("out of memory at vCPU %d", pid);
		return NULL;
	}
	v->vcpu.pid = pid;
	v->vcpu.vm = -1;
	v->vcpu.id = -1;
	identify(v);
	l->by_pid[pid] = v;
	vcpus[l->trace->nr_vcpus++] = &v->vcpu;
	return v;
}

static struct live_vcpu *live_vcpu_of(const struct vcpu *vcpu)
{
	return (struct live_vcpu *)vcpu;
}

const char *live_vm_comm(const struct vcpu *vcpu)
{
	return live_vcpu_of(vcpu)->vm_comm;
}

/*
 * Another process' thread may have the pid of one that is gone.  Of one that is gone
 * some events may still be on their way: it stays until none came for a while.
 */
static bool is_gone(struct live_vcpu *v)
{
	__u64 checked_ns = v->checked_ns;
	int vm;

	v->checked_ns = v->time_ns;
	if (read_status(v->vcpu.pid, v->vcpu.comm, &vm))
		return vm != v->vcpu.vm;
	return v->time_ns == checked_ns;
}

void live_drop_gone(struct live *l, void (*forget)(struct vcpu *vcpu))
{
	size_t i, kept = 0;

	for (i = 0; i < l->trace->nr_vcpus; i++) {
		struct vcpu *vcpu = l->trace->vcpus[i];

		if (!is_gone(live_vcpu_of(vcpu))) {
			l->trace->vcpus[kept++] = vcpu;
			continue;
		}
		forget(vcpu);
		l->by_pid[vcpu->pid] = NULL;
		free(live_vcpu_of(vcpu));
	}
	l->trace->nr_vcpus = kept;
}

static int pass_change(struct live *l, struct live_vcpu *v, const struct pending *p)
{
	const struct change change = {
		.time_ns = p->time_ns,
		.old_ns = p->event.old_ns,
		.new_ns = p->event.new_ns,
	};

	v->vcpu.id = p->event.id;
	return l->sink->change(l->sink->ctx, &v->vcpu, &change);
}

static int pass_halt(struct live *l, struct live_vcpu *v, const struct pending *p)
{
	const struct halt halt = {
		.time_ns = p->time_ns,
		.ns = p->event.ns,
		.waited = p->event.waited,
		.valid = p->event.valid,
		.skipped = trace_skipped(l->trace, &v->vcpu),
	};

	return l->sink->halt(l->sink->ctx, &v->vcpu, &halt);
}

static int pass_skip(struct live *l, struct live_vcpu *v, const struct pending *p)
{
	v->vcpu.id = p->event.id;
	trace_skip(l->trace, &v->vcpu);
	return 0;
}

static int deliver_event(struct live *l, const struct pending *p)
{
	const struct event *e = &p->event;
	struct live_vcpu *v;

	l->trace->lost += p->lost;
	if (p->kind == EVENT_OTHER || e->pid < 0 || e->pid >= PID_LIMIT)
		return 0;
	v = l->by_pid[e->pid] ?: add_vcpu(l, e->pid);
	if (!v)
		return -1;
	/* Held back by its CPU for too long; in a trace time must not run backwards. */
	if (p->time_ns < v->time_ns) {
		l->trace->lost++;
		return 0;
	}
	v->time_ns = p->time_ns;
	if (p->kind == EVENT_SKIP)
		return pass_skip(l, v, p);
	return p->kind == EVENT_CHANGE ? pass_change(l, v, p) : pass_halt(l, v, p);
}

static int by_time(const void *a, const void *b)
{
	const struct pending *p = a, *q = b;

	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	return p->number < q->number ? -1 : p->number > q->number;
}

int live_deliver(struct live *l, __u64 until_ns)
{
	int ret = 0;
	size_t i;

	/* Before the first event there is no array. */
	if (!l->nr_pending)
		return 0;
	qsort(l->pending, l->nr_pending, sizeof(*l->pending), by_time);
	for (i = 0; !ret && i < l->nr_pending && l->pending[i].time_ns < until_ns; i++)
		ret = deliver_event(l, &l->pending[i]);
	l->nr_pending -= i;
	memmove(l->pending, l->pending + i, l->nr_pending * sizeof(*l->pending));
	return ret;
}

static int add_pending(struct live *l, void *data, int size, __u64 time_ns, __u64 lost)
{
	struct pending *p;

	if (l->nr_pending == l->room) {
		size_t room = 2 * l->room + 4096;

		p = realloc(l->pending, room * sizeof(*p));
		if (!p)
			return fail("out of memory at %zu events", l->room);
		l->pending = p;
		l->room = room;
	}
	p = &l->pending[l->nr_pending];
	p->kind = event_decode(&l->formats, data, size, &p->event);
	if (p->kind == EVENT_DAMAGED)
		return fail("an event is shorter than its fields");
	if (p->kind == EVENT_HALT && p->event.ns > HALT_NS_MAX)
		return fail("a halt of %llu ns", p->event.ns);
	if (p->kind == EVENT_OTHER && !lost)
		return 0;
	p->time_ns = time_ns;
	p->number = l->nr_read++;
	p->lost = lost;
	l->nr_pending++;
	return 0;
}

static int read_page(struct live *l)
{
	unsigned long long time_ns;
	long long missed;
	void *data;

	kbuffer_load_subbuffer(l->kbuffer, l->page);
	missed = kbuffer_missed_events(l->kbuffer);
	for (data = kbuffer_read_event(l->kbuffer, &time_ns); data;
	     data = kbuffer_next_event(l->kbuffer, &time_ns)) {
		/* Negative: some, but the page has no room to say how many. */
		if (add_pending(l, data, kbuffer_event_size(l->kbuffer), time_ns,
				missed < 0 ? 1 : missed))
			return -1;
		missed = 0;
	}
	return 0;
}

int live_read(struct live *l)
{
	int cpu, got;

	for (cpu = 0; cpu < l->nr_cpus; cpu++) {
		/* Twice what it holds, and a few: a CPU may fill it as fast. */
		unsigned int pages = l->buffer_kb / 2 + 8;

		while (pages-- && l->cpus[cpu]) {
			got = tracefs_cpu_read(l->cpus[cpu], l->page, true);
			if (got <= 0)
				break;
			if (read_page(l))
				return -1;
		}
	}
	return 0;
}

__u64 live_lost(const struct live *l)
{
	static const char * const names[] = { "\noverrun: ", "\ndropped events: " };
	char path[48], *stats;
	const char *found;
	__u64 lost = 0;
	size_t i;
	int cpu;

	for (cpu = 0; cpu < l->nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", cpu);
		stats = tracefs_instance_file_read(l->instance, path, NULL);
		for (i = 0; stats && i < sizeof(names) / sizeof(*names); i++) {
			found = strstr(stats, names[i]);
			if (found)
				lost += strtoull(found + strlen(names[i]), NULL, 10);
		}
		free(stats);
	}
	return lost > l->trace->lost ? lost : l->trace->lost;
}

int live_finish(struct live *l)
{
	tracefs_trace_off(l->instance);
	if (live_read(l) || live_deliver(l, ~0ULL))
		return -1;
	l->trace->lost = live_lost(l);
	return 0;
}

/* Each thread by itself, since tracefs knows no processes. */
static int set_pid(struct live *l, const char *pid)
{
	char dir[32], line[32];
	struct dirent *entry;
	DIR *threads;
	int ret = 0;

	snprintf(dir, sizeof(dir), "/proc/%s/task", pid);
	threads = opendir(dir);
	if (!threads)
		return fail("no process %s", pid);
	while (!ret && (entry = readdir(threads))) {
		snprintf(line, sizeof(line), "%.20s\n", entry->d_name);
		if (*line != '.' &&
		    tracefs_instance_file_append(l->instance, "set_event_pid", line) < 0)
			ret = fail("pid %s cannot be traced: %s", pid, strerror(errno));
	}
	closedir(threads);
	return ret;
}

static int write_setting(struct live *l, const char *file, const char *value)
{
	if (tracefs_instance_file_write(l->instance, file, value) >= 0)
		return 0;
	return fail("tracefs: '%s' cannot be set to '%s': %s", file, value, strerror(errno));
}

static int open_cpus(struct live *l)
{
	int cpu, opened = 0, size = 0;

	for (cpu = 0; cpu < l->nr_cpus; cpu++) {
		/* A CPU that never was online has no buffer. */
		l->cpus[cpu] = tracefs_cpu_open(l->instance, cpu, true);
		if (!l->cpus[cpu])
			continue;
		opened++;
		size = tracefs_cpu_read_size(l->cpus[cpu]);
	}
	l->page = opened ? malloc(size) : NULL;
	if (!l->page)
		return fail("tracefs: no CPU's buffer can be read: %s", strerror(errno));
	return 0;
}

static void set_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = stop };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

int live_start(struct live *l, unsigned int buffer_kb, const char **pids, unsigned int nr_pids)
{
	char name[40], size[16];
	unsigned int i;

	snprintf(name, sizeof(name), "kvm_halt_poll-%d", getpid());
	l->instance = tracefs_instance_create(name);
	if (!l->instance)
		return fail("tracefs: no instance can be made: %s", strerror(errno));
	l->buffer_kb = buffer_kb;
	snprintf(size, sizeof(size), "%u", l->buffer_kb);
	/* The clock that halts are measured by. */
	if (write_setting(l, "trace_clock", "mono") ||
	    write_setting(l, "buffer_size_kb", size))
		return -1;
	for (i = 0; i < nr_pids; i++) {
		if (set_pid(l, pids[i]))
			return -1;
	}
	if (nr_pids)
		/* vCPUs that are plugged in later; old kernels do without. */
		tracefs_option_enable(l->instance, TRACEFS_OPTION_EVENT_FORK);
	if (open_cpus(l))
		return -1;
	/* Enabling takes a while, in which halts would come without their changes. */
	if (tracefs_trace_off(l->instance) ||
	    tracefs_event_enable(l->instance, "kvm", "kvm_vcpu_wakeup") ||
	    (l->formats.change_id >= 0 &&
	     tracefs_event_enable(l->instance, "kvm", "kvm_halt_poll_ns")) ||
	    (l->formats.skip_id >= 0 &&
	     tracefs_event_enable(l->instance, "kvm", "kvm_halt_poll_skip")) ||
	    tracefs_trace_on(l->instance))
		return fail("tracefs: the events cannot be enabled: %s", strerror(errno));
	return 0;
}

static int check_tracefs(void)
{
	const char *dir = tracefs_tracing_dir();

	if (!dir)
		return fail("no tracefs: is this run as root, on a kernel that has it?");
	if (access(dir, R_OK | W_OK | X_OK))
		return fail("%s: cannot be used: %s", dir, strerror(errno));
	if (!tracefs_file_exists(NULL, "events/kvm/kvm_vcpu_wakeup/enable"))
		return fail("%s: has no event kvm:kvm_vcpu_wakeup: is kvm loaded?", dir);
	return 0;
}

/* What a page has and where, the same for all CPUs. */
static int prepare_reading(struct live *l)
{
	static const char * const systems[] = { "kvm", NULL };
	const char *error;

	l->tep = tracefs_local_events_system(NULL, systems);
	if (!l->tep)
		return fail("tracefs: the events' formats cannot be read");
	error = event_formats_find(&l->formats, l->tep);
	if (error)
		return fail("tracefs: %s", error);
	l->kbuffer = kbuffer_alloc(tep_get_header_page_size(l->tep) == 8 ?
				   KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
				   tep_is_local_bigendian(l->tep) ?
				   KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	l->by_pid = calloc(PID_LIMIT, sizeof(*l->by_pid));
	l->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	l->cpus = calloc(l->nr_cpus, sizeof(*l->cpus));
	if (!l->kbuffer || !l->by_pid || !l->cpus)
		return fail("out of memory");
	return 0;
}

struct live *live_open(struct trace *trace, const struct trace_sink *sink)
{
	struct live *l = calloc(1, sizeof(*l));
	struct utsname uts;

	if (!l) {
		fail("out of memory");
		return NULL;
	}
	set_signals();
	tracefs_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	l->trace = trace;
	l->sink = sink;
	if (check_tracefs() || prepare_reading(l)) {
		live_close(l);
		return NULL;
	}
	uname(&uts);
	snprintf(trace->release, sizeof(trace->release), "%s", uts.release);
	live_read_params(l);
	return l;
}

void live_close(struct live *l)
{
	int cpu;

	for (cpu = 0; cpu < l->nr_cpus && l->cpus; cpu++) {
		if (l->cpus[cpu])
			tracefs_cpu_close(l->cpus[cpu]);
	}
	if (l->instance) {
		tracefs_event_disable(l->instance, "kvm", NULL);
		tracefs_instance_destroy(l->instance);
		tracefs_instance_free(l->instance);
	}
	if (l->kbuffer)
		kbuffer_free(l->kbuffer);
	tep_free(l->tep);
	free(l->page);
	free(l->cpus);
	free(l->by_pid);
	free(l->pending);
	free(l);
}
