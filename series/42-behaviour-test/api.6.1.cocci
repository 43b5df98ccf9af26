// files: tools/testing/selftests/kvm/halt_poll_test.c
// 6.1: the Makefile does not define _GNU_SOURCE, and skips have no name.
@ gnu_source @
@@
+#define _GNU_SOURCE
 #include <linux/compiler.h>

@ skip @
expression name, reason;
@@
-ksft_test_result_code(KSFT_SKIP, name, "%s", reason);
+ksft_test_result_skip("%s: %s\n", name, reason);
