// files: tools/testing/selftests/kvm/include/halt_poll_x86.h
// 6.1: apic.h has no timer registers, and exceptions have to be set up.
@ timer_registers @
@@
 #include "apic.h"
+
+#define APIC_LVTT 0x320
+#define APIC_LVT_TIMER_TSCDEADLINE (2 << 17)

@ exceptions @
expression vm, vcpus;
@@
 vm = vm_create_with_vcpus(..., vcpus);
+vm_init_descriptor_tables(vm);

@ exceptions_of_vcpu @
expression vcpu, feature;
@@
 vcpu_set_cpuid_feature(vcpu, feature);
+vcpu_init_descriptor_tables(vcpu);
