// files: virt/kvm/kvm_main.c
@ exactly_max @
symbol vcpu, halt_ns, max_halt_poll_ns;
@@
 vcpu->halt_poll_ns < max_halt_poll_ns &&
-	halt_ns < max_halt_poll_ns
+	halt_ns <= max_halt_poll_ns
