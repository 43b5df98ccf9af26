// files: tools/testing/selftests/kvm/include/halt_poll_x86.h tools/testing/selftests/kvm/include/halt_poll_common.h tools/testing/selftests/kvm/halt_poll_latency_test.c
// 6.1: apic.h has no timer registers, exceptions have to be set up, skips have no
// name, and the Makefile does not define _GNU_SOURCE.
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

@ skip @
expression name, reason;
@@
-ksft_test_result_code(KSFT_SKIP, name, "%s", reason);
+ksft_test_result_skip("%s: %s\n", name, reason);

@ gnu_source @
@@
+#define _GNU_SOURCE
 #include <limits.h>
