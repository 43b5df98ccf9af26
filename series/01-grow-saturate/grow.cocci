// files: virt/kvm/kvm_main.c
@ saturate @
symbol val, grow;
@@
 static void grow_halt_poll_ns(struct kvm_vcpu *vcpu)
 {
 ...
- val *= grow;
+ if (check_mul_overflow(val, grow, &val))
+ 	val = UINT_MAX;
 ...
 }
