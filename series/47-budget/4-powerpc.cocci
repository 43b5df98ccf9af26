// files: arch/powerpc/kvm/book3s_hv.c
@ declare @
symbol params, vc, do_sleep;
@@
 static void kvmppc_vcore_blocked(struct kvmppc_vcore *vc)
 {
- struct kvm_halt_poll_params params;
+ struct kvm_halt_poll_params params = kvm_halt_poll_limits(vc->kvm);
 ...
 int do_sleep = 1;
+ bool do_poll;
 ...
 }

@ cap @
symbol vc, params;
@@
- vc->halt_poll_ns = min(vc->halt_poll_ns, kvm_max_halt_poll_ns(vc->kvm));
+ vc->halt_poll_ns = min(vc->halt_poll_ns, params.max_ns);

@ use @
symbol vc, do_poll;
@@
 static void kvmppc_vcore_blocked(struct kvmppc_vcore *vc)
 {
 <+...
- if (vc->halt_poll_ns)
+ if (do_poll)
 { ... }
 ...+>
 }

@ afford @
symbol cur, start_poll, vc, do_poll, params, poll_cut_short;
@@
 cur = start_poll = ktime_get();
+ do_poll = vc->halt_poll_ns;
+ if (do_poll && !kvmppc_vcore_affords_poll(vc, start_poll, &params)) {
+	do_poll = false;
+	poll_cut_short = true;
+ }

@ charge_failed @
symbol vc, start_wait, start_poll;
@@
+ kvm_halt_poll_charge(&vc->halt_poll_credit,
+		       ktime_to_ns(start_wait) - ktime_to_ns(start_poll));
 vc->runner->stat.generic.halt_poll_fail_ns += ktime_to_ns(start_wait) - ktime_to_ns(start_poll);

@ charge_hit @
symbol vc, cur, start_poll;
@@
+ kvm_halt_poll_charge(&vc->halt_poll_credit,
+		       ktime_to_ns(cur) - ktime_to_ns(start_poll));
 vc->runner->stat.generic.halt_poll_success_ns += ktime_to_ns(cur) - ktime_to_ns(start_poll);
