// files: virt/kvm/kvm_main.c
@ move @
struct kvm_vcpu *vcpu;
@@
- vcpu->halt_poll_ns
+ vcpu->stat.generic.halt_poll_ns
