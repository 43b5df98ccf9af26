// SPDX-License-Identifier: GPL-2.0
/*
 * Test that nothing that wakes up a halted vCPU gets lost, however it races with
 * the halt, and that halt polling keeps its word while its parameters change.
 *
 * Wake sources: for each, the vCPU halts many times with polling turned off, so
 * that it blocks, and as many times with a maximum so large that polls last until
 * they hit.  The waker knows the number of the present halt from the guest, waits
 * for a random time, so as to strike before, in and after the vCPU's way to its
 * halt, wakes it up, and waits until the guest says that this halt has ended.  A
 * wakeup that is lost leaves the guest halted for good: give up, and fail, when
 * it makes no progress for long.  A vCPU that is woken twice is no failure, since
 * emulated hosts do that; such halts are counted and printed, and judged where
 * that is what is tested:
 *
 * - timer: the guest's own.
 * - IPI: sent by another vCPU.
 * - injected interrupt: by an ioctl of another thread.
 * - signal: to the vCPU's thread, for which it is unmasked in KVM_RUN alone.
 *   KVM_RUN must return; then the vCPU is made to go on behind its halt.
 * - kicked out: immediate_exit and a signal.  KVM_RUN must return; when it is
 *   entered again the vCPU must halt on until it is interrupted.  (On arm64 WFI
 *   may end for any reason: the guest halts again and nothing is seen of it.)
 *
 * Under fire: four vCPUs halt for random times while other threads rewrite the
 * module's parameters, or the VM's own maximum, at random.  Again no wakeup may
 * be lost, the stats must agree with each other, and each change of an interval
 * that is traced must start where the last one ended, and be one that the kernel's
 * own header makes under some of the parameters that were in use.  Where a VM can
 * have all parameters of its own, which KVM is to take and to use as a whole, they
 * are rewritten as well: then the change must be one under all of one set.
 *
 * No time is judged.  Random numbers start from a fixed seed (-S), but threads do
 * not repeat.
 */
#include <linux/compiler.h>
#include <linux/log2.h>
#include <pthread.h>
#include <sched.h>

#include "halt_poll_common.h"
#include "halt_poll_trace.h"
#include "../../../../include/linux/kvm_halt_poll.h"

/* How long without any progress until a wakeup counts as lost. */
#define GUARD_S			60
/* Polls that last until they hit. */
#define POLL_MAX_NS		1000000000
#define MAX_DELAY_SHIFT		9	/* random times, in us */
#define MAX_SECONDS		3600
#define NR_VCPUS		4
#define NR_WRITERS		2
/* Under fire, each vCPU, however slow the host is. */
#define MIN_HALTS		200
#define MAX_VALUES		6
#define SETS_IN_A_ROW		32

enum source { TIMER, IPI, INJECTED, SIGNAL, KICK, NR_SOURCES };

static const char * const source_names[NR_SOURCES] = {
	[TIMER]		= "timer",
	[IPI]		= "IPI",
	[INJECTED]	= "injected interrupt",
	[SIGNAL]	= "signal",
	[KICK]		= "vCPU kicked out",
};

/* What the guest and its wakers tell each other of a vCPU's halts. */
static struct progress {
	u64 halting;		/* number of the halt that begins */
	u64 woken;		/* number of the last halt that was to end */
	u64 ended;		/* number of the last halt that has ended */
	u64 extra;		/* halts that something else ended */
	u64 random;
} __aligned(64) progress[NR_VCPUS];

static u64 cycles_per_us;
static bool emulated;
static bool stop_guest;

static u32 nr_halts = 100000;
static u32 seconds = 10;
static u32 seed = 1;

/* xorshift64: any seed but 0 will do. */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Of all magnitudes alike, since nobody knows how long a halt takes here. */
static u64 random_us(u64 *state)
{
	u64 random = next_random(state);

	return random % (1ull << (random >> 32) % (MAX_DELAY_SHIFT + 1)) + 1;
}

static void guest_delay(u64 *random)
{
	u64 start = guest_counter(), cycles = random_us(random) * cycles_per_us;

	while (guest_counter() - start < cycles)
		barrier();
}

static bool guest_halt_ends(enum source source, u64 i)
{
	struct progress *p = &progress[0];

	if (source == TIMER) {
		guest_halt(0, random_us(&p->random) * cycles_per_us);
		return wakeups[0].nr_irqs;
	}
	guest_wait();
	return READ_ONCE(p->woken) == i;
}

static void guest_sleeper(u64 source, u64 nr)
{
	struct progress *p = &progress[0];
	u64 i;

	guest_setup(0);
	for (i = 1; i <= nr; i++) {
		WRITE_ONCE(p->halting, i);
		while (!guest_halt_ends(source, i))
			p->extra++;
		WRITE_ONCE(p->ended, i);
	}
	GUEST_DONE();
}

static void guest_waker(u64 nr)
{
	struct progress *p = &progress[0];
	u64 random = p->random, i;

	guest_setup(1);
	for (i = 1; i <= nr; i++) {
		while (READ_ONCE(p->halting) != i)
			barrier();
		guest_delay(&random);
		WRITE_ONCE(p->woken, i);
		guest_send_ipi(0);
		while (READ_ONCE(p->ended) != i)
			barrier();
	}
	GUEST_DONE();
}

static void guest_code(u64 id, u64 source, u64 nr)
{
	if (id)
		guest_waker(nr);
	else
		guest_sleeper(source, nr);
}

static void guest_under_fire(u64 id)
{
	struct progress *p = &progress[id];

	guest_setup(id);
	while (!READ_ONCE(stop_guest)) {
		guest_halt(id, random_us(&p->random) * cycles_per_us);
		if (wakeups[id].nr_irqs)
			WRITE_ONCE(p->ended, p->ended + 1);
		else
			p->extra++;
	}
	GUEST_DONE();
}

/* A vCPU and its thread. */
struct runner {
	struct kvm_vcpu *vcpu;
	enum source source;
	pthread_t thread;
	int cpu;
	u64 returned;		/* how often KVM_RUN did, for a signal */
	u64 resumed;		/* how often that was out of a halt */
	u64 early;		/* halts that ended between a kick and the interrupt */
	bool done;
};

static struct progress *host_view(struct kvm_vm *vm)
{
	return addr_gva2hva(vm, (unsigned long)progress);
}

static void yield_until_not(const u64 *p, u64 val)
{
	while (READ_ONCE(*p) == val)
		sched_yield();
}

static void host_delay(u64 *random)
{
	u64 end = monotonic_ns() + random_us(random) * 1000;

	while (monotonic_ns() < end)
		sched_yield();
}

static void ignore_signal(int sig)
{
}

static void get_signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
}

/* Let SIGUSR1 in during KVM_RUN alone, out of which it comes pending. */
static void mask_signal(struct kvm_vcpu *vcpu)
{
	struct {
		struct kvm_signal_mask mask;
		u64 bits;
	} arg = {
		.mask.len = sizeof(arg.bits),
	};
	sigset_t set;

	get_signal_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	vcpu_ioctl(vcpu, KVM_SET_SIGNAL_MASK, &arg.mask);
}

static void take_signal(struct runner *r)
{
	const struct timespec none = {};
	sigset_t set;

	get_signal_set(&set);
	TEST_ASSERT(sigtimedwait(&set, NULL, &none) == SIGUSR1,
		    "KVM_RUN returned for a signal that is not there");
	if (end_halt(r->vcpu))
		WRITE_ONCE(r->resumed, r->resumed + 1);
}

static void pin_to(int nr)
{
	cpu_set_t may, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(may), &may))
		return;

	nr %= CPU_COUNT(&may);
	for (cpu = 0; !CPU_ISSET(cpu, &may) || nr--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *run_vcpu(void *arg)
{
	struct runner *r = arg;
	struct ucall uc;

	pin_to(r->cpu);
	if (r->source == SIGNAL)
		mask_signal(r->vcpu);

	while (__vcpu_run(r->vcpu)) {
		TEST_ASSERT(errno == EINTR, "KVM_RUN: %s", strerror(errno));
		r->vcpu->run->immediate_exit = 0;
		if (r->source == SIGNAL)
			take_signal(r);
		WRITE_ONCE(r->returned, r->returned + 1);
	}

	errno = 0;
	switch (get_ucall(r->vcpu, &uc)) {
	case UCALL_DONE:
		break;
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
		break;
	default:
		TEST_FAIL("Exit reason %u (%s)", r->vcpu->run->exit_reason,
			  exit_reason_str(r->vcpu->run->exit_reason));
	}
	WRITE_ONCE(r->done, true);
	return NULL;
}

static void create_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	int err = pthread_create(thread, NULL, fn, arg);

	TEST_ASSERT(!err, "No thread: %s", strerror(err));
}

static void start_runner(struct runner *r, struct kvm_vcpu *vcpu, enum source source, int cpu)
{
	*r = (struct runner) {
		.vcpu = vcpu,
		.source = source,
		.cpu = cpu,
	};
	create_thread(&r->thread, run_vcpu, r);
}

static void send_signal(struct runner *r)
{
	u64 returned = READ_ONCE(r->returned);

	TEST_ASSERT(!pthread_kill(r->thread, SIGUSR1), "Cannot send a signal");
	yield_until_not(&r->returned, returned);
}

/* Nothing but an interrupt is to end the halt; leave the guest time to get it wrong. */
static void kick(struct runner *r, struct progress *p, u64 *random)
{
	u64 extra = READ_ONCE(p->extra);

	r->vcpu->run->immediate_exit = 1;
	send_signal(r);
	host_delay(random);
	r->early += READ_ONCE(p->extra) != extra;
}

static void wake_up(struct runner *r, struct progress *p, u64 i, u64 *random)
{
	u64 resumed;

	switch (r->source) {
	case SIGNAL:
		/* One that comes before the guest has got to HLT ends no halt. */
		resumed = READ_ONCE(r->resumed);
		WRITE_ONCE(p->woken, i);
		while (READ_ONCE(r->resumed) == resumed)
			send_signal(r);
		return;
	case KICK:
		kick(r, p, random);
		break;
	default:
		break;
	}
	WRITE_ONCE(p->woken, i);
	inject_irq(r->vcpu->vm, 0);
}

static void *run_waker(void *arg)
{
	struct runner *r = arg;
	struct progress *p = host_view(r->vcpu->vm);
	u64 random = seed, i;

	/* Beside the vCPU, whose polls it would end if it wanted that CPU. */
	pin_to(1);
	for (i = 1; i <= nr_halts; i++) {
		yield_until_not(&p->halting, i - 1);
		host_delay(&random);
		wake_up(r, p, i, &random);
		yield_until_not(&p->ended, i - 1);
	}
	return NULL;
}

/* Whoever waits for the guest looks in here from time to time. */
struct watch {
	const char *name;
	u64 seen;
	u64 since_ns;
};

static void check_progress(struct watch *w, u64 now)
{
	if (now != w->seen || !w->since_ns) {
		w->seen = now;
		w->since_ns = monotonic_ns();
	}
	if (monotonic_ns() - w->since_ns > GUARD_S * 1000000000ull)
		ksft_exit_fail_msg("%s: no progress for %u s, after %lu halts: a wakeup is lost\n",
				   w->name, GUARD_S, now);
}

static void setup_guest(struct kvm_vm *vm)
{
	int i;

	memset(progress, 0, sizeof(progress));
	for (i = 0; i < NR_VCPUS; i++)
		progress[i].random = seed + i;
	stop_guest = false;
	sync_global_to_guest(vm, progress);
	sync_global_to_guest(vm, cycles_per_us);
	sync_global_to_guest(vm, stop_guest);
}

/* Polls that missed, but were not cut short: that would take some ms at most. */
static s64 nr_long_polls(const struct stats *d)
{
	s64 count = 0;
	int i;

	for (i = ilog2(POLL_MAX_NS) - 2; i < HIST_BUCKETS; i++)
		count += d->hist[FAIL_HIST][i];
	return count;
}

/* What there must have been of polls and blocks, for the test to be one. */
static int judge_wakeups(const struct stats *d, u64 extra, bool polls, u64 elapsed_ns)
{
	s64 waited = hist_count(d, WAIT_HIST), hits = d->val[SUCCESSFUL];
	const char *problem = stats_problem(d, elapsed_ns);

	ksft_print_msg("%u halts: %ld blocked, %ld polls of which %ld hit; %lu woken otherwise\n",
		       nr_halts, waited, d->val[ATTEMPTED], hits, extra);
	if (problem) {
		ksft_print_msg("%s\n", problem);
		return KSFT_FAIL;
	}
	if (polls && !hits && nr_long_polls(d)) {
		ksft_print_msg("%ld polls went on although the vCPU was woken\n",
			       nr_long_polls(d));
		return KSFT_FAIL;
	}
	if (!polls && d->val[ATTEMPTED]) {
		ksft_print_msg("wanted no polls\n");
		return KSFT_FAIL;
	}
	if (polls && !hits)
		return skip("Too few halts (-n), or other tasks cut short every poll");
	if (!polls && !waited)
		return skip("Too few halts (-n), none got as far as to block");
	return KSFT_PASS;
}

/* QEMU's SVM now and then delivers twice what KVM injected once. */
static bool kicks_ok(const struct runner *r)
{
	u64 tolerated = emulated ? max(nr_halts / 1000, 1u) : 0;

	if (r->early <= tolerated && (!r->early || r->early < nr_halts))
		return true;

	ksft_print_msg("%lu of %u halts ended when the vCPU was kicked out, %lu tolerated\n",
		       r->early, nr_halts, tolerated);
	return false;
}

static const char *cannot_test(enum source source, bool polls)
{
	bool one_cpu = count_cpus() < 2;

	if (!kvm_has_cap(KVM_CAP_HALT_POLL))
		return "No KVM_CAP_HALT_POLL";
	if (polls && (!params[GROW].val || !params[GROW_START].val))
		return "halt_poll_ns_grow or _grow_start is 0: no vCPU ever polls";
	if (one_cpu && source == IPI)
		return "One CPU: a vCPU that spins would keep the other from running";
	if (one_cpu && polls && source != TIMER)
		return "One CPU: a waker that wants to run ends the poll";
	return NULL;
}

static int test_wakeups(enum source source, bool polls)
{
	const char *reason = cannot_test(source, polls);
	struct watch watch = { source_names[source] };
	struct runner runners[2];
	struct kvm_vcpu *vcpus[2];
	struct stats start, d;
	unsigned int nr_vcpus = source == IPI ? 2 : 1;
	bool from_host = source != IPI && source != TIMER;
	struct progress *p;
	struct kvm_vm *vm;
	pthread_t waker;
	int i, result;
	u64 ns;

	if (reason)
		return skip("%s", reason);

	vm = create_halting_vm(nr_vcpus, vcpus, guest_code);
	vm_enable_cap(vm, KVM_CAP_HALT_POLL, polls ? POLL_MAX_NS : 0);
	setup_guest(vm);
	p = host_view(vm);
	read_stats(vcpus[0], &start);
	ns = monotonic_ns();

	for (i = 0; i < nr_vcpus; i++) {
		vcpu_args_set(vcpus[i], 3, (u64)i, (u64)source, (u64)nr_halts);
		start_runner(&runners[i], vcpus[i], source, i);
	}
	if (from_host)
		create_thread(&waker, run_waker, &runners[0]);

	while (!READ_ONCE(runners[0].done)) {
		check_progress(&watch, READ_ONCE(p->ended));
		usleep(10000);
	}
	for (i = 0; i < nr_vcpus; i++)
		pthread_join(runners[i].thread, NULL);
	if (from_host)
		pthread_join(waker, NULL);

	read_stats(vcpus[0], &d);
	sub_stats(&d, &start);
	result = judge_wakeups(&d, p->extra, polls, monotonic_ns() - ns);
	if (!kicks_ok(&runners[0]))
		result = KSFT_FAIL;
	TEST_ASSERT(p->ended == nr_halts, "%lu of %u halts ended", p->ended, nr_halts);
	kvm_vm_free(vm);
	return result;
}

struct values {
	unsigned int nr;
	unsigned int val[MAX_VALUES];
};

/* What the writers choose from. */
static const struct values values[NR_PARAMS] = {
	[HALT_POLL_NS]	= { 5, { 200000, 0, 10000, 50000, UINT_MAX } },
	[GROW]		= { 5, { 2, 0, 1, 3, 429497 } },
	[GROW_START]	= { 4, { 10000, 0, 5000, 300000 } },
	[SHRINK]	= { 4, { 2, 0, 1, 4 } },
	/* No interval depends on it, but whether there is a poll. */
	[BUDGET]	= { 4, { 100, 0, 50, 5 } },
};

/*
 * What a VM is given as a whole.  However the two get mixed, some of the intervals
 * change as under neither (see check_mixtures()).
 */
static const struct tuning tunings[] = {
	{ .max_ns = 50021, .grow = 4, .grow_start_ns = 5003, .shrink = 2 },
	{ .max_ns = 300007, .grow = 7, .grow_start_ns = 60013, .shrink = 5 },
};

enum fire_kind { MODULE, OWN_MAX, OWN_SETS };

struct fire {
	enum fire_kind kind;
	struct kvm_vm *vm;		/* whose own maximum or tuning is rewritten */
	struct values legal[NR_PARAMS];	/* any of each */
	/* Or these, each as a whole: */
	struct kvm_halt_poll_params sets[ARRAY_SIZE(tunings)];
	/* The intervals, as the trace tells them. */
	unsigned int interval_ns[NR_VCPUS];
	bool known[NR_VCPUS];
	u64 changes, lost, illegal;
};

static bool stop_writers;
static bool writing[NR_WRITERS];

struct writer {
	pthread_t thread;
	struct fire *fire;
	unsigned int nr;
};

static bool rewrite_param(u64 what)
{
	unsigned int i = what % NR_PARAMS;
	unsigned int val = values[i].val[(what >> 32) % values[i].nr];
	char text[16];
	int len;

	if (params[i].val < 0)
		return true;

	len = snprintf(text, sizeof(text), "%u", val);
	return pwrite(params[i].fd, text, len, 0) == len;
}

/* Of its own, or, where it can be dropped, the module's. */
static bool rewrite_own_max(const struct fire *f, u64 what)
{
	static const struct tuning inherit = { .flags = KVM_HALT_POLL_INHERIT };
	unsigned int i = (what >> 32) % f->legal[HALT_POLL_NS].nr;

	if (i == values[HALT_POLL_NS].nr)
		return !__set_tuning(f->vm, &inherit);
	return !__vm_enable_cap(f->vm, KVM_CAP_HALT_POLL, values[HALT_POLL_NS].val[i]);
}

/* By turns and many in a row: a mixture would last for some ns only. */
static bool rewrite_sets(struct kvm_vm *vm, u64 what)
{
	struct tuning t;
	int i;

	for (i = 0; i < SETS_IN_A_ROW; i++) {
		t = tunings[(what + i) % ARRAY_SIZE(tunings)];
		t.flags = KVM_HALT_POLL_MAX_NS | KVM_HALT_POLL_GROW |
			  KVM_HALT_POLL_GROW_START_NS | KVM_HALT_POLL_SHRINK;
		if (__set_tuning(vm, &t))
			return false;
	}
	return true;
}

static bool rewrite(struct fire *f, u64 *random)
{
	u64 what = next_random(random);

	switch (f->kind) {
	case OWN_MAX:
		return rewrite_own_max(f, what);
	case OWN_SETS:
		return rewrite_sets(f->vm, what);
	default:
		return rewrite_param(what);
	}
}

/* What it writes must not come after what puts the parameters back. */
static void *run_writer(void *arg)
{
	struct writer *w = arg;
	u64 random = seed + w->nr;
	sigset_t all;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (;;) {
		__atomic_store_n(&writing[w->nr], true, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&stop_writers, __ATOMIC_SEQ_CST))
			break;
		ok = rewrite(w->fire, &random);
		__atomic_store_n(&writing[w->nr], false, __ATOMIC_SEQ_CST);
		TEST_ASSERT(ok, "Cannot set a parameter: %s", strerror(errno));
		/* Leave the CPUs to the vCPUs. */
		usleep(random_us(&random));
	}
	__atomic_store_n(&writing[w->nr], false, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Also runs in signal handlers. */
static void undo_everything(void)
{
	int i;

	__atomic_store_n(&stop_writers, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < NR_WRITERS; i++) {
		while (__atomic_load_n(&writing[i], __ATOMIC_SEQ_CST))
			;
	}
	restore_params();
	close_trace();
}

/* Does the header lead from one interval to the other, with these parameters? */
static bool leads_to(unsigned int from, unsigned int to, const struct kvm_halt_poll_params *p)
{
	return to == kvm_halt_poll_cap(from, p) || to == kvm_halt_poll_grow(from, p) ||
	       to == kvm_halt_poll_shrink(from, p);
}

/* Try all parameters, as the digits of a number. */
static bool is_legal_mixed(const struct fire *f, unsigned int from, unsigned int to)
{
	unsigned int combination, rest, val[NR_PARAMS], i;
	struct kvm_halt_poll_params p = {};

	for (combination = 0;; combination++) {
		rest = combination;
		for (i = 0; i < NR_PARAMS; i++) {
			val[i] = f->legal[i].val[rest % f->legal[i].nr];
			rest /= f->legal[i].nr;
		}
		if (rest)
			return false;

		p.max_ns = val[HALT_POLL_NS];
		p.grow = val[GROW];
		p.grow_start_ns = val[GROW_START];
		p.shrink = val[SHRINK];
		if (leads_to(from, to, &p))
			return true;
	}
}

/* What the VM has is one of the sets, and all of it. */
static bool is_legal_in_sets(const struct fire *f, unsigned int from, unsigned int to)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(f->sets); i++) {
		if (leads_to(from, to, &f->sets[i]))
			return true;
	}
	return false;
}

static bool is_legal(const struct fire *f, unsigned int from, unsigned int to)
{
	return f->kind == OWN_SETS ? is_legal_in_sets(f, from, to) : is_legal_mixed(f, from, to);
}

static void check_change(struct fire *f, const struct trace_event *e)
{
	unsigned int *interval_ns = &f->interval_ns[e->vcpu];
	bool continues = !f->known[e->vcpu] || e->from_ns == *interval_ns;

	f->changes++;
	if (!continues || !is_legal(f, e->from_ns, e->to_ns)) {
		/* The first few will do. */
		if (f->illegal++ < 8)
			ksft_print_msg("vCPU %u: change from %u to %u, %s%u\n", e->vcpu,
				       e->from_ns, e->to_ns,
				       continues ? "which no parameters explain, after " :
						   "but the last one ended at ", *interval_ns);
	}
	f->known[e->vcpu] = true;
	*interval_ns = e->to_ns;
}

static void check_trace(struct fire *f)
{
	struct trace_event e;

	while (trace && next_event(&e)) {
		if (e.type == TRACE_LOST) {
			f->lost += e.lost;
			memset(f->known, false, sizeof(f->known));
		} else if (e.type == TRACE_INTERVAL && e.vcpu < NR_VCPUS) {
			check_change(f, &e);
		}
	}
}

/* What the VMs before have left. */
static void drain_trace(void)
{
	struct trace_event e;

	while (trace && next_event(&e))
		;
}

static int judge_changes(const struct fire *f)
{
	if (!trace)
		return skip("%s", no_trace);

	ksft_print_msg("%lu changes of intervals, %lu illegal, %lu events lost\n", f->changes,
		       f->illegal, f->lost);
	if (f->illegal)
		return KSFT_FAIL;
	return f->changes ? KSFT_PASS : skip("No interval changed");
}

static int judge_stats(struct kvm_vcpu *vcpus[], const struct progress *p, u64 elapsed_ns)
{
	int i, result = KSFT_PASS;
	const char *problem;
	struct stats s;

	for (i = 0; i < NR_VCPUS; i++) {
		read_stats(vcpus[i], &s);
		ksft_print_msg("vCPU %d: %lu timers, %ld polls, %ld hits, %ld halts blocked\n", i,
			       p[i].ended, s.val[ATTEMPTED], s.val[SUCCESSFUL],
			       hist_count(&s, WAIT_HIST));
		problem = stats_problem(&s, elapsed_ns);
		if (problem)
			ksft_print_msg("vCPU %d: %s\n", i, problem);
		if (p[i].extra)
			ksft_print_msg("vCPU %d: %lu halts ended without an interrupt\n", i,
				       p[i].extra);
		if (problem || p[i].extra)
			result = KSFT_FAIL;
	}
	return result;
}

/* What is read must be what is there, not what some test has left behind. */
static void reset_params(void)
{
	int i;

	restore_params();
	for (i = 0; i < NR_PARAMS; i++)
		read_param(&params[i]);
}

/* Would an interval that either set leads to change as under neither? */
static bool mixture_shows(const struct fire *f, const struct kvm_halt_poll_params *mixture)
{
	unsigned int from[] = {
		0, f->sets[0].max_ns, f->sets[1].max_ns,
		f->sets[0].grow_start_ns, f->sets[1].grow_start_ns,
		f->sets[0].grow_start_ns * f->sets[0].grow,
		f->sets[1].max_ns / f->sets[0].shrink, f->sets[1].max_ns / f->sets[1].shrink,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		if (!is_legal_in_sets(f, from[i], kvm_halt_poll_cap(from[i], mixture)) ||
		    !is_legal_in_sets(f, from[i], kvm_halt_poll_grow(from[i], mixture)) ||
		    !is_legal_in_sets(f, from[i], kvm_halt_poll_shrink(from[i], mixture)))
			return true;
	}
	return false;
}

/* Each parameter from the one or from the other: 2^4 ways, of which two are right. */
static void check_mixtures(const struct fire *f)
{
	const struct kvm_halt_poll_params *sets = f->sets;
	unsigned int way;

	for (way = 1; way < 15; way++) {
		const struct kvm_halt_poll_params mixture = {
			.max_ns = sets[way & 1].max_ns,
			.grow = sets[way >> 1 & 1].grow,
			.grow_start_ns = sets[way >> 2 & 1].grow_start_ns,
			.shrink = sets[way >> 3 & 1].shrink,
		};

		TEST_ASSERT(mixture_shows(f, &mixture), "Mixture %u would not be seen", way);
	}
}

static void prepare_sets(struct fire *f)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tunings); i++) {
		f->sets[i] = (struct kvm_halt_poll_params) {
			.max_ns = tunings[i].max_ns,
			.grow = tunings[i].grow,
			.grow_start_ns = tunings[i].grow_start_ns,
			.shrink = tunings[i].shrink,
		};
	}
	check_mixtures(f);
	TEST_ASSERT(rewrite_sets(f->vm, 0), "Cannot give the VM a tuning: %s", strerror(errno));
}

static void prepare_own_max(struct fire *f)
{
	struct values *max = &f->legal[HALT_POLL_NS];
	int i;

	for (i = 0; i < NR_PARAMS; i++)
		f->legal[i] = (struct values) { 1, { params[i].val } };
	max->nr = values[HALT_POLL_NS].nr;
	memcpy(max->val, values[HALT_POLL_NS].val, sizeof(max->val));
	if (has_tuning())
		max->val[max->nr++] = params[HALT_POLL_NS].val;
	vm_enable_cap(f->vm, KVM_CAP_HALT_POLL, max->val[0]);
}

/* Returns NULL, or why the parameters cannot be rewritten. */
static const char *prepare_params(struct fire *f)
{
	const char *problem;
	int i;

	for (i = 0; i < NR_PARAMS; i++) {
		f->legal[i] = values[i];
		/* No budget on this kernel. */
		if (params[i].val < 0)
			continue;
		if (!open_param(&params[i]))
			return "The module's parameters cannot be set";
		problem = set_param(&params[i], values[i].val[0]);
		if (problem)
			return problem;
	}
	/* For no interval. */
	f->legal[BUDGET].nr = 1;
	return NULL;
}

/* Returns NULL, or why not. */
static const char *prepare(struct fire *f)
{
	if (f->kind == MODULE)
		return prepare_params(f);
	if (!kvm_has_cap(KVM_CAP_HALT_POLL))
		return "No KVM_CAP_HALT_POLL";
	if (f->kind == OWN_SETS && !has_tuning())
		return "KVM_CAP_HALT_POLL has no flags on this kernel";

	if (f->kind == OWN_SETS)
		prepare_sets(f);
	else
		prepare_own_max(f);
	return NULL;
}

static void run_under_fire(struct fire *f, struct kvm_vm *vm, struct kvm_vcpu *vcpus[],
			   const char *name)
{
	bool *stop = addr_gva2hva(vm, (unsigned long)&stop_guest);
	u64 end = monotonic_ns() + seconds * 1000000000ull;
	struct progress *p = host_view(vm);
	struct runner runners[NR_VCPUS];
	struct writer writers[NR_WRITERS];
	struct watch watches[NR_VCPUS];
	bool done = false, enough;
	int i;

	drain_trace();
	for (i = 0; i < NR_VCPUS; i++) {
		watches[i] = (struct watch) { name };
		vcpu_args_set(vcpus[i], 1, (u64)i);
		/* On one CPU, so that its trace events keep their order. */
		start_runner(&runners[i], vcpus[i], TIMER, i);
	}
	__atomic_store_n(&stop_writers, false, __ATOMIC_SEQ_CST);
	for (i = 0; i < NR_WRITERS; i++) {
		writers[i] = (struct writer) { .fire = f, .nr = i };
		create_thread(&writers[i].thread, run_writer, &writers[i]);
	}

	while (!done) {
		check_trace(f);
		enough = monotonic_ns() >= end;
		done = true;
		for (i = 0; i < NR_VCPUS; i++) {
			enough &= READ_ONCE(p[i].ended) >= MIN_HALTS;
			if (READ_ONCE(runners[i].done))
				continue;
			done = false;
			check_progress(&watches[i], READ_ONCE(p[i].ended));
		}
		WRITE_ONCE(*stop, enough);
		usleep(1000);
	}
	for (i = 0; i < NR_VCPUS; i++)
		pthread_join(runners[i].thread, NULL);
	__atomic_store_n(&stop_writers, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < NR_WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	check_trace(f);
}

static void test_under_fire(const char *name, enum fire_kind kind)
{
	char name_of_intervals[96];
	struct kvm_vcpu *vcpus[NR_VCPUS];
	struct fire f = { .kind = kind };
	const char *problem;
	struct kvm_vm *vm;
	int result, i;
	u64 ns;

	snprintf(name_of_intervals, sizeof(name_of_intervals), "%s, intervals", name);
	vm = create_halting_vm(NR_VCPUS, vcpus, guest_under_fire);
	setup_guest(vm);
	f.vm = vm;
	for (i = 0; i < NR_VCPUS; i++)
		f.known[i] = true;
	problem = prepare(&f);
	if (problem) {
		result = skip("%s", problem);
		report_result(name, result);
		report_result(name_of_intervals, result);
	} else {
		ns = monotonic_ns();
		run_under_fire(&f, vm, vcpus, name);
		report_result(name, judge_stats(vcpus, host_view(vm), monotonic_ns() - ns));
		report_result(name_of_intervals, judge_changes(&f));
	}
	reset_params();
	kvm_vm_free(vm);
}

static void help(const char *name)
{
	printf("usage: %s [-h] [-n halts] [-t seconds] [-S seed]\n\n", name);
	printf("-n: Halts for each wake source, with polling and without (default: %u).\n",
	       nr_halts);
	printf("-t: How long to rewrite parameters, three times, in s, at least (default: %u).\n",
	       seconds);
	printf("-S: Where random numbers start from (default: %u).\n", seed);
}

static void parse_options(int argc, char *argv[])
{
	int opt;

	while ((opt = getopt(argc, argv, "hn:t:S:")) != -1) {
		switch (opt) {
		case 'n':
			nr_halts = parse_u32(opt, optarg, 1, UINT_MAX);
			break;
		case 't':
			seconds = parse_u32(opt, optarg, 1, MAX_SECONDS);
			break;
		case 'S':
			seed = parse_u32(opt, optarg, 1, UINT_MAX / 2);
			break;
		default:
			other_option(opt, help, argv[0]);
		}
	}

	expect_no_argument(argc, argv);
}

int main(int argc, char *argv[])
{
	const struct sigaction ignore = { .sa_handler = ignore_signal };
	enum source source;
	char name[64];
	int i;

	parse_options(argc, argv);

	ksft_print_header();
	cycles_per_us = max(probe_kvm(guest_code) / 1000, 1);
	setup_cleanup(undo_everything);
	sigaction(SIGUSR1, &ignore, NULL);
	open_trace();
	reset_params();
	emulated = print_host_arch();

	ksft_set_plan(2 * NR_SOURCES + 6);
	for (source = 0; source < NR_SOURCES; source++) {
		for (i = 0; i < 2; i++) {
			snprintf(name, sizeof(name), "%s ends %s", source_names[source],
				 i ? "polls" : "blocks");
			report_result(name, test_wakeups(source, i));
		}
	}
	test_under_fire("parameters rewritten while vCPUs halt", MODULE);
	test_under_fire("maximum of the VM rewritten while it halts", OWN_MAX);
	test_under_fire("tuning of the VM rewritten as a whole while it halts", OWN_SETS);
	ksft_finished();
}
