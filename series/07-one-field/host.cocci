// files: include/linux/kvm_host.h
@ inherit @
@@
+/* As max_halt_poll_ns: the module parameter halt_poll_ns goes for this VM. */
+#define KVM_HALT_POLL_NS_INHERIT UINT_MAX
+
 struct kvm {
 ...
 unsigned int max_halt_poll_ns;
 ...
 };

@ one_field @
@@
 struct kvm {
 ...
- bool override_halt_poll_ns;
 ...
 };
