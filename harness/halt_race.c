// SPDX-License-Identifier: GPL-2.0
/*
 * A vCPU halts, again and again, while another thread rewrites the VM's maximum, and
 * all its other parameters where it can have some: what KCSAN must see on a kernel
 * where that is a data race, and must not on one where it is none.
 *
 * There is no guest.  The vCPU starts out halted, and a signal that is always
 * pending in KVM_RUN ends each halt at once: thousands a second, on any host.
 */
#include <errno.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#define ENOUGH	1000

/* The machine's own header may be older than the series. */
#ifndef KVM_HALT_POLL_INHERIT
#define KVM_HALT_POLL_INHERIT	(1 << 6)
#endif

static bool stop;
static unsigned long nr_writes;

static int call(int fd, const char *name, unsigned long request, unsigned long arg)
{
	int ret = ioctl(fd, request, arg);

	if (ret < 0) {
		fprintf(stderr, "halt_race: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	return ret;
}

#define CALL(fd, request, arg)	call(fd, #request, request, (unsigned long)(arg))

/* By turns; args as KVM_CAP_HALT_POLL has them: max, shrink and grow, start, budget. */
static void *rewrite(void *arg)
{
	struct kvm_enable_cap caps[2] = {
		{ .cap = KVM_CAP_HALT_POLL, .args = { 50000 } },
		{ .cap = KVM_CAP_HALT_POLL, .args = { 200000 } },
	};
	int vm = *(int *)arg, flags, i;

	flags = CALL(vm, KVM_CHECK_EXTENSION, KVM_CAP_HALT_POLL);
	for (i = 0; flags > 1 && i < 2; i++) {
		caps[i].flags = flags & ~(1 | KVM_HALT_POLL_INHERIT);
		caps[i].args[1] = (2ULL + i) << 32 | (3 + i);
		caps[i].args[2] = 10000 * (1 + i);
		caps[i].args[3] = 50 * (1 + i);
	}
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		CALL(vm, KVM_ENABLE_CAP, &caps[nr_writes++ % 2]);
	return NULL;
}

/* Blocked but for KVM_RUN, which leaves it pending. */
static void let_signal_pend(int vcpu)
{
	struct {
		struct kvm_signal_mask mask;
		__u64 blocked;
	} none = { .mask.len = sizeof(none.blocked) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	CALL(vcpu, KVM_SET_SIGNAL_MASK, &none);
}

static unsigned long halt_for(int vcpu, int seconds)
{
	time_t end = time(NULL) + seconds;
	unsigned long halts;

	for (halts = 0; time(NULL) < end; halts++) {
		if (!ioctl(vcpu, KVM_RUN, NULL) || errno != EINTR) {
			fprintf(stderr, "halt_race: KVM_RUN: not interrupted\n");
			exit(1);
		}
	}
	return halts;
}

int main(int argc, char *argv[])
{
	struct kvm_mp_state halted = { KVM_MP_STATE_HALTED };
	int kvm, vm, vcpu, seconds = argc == 2 ? atoi(argv[1]) : 0;
	unsigned long halts;
	pthread_t writer;

	if (seconds <= 0) {
		fprintf(stderr, "usage: halt_race <seconds>\n");
		return 2;
	}

	kvm = open("/dev/kvm", O_RDWR);
	vm = CALL(kvm, KVM_CREATE_VM, NULL);
	CALL(vm, KVM_CREATE_IRQCHIP, NULL);
	vcpu = CALL(vm, KVM_CREATE_VCPU, NULL);
	CALL(vcpu, KVM_SET_MP_STATE, &halted);

	if (pthread_create(&writer, NULL, rewrite, &vm))
		return 1;
	let_signal_pend(vcpu);
	halts = halt_for(vcpu, seconds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);

	printf("# %lu halts, %lu writes in %d s\n", halts, nr_writes, seconds);
	return halts < ENOUGH || nr_writes < ENOUGH;
}
