/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of halt polling share: a guest whose vCPUs halt until they are
 * interrupted, KVM's module parameters, the vCPU's stats, options.
 */
#ifndef SELFTEST_KVM_HALT_POLL_COMMON_H
#define SELFTEST_KVM_HALT_POLL_COMMON_H

#include <ctype.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define MAX_HALTING_VCPUS	8

/*
 * What its interrupt handler tells of a vCPU's halt, by vCPU.  Whoever halts
 * sets nr_irqs to 0 for the handler to take the time anew.
 */
static struct wakeup {
	u64 time;		/* the guest's counter when the first interrupt came */
	u64 nr_irqs;		/* how many have come */
	bool late;		/* the interrupt came before the vCPU had halted */
} __aligned(64) wakeups[MAX_HALTING_VCPUS];

static inline bool read_sysfs(const char *path, char *buf, int size)
{
	FILE *f = fopen(path, "r");
	bool ok;

	snprintf(buf, size, "absent");
	if (!f)
		return false;

	ok = fgets(buf, size, f);
	buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return ok;
}

/*
 * What each architecture provides, in a file of its own.  In the guest, on vCPU
 * number id, with interrupts off but for guest_wait():
 * - guest_setup(id): once, before anything else.
 * - guest_counter(): the time, which all of its vCPUs share.
 * - guest_arm_timer(deadline): interrupt this vCPU when the counter gets there.
 * - guest_wait(): halt until an interrupt comes, and take it.
 * - guest_send_ipi(to): interrupt another vCPU.
 * - guest_forbid_polling(forbid): where guest_can_forbid_polling().
 *
 * On the host:
 * - HALT_EXITS_STAT: the vCPU's stat that counts the guest's halts.
 * - create_halting_vm(nr, vcpus, guest_code): vCPUs with the interrupt handler.
 * - guest_counter_khz(vcpu): frequency of guest_counter(), or less than 1.
 * - inject_irq(vm, to): the same interrupt, from outside.
 * - end_halt(vcpu): make a vCPU go on that a signal took out of its halt; false
 *   if it had not halted yet.
 * - guest_can_forbid_polling(): is there a way for the guest to do that?
 * - require_arch(): skip the test if something is missing for all this.
 * - print_host_arch(): print what the reader of a measurement must know of this
 *   host, beside what all architectures have; returns whether it is emulated.
 */
#if defined(__x86_64__)
#include "halt_poll_x86.h"
#elif defined(__aarch64__)
#include "halt_poll_arm64.h"
#endif

/* Halt for so many of the counter's cycles; returns when the timer was to fire. */
static inline u64 guest_halt(unsigned int id, u64 cycles)
{
	struct wakeup *w = &wakeups[id];
	u64 deadline;

	w->nr_irqs = 0;
	deadline = guest_counter() + cycles;
	guest_arm_timer(deadline);
	w->late = guest_counter() >= deadline;
	guest_wait();
	return deadline;
}

/* A lost interrupt leaves the vCPU halted for ever: give up after guard_s. */
static inline void run_to_ucall(struct kvm_vcpu *vcpu, u64 wanted, unsigned int guard_s)
{
	struct ucall uc;
	u64 cmd;

	alarm(guard_s);
	vcpu_run(vcpu);
	alarm(0);

	cmd = get_ucall(vcpu, &uc);
	if (cmd == UCALL_ABORT)
		REPORT_GUEST_ASSERT(uc);

	/* A stale EACCES would turn a failed assert into a skip. */
	errno = 0;
	TEST_ASSERT(cmd == wanted, "wanted ucall %lu, got %lu, exit reason %u (%s)",
		    wanted, cmd, vcpu->run->exit_reason,
		    exit_reason_str(vcpu->run->exit_reason));
}

enum { HALT_POLL_NS, GROW, GROW_START, SHRINK, BUDGET, NR_PARAMS };

/* KVM's module parameters; -1 is "absent", as the budget is on older kernels. */
static struct param {
	const char *name;
	s64 val;
	char old[16];
	int fd;			/* open as long as there is "old" to put back */
} params[NR_PARAMS] = {
	[HALT_POLL_NS]	= { "halt_poll_ns", -1, "", -1 },
	[GROW]		= { "halt_poll_ns_grow", -1, "", -1 },
	[GROW_START]	= { "halt_poll_ns_grow_start", -1, "", -1 },
	[SHRINK]	= { "halt_poll_ns_shrink", -1, "", -1 },
	[BUDGET]	= { "halt_poll_budget", -1, "", -1 },
};

/* What older kernels' headers lack; their KVM refuses any flag. */
#ifndef KVM_HALT_POLL_INHERIT
#define KVM_HALT_POLL_MAX_NS		BIT(1)
#define KVM_HALT_POLL_GROW		BIT(2)
#define KVM_HALT_POLL_SHRINK		BIT(3)
#define KVM_HALT_POLL_GROW_START_NS	BIT(4)
#define KVM_HALT_POLL_BUDGET		BIT(5)
#define KVM_HALT_POLL_INHERIT		BIT(6)
#endif

#define HALT_POLL_FLAGS		(KVM_HALT_POLL_MAX_NS | KVM_HALT_POLL_GROW |	\
				 KVM_HALT_POLL_SHRINK |				\
				 KVM_HALT_POLL_GROW_START_NS |			\
				 KVM_HALT_POLL_BUDGET | KVM_HALT_POLL_INHERIT)

/* What a VM can be given of its own; flags say what of it. */
struct tuning {
	u32 flags;
	unsigned int max_ns, grow, grow_start_ns, shrink, budget;
};

/* KVM wants to see 0 where nothing is to be set, as is what no flag names. */
static inline int __set_tuning(struct kvm_vm *vm, const struct tuning *t)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_HALT_POLL,
		.flags = t->flags,
		.args = { t->max_ns, (u64)t->shrink << 32 | t->grow, t->grow_start_ns, t->budget },
	};

	return __vm_ioctl(vm, KVM_ENABLE_CAP, &cap);
}

static inline void set_tuning(struct kvm_vm *vm, const struct tuning *t)
{
	int ret = __set_tuning(vm, t);

	TEST_ASSERT(!ret, "KVM_CAP_HALT_POLL, flags %#x: %s", t->flags, strerror(errno));
}

static inline bool has_tuning(void)
{
	return kvm_check_cap(KVM_CAP_HALT_POLL) > 1;
}

static inline void param_path(const char *name, char *path, int size)
{
	snprintf(path, size, "/sys/module/kvm/parameters/%s", name);
}

static inline void read_param(struct param *p)
{
	char path[96], buf[16];

	param_path(p->name, path, sizeof(path));
	p->val = read_sysfs(path, buf, sizeof(buf)) ? strtoul(buf, NULL, 10) : -1;
}

static inline bool open_param(struct param *p)
{
	char path[96];

	if (p->fd >= 0)
		return true;

	param_path(p->name, path, sizeof(path));
	if (read_sysfs(path, p->old, sizeof(p->old)))
		p->fd = open(path, O_WRONLY);
	return p->fd >= 0;
}

/* Returns NULL, or why the parameter cannot be set. */
static inline const char *set_param(struct param *p, s64 wanted)
{
	static char why[96];
	char val[16];
	int len;

	read_param(p);
	if (p->val == wanted)
		return NULL;

	len = snprintf(val, sizeof(val), "%ld", wanted);
	if (!open_param(p) || pwrite(p->fd, val, len, 0) != len) {
		snprintf(why, sizeof(why), "Cannot set %s to %s: %s", p->name, val,
			 strerror(errno));
		return why;
	}

	read_param(p);
	errno = 0;
	TEST_ASSERT(p->val == wanted,
		    "%s reads %ld after %ld was written: does somebody else set it?",
		    p->name, p->val, wanted);
	return NULL;
}

/* Also runs in signal handlers. */
static inline void restore_params(void)
{
	static const char msg[] = "# A parameter could not be put back\n";
	bool failed = false;
	struct param *p;

	for (p = params; p < params + NR_PARAMS; p++) {
		if (p->fd >= 0 && pwrite(p->fd, p->old, strlen(p->old), 0) < 0)
			failed = true;
	}
	if (failed && write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0)
		return;
}

static void (*cleanup)(void);

static inline void fatal_signal(int sig)
{
	static const char msg[] = "Bail out! An interrupt seems lost\n";

	cleanup();
	if (sig == SIGALRM && write(STDOUT_FILENO, msg, sizeof(msg) - 1) < 0)
		_exit(KSFT_FAIL);

	/* The default action is back in place, and follows on return. */
	raise(sig);
}

/* Run fn, which signal handlers must be able to, whatever ends the test. */
static inline void setup_cleanup(void (*fn)(void))
{
	static const int signals[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE,
		SIGALRM, SIGTERM, SIGXCPU,
	};
	struct sigaction sa = {
		.sa_handler = fatal_signal,
		.sa_flags = SA_RESETHAND,
	};
	int i;

	cleanup = fn;
	atexit(fn);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
}

enum {
	EXITS, ATTEMPTED, SUCCESSFUL, INVALID, SUCCESS_NS, FAIL_NS, WAIT_NS, NR_STATS
};

/* In the order of the times above. */
enum { SUCCESS_HIST, FAIL_HIST, WAIT_HIST, NR_HISTS };

#define HIST_BUCKETS		32

/* The vCPU's stats; where they are is the same for all vCPUs. */
static struct vcpu_stat {
	const char *name;
	u64 offset;
	u32 flags;
	s16 exponent;
} scalars[NR_STATS] = {
	[EXITS]		= { HALT_EXITS_STAT },
	[ATTEMPTED]	= { "halt_attempted_poll" },
	[SUCCESSFUL]	= { "halt_successful_poll" },
	[INVALID]	= { "halt_poll_invalid" },
	[SUCCESS_NS]	= { "halt_poll_success_ns" },
	[FAIL_NS]	= { "halt_poll_fail_ns" },
	[WAIT_NS]	= { "halt_wait_ns" },
}, hists[NR_HISTS] = {
	[SUCCESS_HIST]	= { "halt_poll_success_hist" },
	[FAIL_HIST]	= { "halt_poll_fail_hist" },
	[WAIT_HIST]	= { "halt_wait_hist" },
};

struct stats {
	s64 val[NR_STATS];
	u64 hist[NR_HISTS][HIST_BUCKETS];
};

/* Those that older kernels lack: their offset remains 0. */
enum { SKIPPED, INTERVAL, NR_NEW_STATS };

static struct vcpu_stat new_stats[NR_NEW_STATS] = {
	[SKIPPED]	= { "halt_poll_skipped" },
	[INTERVAL]	= { "halt_poll_ns" },
};

/* The library's own reader aborts if it does not know the stat. */
static inline bool find_stat(int fd, struct vcpu_stat *stat, unsigned int size)
{
	union {
		struct kvm_stats_desc desc;
		char space[sizeof(struct kvm_stats_desc) + 256];
	} u;
	struct kvm_stats_header header;
	ssize_t len;
	int i;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return false;

	len = sizeof(u.desc) + header.name_size;
	if (len > sizeof(u))
		return false;

	for (i = 0; i < header.num_desc; i++) {
		if (pread(fd, &u, len, header.desc_offset + i * len) != len)
			return false;
		if (!strncmp(u.desc.name, stat->name, header.name_size)) {
			stat->offset = header.data_offset + u.desc.offset;
			stat->flags = u.desc.flags;
			stat->exponent = u.desc.exponent;
			return u.desc.size == size;
		}
	}
	return false;
}

static inline void read_stats(struct kvm_vcpu *vcpu, struct stats *s)
{
	int fd = vcpu_get_stats_fd(vcpu);
	bool ok = true;
	int i;

	for (i = 0; i < NR_STATS; i++)
		ok &= pread(fd, &s->val[i], sizeof(s64), scalars[i].offset) == sizeof(s64);
	for (i = 0; i < NR_HISTS; i++)
		ok &= pread(fd, s->hist[i], sizeof(s->hist[i]), hists[i].offset) ==
		      sizeof(s->hist[i]);
	TEST_ASSERT(ok, "Cannot read the vCPU's stats");
	close(fd);
}

/* Returns -1 if this kernel does not have it. */
static inline s64 read_new_stat(struct kvm_vcpu *vcpu, int nr)
{
	s64 val = -1;
	int fd;

	if (!new_stats[nr].offset)
		return -1;

	fd = vcpu_get_stats_fd(vcpu);
	TEST_ASSERT(pread(fd, &val, sizeof(val), new_stats[nr].offset) == sizeof(val),
		    "Cannot read the vCPU's stat %s", new_stats[nr].name);
	close(fd);
	return val;
}

static inline void sub_stats(struct stats *s, const struct stats *start)
{
	int i, j;

	for (i = 0; i < NR_STATS; i++)
		s->val[i] -= start->val[i];
	for (i = 0; i < NR_HISTS; i++) {
		for (j = 0; j < HIST_BUCKETS; j++)
			s->hist[i][j] -= start->hist[i][j];
	}
}

static inline s64 hist_count(const struct stats *s, int hist)
{
	s64 count = 0;
	int i;

	for (i = 0; i < HIST_BUCKETS; i++)
		count += s->hist[hist][i];
	return count;
}

/*
 * Bucket i counts times of i significant bits, the last one also longer times:
 * can times like that add up to so many ns?
 */
static inline bool hist_fits(const u64 *hist, u64 ns)
{
	u64 least = 0, most = 0;
	int i;

	for (i = 1; i < HIST_BUCKETS; i++) {
		least += hist[i] << (i - 1);
		most += hist[i] * ((1ull << i) - 1);
	}
	return least <= ns && (ns <= most || hist[HIST_BUCKETS - 1]);
}

/* Returns NULL, or what the stats of a vCPU, halted for elapsed_ns at most, belie. */
static inline const char *stats_problem(const struct stats *s, u64 elapsed_ns)
{
	s64 failed = hist_count(s, FAIL_HIST), waited = hist_count(s, WAIT_HIST);
	static char why[160];
	u64 ns = 0;
	int i;

	why[0] = '\0';
	if (s->val[ATTEMPTED] != s->val[SUCCESSFUL] + failed)
		snprintf(why, sizeof(why), "%ld polls attempted, %ld successful, %ld failed",
			 s->val[ATTEMPTED], s->val[SUCCESSFUL], failed);
	else if (s->val[SUCCESSFUL] != hist_count(s, SUCCESS_HIST))
		snprintf(why, sizeof(why), "%ld polls successful, %ld in their histogram",
			 s->val[SUCCESSFUL], hist_count(s, SUCCESS_HIST));
	else if (failed > waited)
		snprintf(why, sizeof(why), "%ld polls failed, but only %ld halts blocked",
			 failed, waited);
	else if (s->val[INVALID])
		snprintf(why, sizeof(why), "%ld invalid wakeups, which only s390 has",
			 s->val[INVALID]);

	for (i = 0; i < NR_HISTS && !*why; i++) {
		if (!hist_fits(s->hist[i], s->val[SUCCESS_NS + i]))
			snprintf(why, sizeof(why), "%ld %s is not what %s adds up to",
				 s->val[SUCCESS_NS + i], scalars[SUCCESS_NS + i].name,
				 hists[i].name);
		ns += s->val[SUCCESS_NS + i];
	}
	if (!*why && ns > elapsed_ns)
		snprintf(why, sizeof(why), "polled and waited for %lu ns, in %lu ns", ns,
			 elapsed_ns);
	return *why ? why : NULL;
}

static inline u64 monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Those that this process may use. */
static inline int count_cpus(void)
{
	cpu_set_t may;

	return sched_getaffinity(0, sizeof(may), &may) ? 1 : CPU_COUNT(&may);
}

static inline void require_stats(struct kvm_vcpu *vcpu)
{
	int fd = vcpu_get_stats_fd(vcpu);
	int i;

	for (i = 0; i < NR_STATS; i++)
		__TEST_REQUIRE(find_stat(fd, &scalars[i], 1), "No vCPU stat %s", scalars[i].name);
	for (i = 0; i < NR_HISTS; i++)
		__TEST_REQUIRE(find_stat(fd, &hists[i], HIST_BUCKETS), "No vCPU stat %s of %u",
			       hists[i].name, HIST_BUCKETS);
	for (i = 0; i < NR_NEW_STATS; i++)
		find_stat(fd, &new_stats[i], 1);
	close(fd);
}

/* Everything that all tests need; returns the frequency of the guest's counter. */
static inline int probe_kvm(void *guest_code)
{
	struct kvm_vcpu *vcpu;
	struct timespec res;
	struct kvm_vm *vm;
	int khz;

	require_arch();
	TEST_REQUIRE(kvm_has_cap(KVM_CAP_BINARY_STATS_FD));

	__TEST_REQUIRE(!clock_getres(CLOCK_MONOTONIC, &res) && !res.tv_sec && res.tv_nsec == 1,
		       "No high-resolution timers, wakeups would wait for the tick; has the clocksource settled?");

	vm = create_halting_vm(1, &vcpu, guest_code);
	khz = guest_counter_khz(vcpu);
	require_stats(vcpu);
	kvm_vm_free(vm);

	__TEST_REQUIRE(khz > 0, "The frequency of the guest's counter is not known");
	return khz;
}

/* Why a part of the test skips. */
static char skip_reason[256];

static inline __printf(1, 2) int skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(skip_reason, sizeof(skip_reason), fmt, args);
	va_end(args);
	return KSFT_SKIP;
}

static inline void report_result(const char *name, int result)
{
	if (result == KSFT_SKIP)
		ksft_test_result_code(KSFT_SKIP, name, "%s", skip_reason);
	else
		ksft_test_result(result == KSFT_PASS, "%s\n", name);
}

#define usage_error(fmt, ...)						\
do {									\
	fprintf(stderr, fmt "; see -h\n", ##__VA_ARGS__);		\
	exit(KSFT_FAIL);						\
} while (0)

static inline u32 parse_u32(char opt, const char *str, u32 min, u32 max)
{
	unsigned long val;
	char *end;

	errno = 0;
	val = strtoul(str, &end, 10);
	if (!isdigit(*str) || *end || errno || val < min || val > max)
		usage_error("-%c: wanted a number from %u to %u, got '%s'", opt, min, max, str);
	return val;
}

/* For what getopt() returns beside the test's own options: help, or a mistake. */
static inline void other_option(int opt, void (*help)(const char *name), const char *name)
{
	if (opt != 'h')
		exit(KSFT_FAIL);

	help(name);
	exit(KSFT_PASS);
}

/* After the last option. */
static inline void expect_no_argument(int argc, char *argv[])
{
	if (optind < argc)
		usage_error("wanted options only, got '%s'", argv[optind]);
}

#endif /* SELFTEST_KVM_HALT_POLL_COMMON_H */
