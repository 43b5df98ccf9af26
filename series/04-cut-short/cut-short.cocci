// files: virt/kvm/kvm_main.c
@ declare @
symbol waited;
@@
 void kvm_vcpu_halt(struct kvm_vcpu *vcpu)
 {
 ...
+ bool poll_cut_short = false;
 bool waited = false;
 ...
 }

@ remember @
symbol do_halt_poll, cur, stop;
expression end;
statement loop;
@@
 if (do_halt_poll) {
 	ktime_t stop = end;
 	loop
+	poll_cut_short = ktime_before(cur, stop);
 }

@ leave_alone @
symbol halt_poll_allowed, max_halt_poll_ns, vcpu;
@@
- if (halt_poll_allowed)
+ if (halt_poll_allowed && !poll_cut_short)
 {
 max_halt_poll_ns = kvm_vcpu_max_halt_poll_ns(vcpu);
 ...
 }
