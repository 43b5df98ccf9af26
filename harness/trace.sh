#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Record a real kernel's halts in a booted host, and let the tool judge them.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Fewer would say little.
LEAST=100000

usage()
{
	cat >&2 <<-END
	usage: trace.sh <base> [patched|stock]
	Boots that kernel (patched unless told), records what the latency test's vCPUs
	do, and hands it to verify, report and tune.  What was recorded is left in
	build/<base>/trace/<kernel>/.
	END
	exit 2
}

# image: the host with the tool in it, and with trace-cmd, whose files it must read.
image()
{
	local tool

	tool=$("$ROOT/harness/tool.sh" -b "$base")
	"$ROOT/harness/initramfs.sh" "$out/initramfs.cpio" "$dir/kselftest" "$tool" \
		"$(command -v trace-cmd)"
}

boot()
{
	"$ROOT/harness/boot.sh" -t 1800 -k "$dir/$kernel/vmlinux" -i "$out/initramfs.cpio" \
		-j "$ROOT/harness/trace.job" -o "$out/run" -c kunit.enable=0
	tar -C "$out" -xzf "$out/run/result.txt" ||
		die "what was recorded does not come out whole, see $out/run"
}

# judge_budget <tool>: what was skipped must be what KVM counted, in the recording and in
# what "top" showed meanwhile; what was burned is told by both in ways of their own: KVM
# counts each poll's time, events tell the interval.
judge_budget()
{
	"$1" report --json "$out/budget.csv" >"$out/budget.json"
	awk '
		function apart(x, y) { return x > y ? x - y : y - x }
		FILENAME ~ /stats$/ { stat[$1] = $2; next }
		FILENAME ~ /txt$/ { if (/ polls skipped$/) shown += $(NF - 2); next }
		{ gsub(/[":,]/, "") }
		$1 == "polls_skipped" && skipped == "" { skipped = $2 }
		$1 == "polled_ns" && polled == "" { polled = $2 }
		END {
			burned = stat["halt_poll_success_ns"] + stat["halt_poll_fail_ns"]
			printf "budget: KVM skipped %d polls, recorded are %d, top showed %d\n",
				stat["halt_poll_skipped"], skipped, shown
			printf "budget: KVM polled for %d ns, recorded are %d\n", burned, polled
			exit !(skipped > 0 && skipped == stat["halt_poll_skipped"] &&
				shown == skipped && apart(burned, polled) < burned / 20)
		}' "$out/budget.stats" "$out/budget.txt" "$out/budget.json" ||
		die "with a budget, not what KVM counted"
}

# The patched kernel must do what its rule says; the stock one's defects show.
judge()
{
	local halts tool=$dir/tool/plain/kvm_halt_poll status=0

	halts=$(sed -n 's/^#end,//p' "$out/halts.csv")
	((halts >= LEAST)) || die "only $halts halts were recorded"
	"$tool" verify "$out/halts.csv" || status=$?
	"$tool" verify "$out/lost.csv" || status=$?
	if [[ -e $out/budget.stats ]]; then
		"$tool" verify "$out/budget.csv" || status=$?
		judge_budget "$tool"
	fi
	"$tool" report "$out/halts.csv"
	"$tool" tune "$out/halts.csv"
	return $status
}

main()
{
	[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || usage
	base=$1 kernel=${2:-patched}
	require_base "$base"
	[[ $kernel == patched || $kernel == stock ]] || usage
	dir=$BUILD/$base
	out=$dir/trace/$kernel
	[[ -e $dir/$kernel/vmlinux ]] || die "no $kernel kernel: make kernel BASE=$base"
	rm -rf "$out"
	mkdir -p "$out"
	image
	boot
	judge
}

main "$@"
