#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds our selftests, without a kernel, and runs the latency test on this
# machine's own KVM, if it opens.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TIMEOUT=600
SKIP=4

usage()
{
	cat >&2 <<-EOT
	usage: here.sh BASE [ARGUMENT...]

	ARGUMENTs are the latency test's own; -h lists them.  By default it waits
	for timers, then for IPIs.  What this machine does not let it do is
	skipped, with the reason.
	EOT
	exit 2
}

# measure <argument>...: a skip is no failure, a hang is one.
measure()
{
	local status=0

	timeout -k 5 $TIMEOUT "$dir/kselftest/kvm/halt_poll_latency_test" "$@" || status=$?
	case $status in
	0 | "$SKIP") ;;
	124 | 137) die "not done after $TIMEOUT s" ;;
	*) die "halt_poll_latency_test failed with $status" ;;
	esac
}

main()
{
	[[ $# -ge 1 && $1 != -* ]] || usage
	base=$1
	shift
	require_base "$base"
	dir=$BUILD/$base/here
	"$ROOT/harness/tree.sh" "$base" patched
	"$ROOT/harness/selftests.sh" "$BUILD/$base/linux" "$dir/obj" "$dir/kselftest" "halt_poll_*"
	if [[ $# -gt 0 ]]; then
		measure "$@"
	else
		measure -w timer
		measure -w ipi
	fi
}

main "$@"
