/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Halting and waking up on arm64: WFI, the virtual timer, interrupts by way of
 * a GICv3.  Included by halt_poll_common.h, which says what each function is for.
 */
#ifndef SELFTEST_KVM_HALT_POLL_ARM64_H
#define SELFTEST_KVM_HALT_POLL_ARM64_H

#include <linux/sizes.h>

#include "arch_timer.h"
#include "gic.h"
#include "gic_v3.h"
#include "spinlock.h"
#include "vgic.h"

/* The vCPU stat that counts WFIs, and the documented default. */
#define HALT_EXITS_STAT		"wfi_exit_stat"
#define DEFAULT_HALT_POLL_NS	500000

#define WFI_OPCODE		0xd503207f
#define IPI_INTID		MIN_SGI
/* Each vCPU has one of its own, which is what injects into it. */
#define FIRST_SPI		MIN_SPI

/* Set by the host. */
static u32 timer_intid;
static unsigned int nr_halting_vcpus;
/* Set by the host when it ends a halt, by vCPU. */
static bool halt_ended[MAX_HALTING_VCPUS];

static struct spinlock gic_setup_lock;

static inline u64 guest_counter(void)
{
	return timer_get_cntct(VIRTUAL);
}

static inline void irq_handler(struct ex_regs *regs)
{
	u64 now = guest_counter();
	struct wakeup *w = &wakeups[guest_get_vcpuid()];
	u32 intid = gic_get_and_ack_irq();

	if (intid == IAR_SPURIOUS)
		return;

	/* The timer holds its line until it is told not to. */
	if (intid == timer_intid)
		timer_set_ctl(VIRTUAL, CTL_IMASK);

	if (!w->nr_irqs++)
		w->time = now;
	gic_set_eoi(intid);
}

static inline void guest_setup(unsigned int id)
{
	unsigned int spi = FIRST_SPI + id;

	gic_init(GIC_V3, nr_halting_vcpus);
	gic_irq_enable(timer_intid);
	gic_irq_enable(IPI_INTID);

	/* Several SPIs share a register. */
	spin_lock(&gic_setup_lock);
	gic_irq_set_config(spi, true);
	writel(id, GICD_BASE_GVA + GICD_IROUTER + spi * 8);
	gic_irq_enable(spi);
	spin_unlock(&gic_setup_lock);
}

static inline void guest_arm_timer(u64 deadline)
{
	timer_set_cval(VIRTUAL, deadline);
	timer_set_ctl(VIRTUAL, CTL_ENABLE);
}

/*
 * WFI ends for an interrupt that is pending, masked or not, so there is no
 * moment at which it could be missed.  But WFI may end for any other reason
 * as well, such as an interrupt that is the host's: halt again.
 */
static inline void guest_wait(void)
{
	unsigned int id = guest_get_vcpuid();
	u64 nr_irqs = wakeups[id].nr_irqs;

	halt_ended[id] = false;
	while (READ_ONCE(wakeups[id].nr_irqs) == nr_irqs && !READ_ONCE(halt_ended[id])) {
		wfi();
		local_irq_enable();
		isb();
		local_irq_disable();
	}
}

static inline void guest_send_ipi(unsigned int to)
{
	/* What was written before must be seen by whoever takes it. */
	dsb(ishst);
	write_sysreg_s((u64)IPI_INTID << 24 | BIT(to), SYS_ICC_SGI1R_EL1);
	isb();
}

static inline bool guest_can_forbid_polling(void)
{
	return false;
}

static inline void guest_forbid_polling(bool forbid)
{
	GUEST_FAIL("No way to forbid polling");
}

static inline struct kvm_vm *create_halting_vm(unsigned int nr, struct kvm_vcpu *vcpus[],
					       void *guest_code)
{
	struct kvm_vm *vm;
	unsigned int i;

	vm = vm_create_with_vcpus(nr, guest_code, vcpus);
	vm_init_descriptor_tables(vm);
	vm_install_exception_handler(vm, VECTOR_IRQ_CURRENT, irq_handler);
	for (i = 0; i < nr; i++)
		vcpu_init_descriptor_tables(vcpus[i]);

	timer_intid = vcpu_get_vtimer_irq(vcpus[0]);
	nr_halting_vcpus = nr;
	sync_global_to_guest(vm, timer_intid);
	sync_global_to_guest(vm, nr_halting_vcpus);
	return vm;
}

/* Host and guest have the same counter, but for its offset. */
static inline int guest_counter_khz(struct kvm_vcpu *vcpu)
{
	return timer_get_cntfrq() / 1000;
}

/* An edge, since nothing would lower the line when the guest has seen it. */
static inline void inject_irq(struct kvm_vm *vm, unsigned int to)
{
	kvm_arm_irq_line(vm, FIRST_SPI + to, 1);
	kvm_arm_irq_line(vm, FIRST_SPI + to, 0);
}

/* KVM has taken WFI for done already; all that is left is guest_wait()'s loop. */
static inline bool end_halt(struct kvm_vcpu *vcpu)
{
	u64 pc;

	TEST_ASSERT(!__vcpu_get_reg(vcpu, ARM64_CORE_REG(regs.pc), &pc), "No PC");
	if (*(u32 *)addr_gva2hva(vcpu->vm, pc - 4) != WFI_OPCODE)
		return false;

	*(bool *)addr_gva2hva(vcpu->vm, (unsigned long)&halt_ended[vcpu->id]) = true;
	return true;
}

static inline void require_arch(void)
{
	TEST_REQUIRE(kvm_supports_vgic_v3());
}

/* No instruction tells what is below; the name of QEMU's machine does. */
static inline bool print_host_arch(void)
{
	char buf[64];
	bool virt;

	if (!read_sysfs("/sys/firmware/devicetree/base/compatible", buf, sizeof(buf)))
		read_sysfs("/sys/class/dmi/id/product_name", buf, sizeof(buf));
	virt = !strcmp(buf, "linux,dummy-virt") || strstr(buf, "Virtual Machine");
	ksft_print_msg("host: %s\"%s\"%s\n", virt ? "emulated or a VM, " : "", buf,
		       virt ? ": compare figures with each other only" : "");
	return virt;
}

#endif /* SELFTEST_KVM_HALT_POLL_ARM64_H */
