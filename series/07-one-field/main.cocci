// files: virt/kvm/kvm_main.c
@ inherit @
symbol kvm;
@@
 static struct kvm *kvm_create_vm(...)
 {
 ...
 kvm->max_vcpus = KVM_MAX_VCPUS;
+ kvm->max_halt_poll_ns = KVM_HALT_POLL_NS_INHERIT;
 ...
 }

@ read @
symbol vcpu, kvm, halt_poll_ns;
@@
 static unsigned int kvm_vcpu_max_halt_poll_ns(struct kvm_vcpu *vcpu)
 {
- struct kvm *kvm = vcpu->kvm;
- if (kvm->override_halt_poll_ns) {
-	smp_rmb();
-	return READ_ONCE(kvm->max_halt_poll_ns);
- }
- return READ_ONCE(halt_poll_ns);
+	unsigned int max_ns = READ_ONCE(vcpu->kvm->max_halt_poll_ns);
+
+	return max_ns == KVM_HALT_POLL_NS_INHERIT ? READ_ONCE(halt_poll_ns) : max_ns;
 }

@ write @
symbol kvm, cap;
@@
- kvm->max_halt_poll_ns = cap->args[0];
- smp_wmb();
- kvm->override_halt_poll_ns = true;
+ WRITE_ONCE(kvm->max_halt_poll_ns,
+	   min_t(u64, cap->args[0], KVM_HALT_POLL_NS_INHERIT - 1));
