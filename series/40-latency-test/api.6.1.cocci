// files: tools/testing/selftests/kvm/include/halt_poll_common.h
// 6.1: apic.h has no timer registers, and exceptions have to be set up.
@ timer_registers @
@@
 #include "test_util.h"
+
+#define APIC_LVTT 0x320
+#define APIC_LVT_TIMER_TSCDEADLINE (2 << 17)

@ set_up_exceptions @
expression vm, vcpu, feature;
@@
 vcpu_set_cpuid_feature(vcpu, feature);
+vm_init_descriptor_tables(vm);
+vcpu_init_descriptor_tables(vcpu);
 vm_install_exception_handler(vm, ...);
