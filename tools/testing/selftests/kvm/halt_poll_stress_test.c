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
 * emulated hosts do that; such halts are counted and printed.
 *
 * - timer: the guest's own.
 * - IPI: sent by another vCPU.
 * - injected interrupt: by an ioctl of another thread.
 * - signal: to the vCPU's thread, for which it is unmasked in KVM_RUN alone.
 *   KVM_RUN must return; then the vCPU is made to go on behind its halt.
 * - kicked out: immediate_exit and a signal.  KVM_RUN must return; when it is
 *   entered again the vCPU must halt on until it is interrupted.
 *
 * Under fire: four vCPUs halt for random times while other threads rewrite the
 * module's parameters, or the VM's own maximum, at random.  Again no wakeup may
 * be lost, the stats must agree with each other, and each change of an interval
 * that is traced must start where the last one ended, and be one that the kernel's
 * own header makes under some of the parameters that were in use.
 *
 * No time is judged.  Random numbers start from a fixed seed (-S), but threads do
 * not repeat.
 */
#include <linux/compiler.h>
#include <pthread.h>
#include <sched.h>

#include "halt_poll_common.h"
#include "halt_poll_trace.h"
#include "../../../../include/linux/kvm_halt_poll.h"

/* How long without any progress until a wakeup counts as lost. */
#define GUARD_S			60
/* Polls that last until they hit. */
#define POLL_MAX_NS		1000000000
#define MAX_DELAY_SHIFT		7	/* random times, in us */
#define MAX_SECONDS		3600
#define NR_VCPUS		4
#define NR_WRITERS		2
#define MAX_VALUES		6

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
	int cpu;		/* -1: any */
	u64 returned;		/* how often KVM_RUN did, for a signal */
	u64 resumed;		/* how often that was out of a halt */
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
	vcpu_ioctl(vcpu, KVM_SET_SIGNAL_MASK, &arg);
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

	if (nr < 0 || sched_getaffinity(0, sizeof(may), &may))
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

static void start_runner(struct runner *r, struct kvm_vcpu *vcpu, enum source source, int cpu)
{
	*r = (struct runner) {
		.vcpu = vcpu,
		.source = source,
		.cpu = cpu,
	};
	TEST_ASSERT(!pthread_create(&r->thread, NULL, run_vcpu, r), "No thread");
}

static void send_signal(struct runner *r)
{
	u64 returned = READ_ONCE(r->returned);

	TEST_ASSERT(!pthread_kill(r->thread, SIGUSR1), "Cannot send a signal");
	yield_until_not(&r->returned, returned);
}

static void wake_up(struct runner *r, struct progress *p, u64 i)
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
		r->vcpu->run->immediate_exit = 1;
		send_signal(r);
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

	for (i = 1; i <= nr_halts; i++) {
		yield_until_not(&p->halting, i - 1);
		host_delay(&random);
		wake_up(r, p, i);
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

static void setup_guest(struct kvm_vm *vm, int khz)
{
	int i;

	memset(progress, 0, sizeof(progress));
	for (i = 0; i < NR_VCPUS; i++)
		progress[i].random = seed + i;
	cycles_per_us = max(khz / 1000, 1);
	stop_guest = false;
	sync_global_to_guest(vm, progress);
	sync_global_to_guest(vm, cycles_per_us);
	sync_global_to_guest(vm, stop_guest);
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
	if (polls && !hits) {
		ksft_print_msg("No poll was ended\n");
		return KSFT_FAIL;
	}
	if (!polls && (!waited || d->val[ATTEMPTED])) {
		ksft_print_msg("wanted blocked halts and no polls\n");
		return KSFT_FAIL;
	}
	return KSFT_PASS;
}

static const char *cannot_test(enum source source, bool polls)
{
	bool one_cpu = sysconf(_SC_NPROCESSORS_ONLN) < 2;

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

static int test_wakeups(enum source source, bool polls, int khz)
{
	const char *reason = cannot_test(source, polls);
	struct watch watch = { source_names[source] };
	struct runner sleeper, guest_thread;
	struct kvm_vcpu *vcpus[2];
	struct stats start, d;
	struct progress *p;
	struct kvm_vm *vm;
	pthread_t waker;
	int result;
	u64 ns;

	if (reason)
		return skip("%s", reason);

	vm = create_halting_vm(1 + (source == IPI), vcpus, guest_sleeper);
	vm_enable_cap(vm, KVM_CAP_HALT_POLL, polls ? POLL_MAX_NS : 0);
	setup_guest(vm, khz);
	p = host_view(vm);
	vcpu_args_set(vcpus[0], 2, (u64)source, (u64)nr_halts);
	read_stats(vcpus[0], &start);
	ns = monotonic_ns();

	start_runner(&sleeper, vcpus[0], source, -1);
	if (source == IPI) {
		vcpu_arch_set_entry_point(vcpus[1], guest_waker);
		vcpu_args_set(vcpus[1], 1, (u64)nr_halts);
		start_runner(&guest_thread, vcpus[1], source, -1);
	} else if (source != TIMER) {
		TEST_ASSERT(!pthread_create(&waker, NULL, run_waker, &sleeper), "No thread");
	}

	while (!READ_ONCE(sleeper.done)) {
		check_progress(&watch, READ_ONCE(p->ended));
		usleep(10000);
	}
	pthread_join(sleeper.thread, NULL);
	if (source == IPI)
		pthread_join(guest_thread.thread, NULL);
	else if (source != TIMER)
		pthread_join(waker, NULL);

	read_stats(vcpus[0], &d);
	sub_stats(&d, &start);
	result = judge_wakeups(&d, p->extra, polls, monotonic_ns() - ns);
	TEST_ASSERT(p->ended == nr_halts, "%lu of %u halts ended", p->ended, nr_halts);
	kvm_vm_free(vm);
	return result;
}
