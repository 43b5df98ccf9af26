// files: virt/kvm/kvm_main.c
@ setter @
@@
+static void kvm_vcpu_set_halt_poll_ns(struct kvm_vcpu *vcpu, unsigned int val)
+{
+	unsigned int old = vcpu->halt_poll_ns;
+
+	if (val == old)
+		return;
+	vcpu->halt_poll_ns = val;
+	if (val > old)
+		trace_kvm_halt_poll_ns_grow(vcpu->vcpu_id, val, old);
+	else
+		trace_kvm_halt_poll_ns_shrink(vcpu->vcpu_id, val, old);
+}
+
 static void grow_halt_poll_ns(struct kvm_vcpu *vcpu, unsigned int max)
 { ... }

@ grow_zero @
symbol grow, out;
@@
 if (!grow)
- goto out;
+ return;

@ grow_store @
symbol vcpu, val, old, out;
@@
- vcpu->halt_poll_ns = val;
-out:
- trace_kvm_halt_poll_ns_grow(vcpu->vcpu_id, val, old);
+ kvm_vcpu_set_halt_poll_ns(vcpu, val);

@ shrink_store @
symbol vcpu, val, old;
@@
- vcpu->halt_poll_ns = val;
- trace_kvm_halt_poll_ns_shrink(vcpu->vcpu_id, val, old);
+ kvm_vcpu_set_halt_poll_ns(vcpu, val);

@ no_old @
symbol vcpu, val, old;
@@
- unsigned int old;
- old = val = vcpu->halt_poll_ns;
+ val = vcpu->halt_poll_ns;

@ cap_before_halt @
symbol vcpu, max_halt_poll_ns;
@@
 if (vcpu->halt_poll_ns > max_halt_poll_ns)
- vcpu->halt_poll_ns = max_halt_poll_ns;
+ kvm_vcpu_set_halt_poll_ns(vcpu, max_halt_poll_ns);

@ reset @
symbol vcpu;
@@
- vcpu->halt_poll_ns = 0;
+ kvm_vcpu_set_halt_poll_ns(vcpu, 0);
