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

@ set @
symbol kvm, cap;
@@
- if (cap->flags || cap->args[0] != (unsigned int)cap->args[0])
-	return -EINVAL;
- WRITE_ONCE(kvm->max_halt_poll_ns, ...);
- return 0;
+ return kvm_vm_set_halt_poll(kvm, cap);
