# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # its readers are elsewhere
# Whose data races KCSAN reports; sourced.  A report's title names the functions
# of both sides, in the order of the alphabet: "kvm_vcpu_halt / kvm_vm_ioctl".

readonly HALT_POLLING='[^ ]*(halt_poll|kvm_vcpu_halt)'

# Those that fail a test.  Not those with kstrtouint(), which writes module
# parameters, plainly, all over the kernel: READ_ONCE() is all that KVM can do.
readonly OUR_RACES="^$HALT_POLLING|^([^k]|k[^s])[^ ]* / $HALT_POLLING"

# The one that KCSAN must find in a stock kernel: the maximum of a VM is written,
# by an ioctl, while a vCPU reads it.
readonly KNOWN_RACE='^kvm_vcpu_(halt|max_halt_poll_ns)[^ ]* / kvm_vm_ioctl'

# The one that it must find where a VM's tuning is rewritten in place (mixed.diff).
readonly MIXTURE='^kvm_(vcpu_halt|halt_poll_override)[^ ]* / kvm_vm_'

# races <console.log>: their titles, one a line.
races()
{
	sed -n 's/\r$//; s/.*BUG: KCSAN: data-race in //p' "$1"
}
