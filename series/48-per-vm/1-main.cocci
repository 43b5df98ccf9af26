// files: virt/kvm/kvm_main.c
@ create @
symbol kvm;
@@
 static struct kvm *kvm_create_vm(...)
 {
 ...
- kvm->max_halt_poll_ns = KVM_HALT_POLL_NS_INHERIT;
 ...
 }

@ destroy @
symbol kvm;
@@
 static void kvm_destroy_vm(struct kvm *kvm)
 {
 ...
+ kfree(rcu_access_pointer(kvm->halt_poll_tuning));
 kvm_arch_free_vm(kvm);
 ...
 }
