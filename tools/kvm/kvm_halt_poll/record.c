// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records the halts of this host's vCPUs, in an instance of tracefs of its own.
 *
 * Each CPU has a buffer of its own, and a thread that moves to another CPU has
 * its events in both.  In each round all buffers are emptied; whatever happened
 * a while before the round began has been read by its end, and is written in
 * order of time.  The rest waits for the next round.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
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
#include "own.h"

#define NSEC 1000000000ULL
#define ROUND_NS 100000000
/* An event is in its buffer, once it has its time, long before this is over. */
#define SETTLED_NS 50000000
#define BUFFER_KB 4096
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

struct record {
	/* options */
	double seconds;		/* 0: until it is interrupted */
	const char *name;
	const char **pids;	/* of processes */
	int nr_pids;		/* 0: all */
	unsigned int buffer_kb;

	struct output out;
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct event_formats formats;
	struct kbuffer *kbuffer;
	struct tracefs_cpu **cpus;
	int nr_cpus;
	void *page;

	struct pending *pending;
	size_t nr_pending, room;
	__u64 *last_ns;		/* by pid, of the last event written; 0: not seen yet */
	__u64 nr_read, halts, vcpus, lost;
	__u64 start_ns;
	__u64 shown;		/* seconds of progress, plus 1 */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

static void usage(void)
{
	printf("usage: kvm_halt_poll record [OPTION...]\n\n"
	       "Records each halt of this host's vCPUs, and each change of their polling\n"
	       "interval, until it is interrupted.\n\n"
	       "  -d, --duration SECONDS  for so long\n"
	       "  -p, --pid PID           only this process' threads; may be given again\n"
	       "  -o, --output FILE       kvm_halt_poll.csv unless given; -: standard output\n"
	       "  -b, --buffer KB         for each CPU, in the kernel; %d unless given\n"
	       "  -h, --help              this\n", BUFFER_KB);
}

static bool parse_seconds(const char *text, double *seconds)
{
	char *end;

	if (text[strspn(text, "0123456789.")])
		return false;
	*seconds = strtod(text, &end);
	return end != text && !*end && *seconds > 0 && *seconds <= 1e9;
}

/* A positive number of up to eight digits: a pid, or a size. */
static bool is_number(const char *text)
{
	return *text && strlen(text) <= 8 && !text[strspn(text, "0123456789")] &&
	       strtoul(text, NULL, 10);
}

/* False if that is all; *@status is what to exit with. */
static bool parse_options(struct record *rec, int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "pid", required_argument, NULL, 'p' },
		{ "output", required_argument, NULL, 'o' },
		{ "buffer", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	*status = EXIT_USAGE;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "d:p:o:b:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (!parse_seconds(optarg, &rec->seconds)) {
				fail("'%s' is no number of seconds", optarg);
				return false;
			}
			break;
		case 'p':
			if (!is_number(optarg)) {
				fail("'%s' is no pid", optarg);
				return false;
			}
			rec->pids[rec->nr_pids++] = optarg;
			break;
		case 'o':
			rec->name = optarg;
			break;
		case 'b':
			if (!is_number(optarg)) {
				fail("'%s' is no number of KB", optarg);
				return false;
			}
			rec->buffer_kb = strtoul(optarg, NULL, 10);
			break;
		case 'h':
			usage();
			*status = EXIT_OK;
			return false;
		default:
			fail("%s: no such option, or it needs a value (see record --help)",
			     argv[optind - 1]);
			return false;
		}
	}
	if (optind < argc) {
		fail("record takes no argument '%s'", argv[optind]);
		return false;
	}
	return true;
}

/* The first line of a small file, or "" if there is none. */
static void read_first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");

	*line = 0;
	if (!file)
		return;
	if (!fgets(line, size, file))
		*line = 0;
	line[strcspn(line, "\n")] = 0;
	fclose(file);
}

static void write_heading(struct record *rec)
{
	static const char * const names[] = {
		"halt_poll_ns", "halt_poll_ns_grow", "halt_poll_ns_grow_start",
		"halt_poll_ns_shrink",
	};
	char path[96], values[4][16];
	struct utsname uts;
	bool known = true;
	int i;

	uname(&uts);
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", names[i]);
		read_first_line(path, values[i], sizeof(values[i]));
		known &= *values[i] != 0;
	}
	fprintf(rec->out.file, OWN_VERSION "\n" OWN_KERNEL "%s\n", uts.release);
	if (known)
		fprintf(rec->out.file, OWN_PARAMS "%s,%s,%s,%s\n", values[0], values[1],
			values[2], values[3]);
	fprintf(rec->out.file, OWN_HEADER "\n");
}

/* Who a thread is: while it lives, since the kernel keeps no more than names. */
static void write_vcpu(struct record *rec, int pid)
{
	char path[32], line[128], comm[32] = "", tgid[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!*comm)
			sscanf(line, "Name:\t%31[^\n]", comm);
		if (sscanf(line, "Tgid:\t%15[0-9]", tgid) == 1)
			break;
	}
	if (file)
		fclose(file);
	fprintf(rec->out.file, OWN_VCPU "%d,%s,%s\n", pid, tgid, comm);
	rec->vcpus++;
}

static void write_event(struct record *rec, const struct pending *p)
{
	const struct event *e = &p->event;
	FILE *file = rec->out.file;

	if (p->lost) {
		fprintf(file, OWN_LOST "%llu\n", p->lost);
		rec->lost += p->lost;
	}
	if (p->kind == EVENT_OTHER || e->pid < 0 || e->pid >= PID_LIMIT)
		return;
	if (!rec->last_ns[e->pid])
		write_vcpu(rec, e->pid);
	/* Held back by its CPU for too long; in a file time must not run backwards. */
	if (p->time_ns < rec->last_ns[e->pid]) {
		fprintf(file, OWN_LOST "1\n");
		rec->lost++;
		return;
	}
	rec->last_ns[e->pid] = p->time_ns;
	if (p->kind == EVENT_CHANGE) {
		fprintf(file, OWN_INTERVAL "%d,%u,%llu,%u,%u\n", e->pid, e->id, p->time_ns,
			e->old_ns, e->new_ns);
	} else {
		fprintf(file, "%d,%llu,%llu,%d,%d\n", e->pid, p->time_ns, e->ns, e->waited,
			e->valid);
		rec->halts++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct pending *p = a, *q = b;

	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	return p->number < q->number ? -1 : p->number > q->number;
}

/* Writes what happened before @until_ns, and keeps the rest. */
static int write_settled(struct record *rec, __u64 until_ns)
{
	size_t i;

	qsort(rec->pending, rec->nr_pending, sizeof(*rec->pending), by_time);
	for (i = 0; i < rec->nr_pending && rec->pending[i].time_ns < until_ns; i++)
		write_event(rec, &rec->pending[i]);
	rec->nr_pending -= i;
	memmove(rec->pending, rec->pending + i, rec->nr_pending * sizeof(*rec->pending));
	/* Whoever reads it through a pipe gets it now; and a full disk is told of. */
	if (fflush(rec->out.file))
		return fail("%s: cannot be written: %s", rec->out.name, strerror(errno));
	return 0;
}

static int add_pending(struct record *rec, void *data, int size, __u64 time_ns, __u64 lost)
{
	struct pending *p;

	if (rec->nr_pending == rec->room) {
		size_t room = 2 * rec->room + 4096;

		p = realloc(rec->pending, room * sizeof(*p));
		if (!p)
			return fail("out of memory at %zu events", rec->room);
		rec->pending = p;
		rec->room = room;
	}
	p = &rec->pending[rec->nr_pending];
	p->kind = event_decode(&rec->formats, data, size, &p->event);
	if (p->kind == EVENT_DAMAGED)
		return fail("an event is shorter than its fields");
	if (p->kind == EVENT_OTHER && !lost)
		return 0;
	p->time_ns = time_ns;
	p->number = rec->nr_read++;
	p->lost = lost;
	rec->nr_pending++;
	return 0;
}

static int read_page(struct record *rec)
{
	unsigned long long time_ns;
	long long missed;
	void *data;

	kbuffer_load_subbuffer(rec->kbuffer, rec->page);
	missed = kbuffer_missed_events(rec->kbuffer);
	for (data = kbuffer_read_event(rec->kbuffer, &time_ns); data;
	     data = kbuffer_next_event(rec->kbuffer, &time_ns)) {
		/* Negative: some, but the page has no room to say how many. */
		if (add_pending(rec, data, kbuffer_event_size(rec->kbuffer), time_ns,
				missed < 0 ? 1 : missed))
			return -1;
		missed = 0;
	}
	return 0;
}

/* Empties the buffers, but for what comes in meanwhile. */
static int read_round(struct record *rec)
{
	int cpu, got;

	for (cpu = 0; cpu < rec->nr_cpus; cpu++) {
		/* Twice what it holds, and a few: a CPU may fill it as fast. */
		unsigned int pages = rec->buffer_kb / 2 + 8;

		while (pages-- && rec->cpus[cpu]) {
			got = tracefs_cpu_read(rec->cpus[cpu], rec->page, true);
			if (got <= 0)
				break;
			if (read_page(rec))
				return -1;
		}
	}
	return 0;
}

/* Once a second. */
static void show_progress(struct record *rec, __u64 now)
{
	__u64 seconds = (now - rec->start_ns) / NSEC;

	if (rec->shown && seconds < rec->shown)
		return;
	rec->shown = seconds + 1;
	fprintf(stderr, "\r%llu s: %llu halts of %llu vCPUs, %llu events lost ",
		seconds, rec->halts, rec->vcpus, rec->lost);
}

static int record_until_stopped(struct record *rec)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	bool progress = isatty(STDERR_FILENO);
	int ret = 0;

	rec->start_ns = now_ns();
	while (!stopped && !ret) {
		__u64 begun_ns = now_ns();

		if (rec->seconds && begun_ns - rec->start_ns >= rec->seconds * NSEC)
			break;
		ret = read_round(rec);
		if (!ret)
			ret = write_settled(rec, begun_ns - SETTLED_NS);
		if (progress)
			show_progress(rec, begun_ns);
		/* An interrupt ends it early. */
		nanosleep(&pause, NULL);
	}
	if (progress)
		fputs("\r\033[K", stderr);
	return ret;
}

/* What the kernel counted as lost on all CPUs; a page may not say how many. */
static __u64 count_lost(struct record *rec)
{
	static const char * const names[] = { "\noverrun: ", "\ndropped events: " };
	char path[48], *stats;
	const char *found;
	__u64 lost = 0;
	size_t i;
	int cpu;

	for (cpu = 0; cpu < rec->nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", cpu);
		stats = tracefs_instance_file_read(rec->instance, path, NULL);
		for (i = 0; stats && i < sizeof(names) / sizeof(*names); i++) {
			found = strstr(stats, names[i]);
			if (found)
				lost += strtoull(found + strlen(names[i]), NULL, 10);
		}
		free(stats);
	}
	return lost;
}

/* What is left in the buffers, and the last lines. */
static int record_rest(struct record *rec)
{
	__u64 lost;

	tracefs_trace_off(rec->instance);
	if (read_round(rec) || write_settled(rec, ~0ULL))
		return -1;
	lost = count_lost(rec);
	if (lost > rec->lost) {
		fprintf(rec->out.file, OWN_LOST "%llu\n", lost - rec->lost);
		rec->lost = lost;
	}
	if (!rec->halts)
		return fail("no vCPU halted");
	fprintf(rec->out.file, OWN_END "%llu\n", rec->halts);
	return 0;
}

/* Each thread by itself, since tracefs knows no processes. */
static int set_pid(struct record *rec, const char *pid)
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
		    tracefs_instance_file_append(rec->instance, "set_event_pid", line) < 0)
			ret = fail("pid %s cannot be traced: %s", pid, strerror(errno));
	}
	closedir(threads);
	return ret;
}

static int write_setting(struct record *rec, const char *file, const char *value)
{
	if (tracefs_instance_file_write(rec->instance, file, value) >= 0)
		return 0;
	return fail("tracefs: '%s' cannot be set to '%s': %s", file, value, strerror(errno));
}

/* What a page has and where, the same for all CPUs. */
static int prepare_reading(struct record *rec)
{
	static const char * const systems[] = { "kvm", NULL };
	const char *error;

	rec->tep = tracefs_local_events_system(NULL, systems);
	if (!rec->tep)
		return fail("tracefs: the events' formats cannot be read");
	error = event_formats_find(&rec->formats, rec->tep);
	if (error)
		return fail("tracefs: %s", error);
	rec->kbuffer = kbuffer_alloc(tep_get_header_page_size(rec->tep) == 8 ?
				     KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
				     tep_is_local_bigendian(rec->tep) ?
				     KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	rec->last_ns = calloc(PID_LIMIT, sizeof(*rec->last_ns));
	rec->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	rec->cpus = calloc(rec->nr_cpus, sizeof(*rec->cpus));
	if (!rec->kbuffer || !rec->last_ns || !rec->cpus)
		return fail("out of memory");
	return 0;
}

static int open_cpus(struct record *rec)
{
	int cpu, opened = 0, size = 0;

	for (cpu = 0; cpu < rec->nr_cpus; cpu++) {
		/* A CPU that never was online has no buffer. */
		rec->cpus[cpu] = tracefs_cpu_open(rec->instance, cpu, true);
		if (!rec->cpus[cpu])
			continue;
		opened++;
		size = tracefs_cpu_read_size(rec->cpus[cpu]);
	}
	rec->page = opened ? malloc(size) : NULL;
	if (!rec->page)
		return fail("tracefs: no CPU's buffer can be read: %s", strerror(errno));
	return 0;
}

static int prepare_instance(struct record *rec)
{
	char name[40], size[16];
	int i;

	snprintf(name, sizeof(name), "kvm_halt_poll-%d", getpid());
	rec->instance = tracefs_instance_create(name);
	if (!rec->instance)
		return fail("tracefs: no instance can be made: %s", strerror(errno));
	snprintf(size, sizeof(size), "%u", rec->buffer_kb);
	/* The clock that halts are measured by. */
	if (write_setting(rec, "trace_clock", "mono") ||
	    write_setting(rec, "buffer_size_kb", size))
		return -1;
	for (i = 0; i < rec->nr_pids; i++) {
		if (set_pid(rec, rec->pids[i]))
			return -1;
	}
	if (rec->nr_pids)
		/* vCPUs that are plugged in later; old kernels do without. */
		tracefs_option_enable(rec->instance, TRACEFS_OPTION_EVENT_FORK);
	if (open_cpus(rec))
		return -1;
	if (tracefs_event_enable(rec->instance, "kvm", "kvm_vcpu_wakeup") ||
	    (rec->formats.change_id >= 0 &&
	     tracefs_event_enable(rec->instance, "kvm", "kvm_halt_poll_ns")))
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

static void set_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = stop };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void clean_up(struct record *rec)
{
	int cpu;

	for (cpu = 0; cpu < rec->nr_cpus && rec->cpus; cpu++) {
		if (rec->cpus[cpu])
			tracefs_cpu_close(rec->cpus[cpu]);
	}
	if (rec->instance) {
		tracefs_event_disable(rec->instance, "kvm", NULL);
		tracefs_instance_destroy(rec->instance);
		tracefs_instance_free(rec->instance);
	}
	if (rec->kbuffer)
		kbuffer_free(rec->kbuffer);
	tep_free(rec->tep);
	free(rec->page);
	free(rec->cpus);
	free(rec->last_ns);
	free(rec->pending);
}

static int record(struct record *rec)
{
	int ret;

	if (check_tracefs() || prepare_reading(rec) || output_open(&rec->out, rec->name))
		return -1;
	write_heading(rec);
	ret = prepare_instance(rec);
	if (!ret)
		ret = record_until_stopped(rec);
	if (!ret)
		ret = record_rest(rec);
	if (!ret)
		ret = output_commit(&rec->out);
	else
		output_discard(&rec->out);
	return ret;
}

int cmd_record(int argc, char **argv)
{
	struct record rec = { .name = "kvm_halt_poll.csv", .buffer_kb = BUFFER_KB };
	int status;

	tracefs_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	set_signals();
	rec.pids = calloc(argc, sizeof(*rec.pids));
	if (!rec.pids) {
		fail("out of memory");
		return EXIT_ERROR;
	}
	if (parse_options(&rec, argc, argv, &status)) {
		status = record(&rec) ? EXIT_ERROR : EXIT_OK;
		clean_up(&rec);
	}
	if (status == EXIT_OK && rec.halts)
		fprintf(stderr, "%s: %llu halts of %llu vCPUs, %llu events lost\n", rec.name,
			rec.halts, rec.vcpus, rec.lost);
	free(rec.pids);
	return status;
}
