// files: virt/kvm/kvm_main.c
@ cap @
symbol val, grow_start, max;
@@
 static void grow_halt_poll_ns(
-	struct kvm_vcpu *vcpu
+	struct kvm_vcpu *vcpu, unsigned int max
 )
 {
 ...
 if (val < grow_start)
	val = grow_start;
+ if (val > max)
+ 	val = max;
 ...
 }

@ caller @
symbol vcpu, max_halt_poll_ns;
@@
- grow_halt_poll_ns(vcpu)
+ grow_halt_poll_ns(vcpu, max_halt_poll_ns)
