// files: virt/kvm/kvm_main.c
@ parameters @
symbol vcpu, max_halt_poll_ns;
@@
 void kvm_vcpu_halt(struct kvm_vcpu *vcpu)
 {
- unsigned int max_halt_poll_ns = kvm_max_halt_poll_ns(vcpu->kvm);
+ struct kvm_halt_poll_params params = kvm_halt_poll_limits(vcpu->kvm);
 <...
- max_halt_poll_ns
+ params.max_ns
 ...>
 }

@ skip @
symbol start, cur, poll_end, do_halt_poll, poll_cut_short, vcpu, params;
@@
 start = cur = poll_end = ktime_get();
+
+/* A skipped poll tells as little about the interval as one cut short. */
+ if (do_halt_poll && !kvm_vcpu_affords_poll(vcpu, start, &params)) {
+	do_halt_poll = false;
+	poll_cut_short = true;
+ }
+
 if (do_halt_poll) { ... }

@ charge @
symbol vcpu, start, poll_end, waited;
@@
- if (do_halt_poll)
+ if (do_halt_poll) {
+	kvm_halt_poll_charge(&vcpu->halt_poll_credit,
+			     ktime_to_ns(poll_end) - ktime_to_ns(start));
 	update_halt_poll_stats(vcpu, start, poll_end, !waited);
+ }
