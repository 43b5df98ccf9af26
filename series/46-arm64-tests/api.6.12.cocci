// files: tools/testing/selftests/kvm/include/halt_poll_arm64.h
// 6.12: VMs have no vGIC of their own accord, and nothing tells the timer's interrupt.
@ set_up_vgic @
expression vm, nr, guest_code, vcpus;
@@
 vm = vm_create_with_vcpus(nr, guest_code, vcpus);
+gic_fd = vgic_v3_setup(vm, nr, 64);
+__TEST_REQUIRE(gic_fd >= 0, "No vGICv3");
+close(gic_fd);

@ declare_gic_fd @
identifier create_halting_vm;
@@
 create_halting_vm(...)
 {
 struct kvm_vm *vm;
+int gic_fd;
 ...
 }

@ timer_interrupt @
expression intid, vcpu;
@@
-intid = vcpu_get_vtimer_irq(vcpu);
+vcpu_device_attr_get(vcpu, KVM_ARM_VCPU_TIMER_CTRL, KVM_ARM_VCPU_TIMER_IRQ_VTIMER,
+		     &intid);

@ no_probe @
@@
-TEST_REQUIRE(kvm_supports_vgic_v3());
