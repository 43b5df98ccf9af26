// files: arch/powerpc/kvm/book3s_hv.c
@ show @
symbol vc, do_sleep, block_ns;
@@
+ vc->runner->stat.generic.halt_poll_ns = vc->halt_poll_ns;
 trace_kvmppc_vcore_wakeup(do_sleep, block_ns);
