// files: tools/testing/selftests/kvm/halt_poll_test.c
// 6.1: the Makefile does not define _GNU_SOURCE.
@ gnu_source @
@@
+#define _GNU_SOURCE
 #include <linux/compiler.h>
