// files: virt/kvm/kvm_main.c
@ params @
symbol vcpu, max_halt_poll_ns;
@@
 void kvm_vcpu_halt(struct kvm_vcpu *vcpu)
 {
- unsigned int max_halt_poll_ns = kvm_max_halt_poll_ns(vcpu->kvm);
+ struct kvm_halt_poll_params params = kvm_halt_poll_params(vcpu->kvm);
 <...
- max_halt_poll_ns
+ params.max_ns
 ...>
 }

@ afford @
symbol start, cur, poll_end, do_halt_poll, poll_cut_short, vcpu;
@@
 start = cur = poll_end = ktime_get();
+ if (do_halt_poll &&
+     !kvm_halt_poll_affords(&vcpu->halt_poll_credit, ktime_to_ns(start),
+			    vcpu->halt_poll_ns, &params)) {
+	++vcpu->stat.generic.halt_poll_skipped;
+	do_halt_poll = false;
+	poll_cut_short = true;
+ }
 if (do_halt_poll) { ... }

@ charge @
symbol vcpu, poll_ns;
expression val;
@@
 update_halt_poll_stats(...)
 {
 ...
 u64 poll_ns = val;
+
+ kvm_halt_poll_charge(&vcpu->halt_poll_credit, poll_ns);
 ...
 }
