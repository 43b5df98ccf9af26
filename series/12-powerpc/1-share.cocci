// files: virt/kvm/kvm_main.c
@ max @
@@
-static unsigned int kvm_vcpu_max_halt_poll_ns(struct kvm_vcpu *vcpu)
-{ ... }

@ max_caller @
expression vcpu;
@@
- kvm_vcpu_max_halt_poll_ns(vcpu)
+ kvm_max_halt_poll_ns(vcpu->kvm)

@ params @
symbol vcpu, params;
@@
 static void kvm_vcpu_adapt_halt_poll_ns(struct kvm_vcpu *vcpu, u64 halt_ns)
 {
- struct kvm_halt_poll_params params = { ... };
+ struct kvm_halt_poll_params params = kvm_halt_poll_params(vcpu->kvm);
 ...
 }

@ include @
@@
-#include <linux/kvm_halt_poll.h>
