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
	build/<base>/trace/<kernel>/.  The patched one is booted twice more, with a
	budget: what is recorded must be what KVM's stats say.
	END
	exit 2
}

# image: the host with the tool in it, and with trace-cmd, whose files it must read.
image()
{
	local tool

	tool=$("$ROOT/harness/tool.sh" -b "$base")
	"$ROOT/harness/initramfs.sh" "$out/initramfs.cpio" "$dir/kselftest" "$tool" \
		"$(command -v trace-cmd)" "$ROOT/harness/recording"
}

boot()
{
	"$ROOT/harness/boot.sh" -t 1800 -k "$dir/$kernel/vmlinux" -i "$out/initramfs.cpio" \
		-j "$ROOT/harness/trace.job" -o "$out/run" -c kunit.enable=0
	tar -C "$out" -xzf "$out/run/result.txt" ||
		die "what was recorded does not come out whole, see $out/run"
}

# boot_budget <mode>: leaves what comes of it in $out/budget-<mode>/.
boot_budget()
{
	local to=$out/budget-$1

	"$ROOT/harness/boot.sh" -m "$1" -t 1200 -k "$dir/patched/vmlinux" \
		-i "$out/initramfs.cpio" -j "$ROOT/harness/budget.job" -o "$to/run" \
		-c kunit.enable=0
	tar -C "$to" -xzf "$to/run/result.txt" ||
		die "what was recorded does not come out whole, see $to/run"
	judge_budget "$1" "$dir/tool/plain/kvm_halt_poll" "$to"
}

# judge_budget <mode> <tool> <folder>: what was skipped must be what KVM counted, one by
# one, in the recording and in what "top" showed meanwhile.  What was burned KVM measures,
# while the recording tells the intervals: in virtual time, where nothing holds up a poll
# that hits, these polls took the same to the nanosecond.  When another was cut short is
# not recorded: it counts as polled for its whole halt.
judge_budget()
{
	"$2" verify "$3/budget.csv"
	"$2" report --json "$3/budget.csv" >"$3/report.json"
	awk -v mode="$1" '
		FILENAME ~ /stats$/ { stat[$1] = $2; next }
		FILENAME ~ /txt$/ { if (/ polls skipped$/) shown += $(NF - 2); next }
		{ gsub(/[":,]/, "") }
		!($1 in first) { first[$1] = $2 }
		END {
			skipped = first["polls_skipped"]
			vain = first["polled_in_vain_ns"]
			hit = first["polled_ns"] - vain
			printf "budget: polls skipped: %d as KVM counted, %d recorded, %d shown\n",
				stat["halt_poll_skipped"], skipped, shown
			printf "budget: polled, with success and in vain: %d and %d ns as KVM measured, " \
				"%d and %d recorded\n", stat["halt_poll_success_ns"],
				stat["halt_poll_fail_ns"], hit, vain
			exit !(skipped > 0 && skipped == stat["halt_poll_skipped"] &&
				shown == skipped && (mode != "virtual" ||
				(hit > 0 && hit == stat["halt_poll_success_ns"] &&
				vain >= stat["halt_poll_fail_ns"])))
		}' "$3/stats" "$3/top.txt" "$3/report.json" ||
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
	# No stock kernel has a budget.
	if [[ $kernel == patched ]]; then
		boot_budget real
		boot_budget virtual
	fi
}

main "$@"
