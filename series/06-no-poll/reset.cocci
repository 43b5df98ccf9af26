// files: virt/kvm/kvm_main.c
@ reset_when_not_allowed @
symbol halt_poll_allowed, max_halt_poll_ns, vcpu;
@@
 if (vcpu->halt_poll_ns > max_halt_poll_ns)
 	kvm_vcpu_set_halt_poll_ns(vcpu, max_halt_poll_ns);
+ if (!halt_poll_allowed)
+ 	kvm_vcpu_set_halt_poll_ns(vcpu, 0);
