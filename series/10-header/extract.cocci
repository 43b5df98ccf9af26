// files: virt/kvm/kvm_main.c
@ include @
@@
 #include <linux/kvm.h>
+#include <linux/kvm_halt_poll.h>

@ grow @
@@
- static void grow_halt_poll_ns(struct kvm_vcpu *vcpu, unsigned int max)
- { ... }

@ shrink @
@@
- static void shrink_halt_poll_ns(struct kvm_vcpu *vcpu)
- { ... }

@ adapt @
@@
 static unsigned int kvm_vcpu_max_halt_poll_ns(struct kvm_vcpu *vcpu)
 { ... }
+
+static void kvm_vcpu_adapt_halt_poll_ns(struct kvm_vcpu *vcpu, u64 halt_ns)
+{
+	struct kvm_halt_poll_params params = {
+		.max_ns = kvm_vcpu_max_halt_poll_ns(vcpu),
+		.grow = READ_ONCE(halt_poll_ns_grow),
+		.grow_start_ns = READ_ONCE(halt_poll_ns_grow_start),
+		.shrink = READ_ONCE(halt_poll_ns_shrink),
+	};
+	unsigned int val;
+
+	val = kvm_halt_poll_next(vcpu->halt_poll_ns, halt_ns,
+				 vcpu_valid_wakeup(vcpu), &params);
+	kvm_vcpu_set_halt_poll_ns(vcpu, val);
+}

@ call @
symbol halt_poll_allowed, poll_cut_short, max_halt_poll_ns, vcpu, halt_ns;
@@
- if (halt_poll_allowed && !poll_cut_short) {
- max_halt_poll_ns = kvm_vcpu_max_halt_poll_ns(vcpu);
- ...
- }
+ if (halt_poll_allowed && !poll_cut_short)
+ 	kvm_vcpu_adapt_halt_poll_ns(vcpu, halt_ns);
