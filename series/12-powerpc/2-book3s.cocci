// files: arch/powerpc/kvm/book3s_hv.c
@ grow @
@@
- static void grow_halt_poll_ns(struct kvmppc_vcore *vc)
- { ... }

@ shrink @
@@
- static void shrink_halt_poll_ns(struct kvmppc_vcore *vc)
- { ... }

@ declare @
symbol do_sleep;
@@
 static void kvmppc_vcore_blocked(struct kvmppc_vcore *vc)
 {
+ struct kvm_halt_poll_params params;
 ...
+ bool poll_cut_short = false;
 int do_sleep = 1;
 ...
 }

@ cap @
symbol vc;
@@
 static void kvmppc_vcore_blocked(struct kvmppc_vcore *vc)
 {
 ...
 WARN_ON_ONCE(...);
+ vc->halt_poll_ns = min(vc->halt_poll_ns, kvm_max_halt_poll_ns(vc->kvm));
 ...
 }

@ remember @
symbol vc, do_sleep, cur, stop;
statement loop;
@@
 if (vc->halt_poll_ns) {
 	...
 	spin_unlock(&vc->lock);
 	loop
+	poll_cut_short = do_sleep && ktime_before(cur, stop);
 	...
 }

@ adapt @
symbol vc, halt_poll_ns;
@@
- if (halt_poll_ns) { ... } else
-	vc->halt_poll_ns = 0;
+ params = kvm_halt_poll_params(vc->kvm);
+ if (!poll_cut_short)
+ 	vc->halt_poll_ns = kvm_halt_poll_next(vc->halt_poll_ns, block_ns, true, &params);
