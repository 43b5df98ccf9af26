/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Halting and waking up on x86: HLT, the local APIC's TSC deadline, IPIs.
 * Included by halt_poll_common.h, which says what each function is for.
 */
#ifndef SELFTEST_KVM_HALT_POLL_X86_H
#define SELFTEST_KVM_HALT_POLL_X86_H

#include <asm/kvm_para.h>

#include "apic.h"

/* The vCPU stat that counts HLTs, and the documented default. */
#define HALT_EXITS_STAT		"halt_exits"
#define DEFAULT_HALT_POLL_NS	200000

/* Each vCPU has a vector of its own, which tells the handler whose it is. */
#define FIRST_VECTOR		0xe0
#define HLT_OPCODE		0xf4

static inline void irq_handler(struct ex_regs *regs)
{
	u64 now = rdtsc();
	struct wakeup *w = &wakeups[regs->vector - FIRST_VECTOR];

	/*
	 * CPUs keep interrupts off from STI to the end of HLT, but QEMU's SVM
	 * does not if a VM-Exit comes in between.  Skip HLT, which would wait
	 * for ever, if it is where the interrupt came.
	 */
	if (*(u8 *)regs->rip == HLT_OPCODE) {
		regs->rip++;
		w->late = true;
	}

	if (!w->nr_irqs++)
		w->time = now;
	x2apic_write_reg(APIC_EOI, 0);
}

static inline u64 guest_counter(void)
{
	return rdtsc();
}

static inline void guest_setup(unsigned int id)
{
	x2apic_enable();
	x2apic_write_reg(APIC_LVTT, APIC_LVT_TIMER_TSCDEADLINE | (FIRST_VECTOR + id));
}

static inline void guest_arm_timer(u64 deadline)
{
	wrmsr(MSR_IA32_TSC_DEADLINE, deadline);
}

static inline void guest_wait(void)
{
	/* Interrupts are on for HLT alone. */
	asm volatile("sti; hlt; cli" ::: "memory");
}

static inline void guest_send_ipi(unsigned int to)
{
	x2apic_write_reg(APIC_ICR, (u64)to << 32 | APIC_DM_FIXED | (FIRST_VECTOR + to));
}

static inline void guest_forbid_polling(bool forbid)
{
	wrmsr(MSR_KVM_POLL_CONTROL, !forbid);
}

static inline bool guest_can_forbid_polling(void)
{
	return kvm_cpu_has(X86_FEATURE_KVM_POLL_CONTROL);
}

static inline struct kvm_vm *create_halting_vm(unsigned int nr, struct kvm_vcpu *vcpus[],
					       void *guest_code)
{
	struct kvm_vm *vm;
	unsigned int i;

	vm = vm_create_with_vcpus(nr, guest_code, vcpus);
	for (i = 0; i < nr; i++) {
		vcpu_set_cpuid_feature(vcpus[i], X86_FEATURE_TSC_DEADLINE_TIMER);
		vm_install_exception_handler(vm, FIRST_VECTOR + i, irq_handler);
	}
	return vm;
}

static inline int guest_counter_khz(struct kvm_vcpu *vcpu)
{
	return __vcpu_ioctl(vcpu, KVM_GET_TSC_KHZ, NULL);
}

static inline void inject_irq(struct kvm_vm *vm, unsigned int to)
{
	struct kvm_msi msi = {
		.address_lo = APIC_DEFAULT_GPA | to << 12,
		.data = FIRST_VECTOR + to,
	};
	int ret = __vm_ioctl(vm, KVM_SIGNAL_MSI, &msi);

	TEST_ASSERT(ret > 0, "KVM_SIGNAL_MSI to vCPU %u: %d (%s)", to, ret, strerror(errno));
}

/* HLT is behind the vCPU already: only its state keeps it from going on. */
static inline bool end_halt(struct kvm_vcpu *vcpu)
{
	struct kvm_mp_state state;

	vcpu_mp_state_get(vcpu, &state);
	if (state.mp_state != KVM_MP_STATE_HALTED)
		return false;

	state.mp_state = KVM_MP_STATE_RUNNABLE;
	vcpu_mp_state_set(vcpu, &state);
	return true;
}

static inline void require_arch(void)
{
	TEST_REQUIRE(kvm_has_cap(KVM_CAP_TSC_DEADLINE_TIMER));
	TEST_REQUIRE(kvm_has_cap(KVM_CAP_GET_TSC_KHZ));
}

static inline bool print_host_arch(void)
{
	u32 eax, ebx, ecx, edx;
	bool emulated = false;
	char buf[64], sig[13] = "";

	cpuid(1, &eax, &ebx, &ecx, &edx);
	if (ecx & BIT(31)) {
		cpuid(0x40000000, &eax, (u32 *)sig, (u32 *)(sig + 4), (u32 *)(sig + 8));
		emulated = !strcmp(sig, "TCGTCGTCGTCG");
		ksft_print_msg("host: %s \"%s\": compare figures with each other only\n",
			       emulated ? "emulated," : "VM under", sig);
	} else {
		ksft_print_msg("host: no hypervisor\n");
	}

	/* 6.1 had the number of ns, -1 for adaptive, in place of a bool. */
	if (!read_sysfs("/sys/module/kvm/parameters/lapic_timer_advance", buf, sizeof(buf)))
		read_sysfs("/sys/module/kvm/parameters/lapic_timer_advance_ns", buf, sizeof(buf));
	ksft_print_msg("lapic_timer_advance: %s\n", buf);
	return emulated;
}

#endif /* SELFTEST_KVM_HALT_POLL_X86_H */
