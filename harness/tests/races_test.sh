#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests whose a data race is, by the title of KCSAN's report.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"
# shellcheck source=harness/races.sh
. "$here/../races.sh"

# is <regex> <title>: as a log has it.
is()
{
	printf '[    1.0] BUG: KCSAN: data-race in %s\r\n' "$2" >"$tmp/log"
	races "$tmp/log" | grep -qE "$1"
}

main()
{
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT

	echo "TAP version 13"
	while IFS='|' read -r ours known title; do
		expect "$ours" "ours $ours: $title" is "$OUR_RACES" "$title"
		expect "$known" "known $known: $title" is "$KNOWN_RACE" "$title"
	done <<-END
	0|0|kvm_vcpu_halt / kvm_vm_ioctl
	0|0|kvm_vcpu_halt / kvm_vm_ioctl_enable_cap_generic
	0|0|kvm_vcpu_halt.isra.0 / kvm_vm_ioctl
	0|0|kvm_vcpu_max_halt_poll_ns / kvm_vm_ioctl
	0|1|kvm_vcpu_halt / kvm_vcpu_halt
	0|1|kvm_vcpu_halt / kvm_vcpu_ioctl
	0|1|__kvm_set_xcr / kvm_vcpu_halt
	0|1|apic_timer_fn / kvm_halt_poll_next
	0|1|kthread / kvm_vcpu_halt
	0|1|kvm_vcpu_halt+0x42/0x80
	1|1|kstrtouint / kvm_vcpu_halt
	1|1|apic_timer_fn / kvm_cpu_has_pending_timer
	1|1|kvm_vcpu_kick / kvm_vm_ioctl
	1|1|tick_nohz_stop_tick / tick_sched_do_timer
	END
	sed -i 's/BUG: KCSAN: data-race in/BUG: KASAN: use-after-free in/' "$tmp/log"
	expect 0 "no other reports" test -z "$(races "$tmp/log")"
	done_testing
}

main "$@"
