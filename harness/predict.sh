#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What "tune" recommends, set in a fresh boot: is it what it predicted?
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What CPU is worth: at the one, polling for 600 us pays, at the other for 75 us; the
# default maximum is 200 us.
WEIGHTS=(0.005 0.04)
# How far what is measured may be from what was predicted, in percent.
LIMIT_PCT=10
# The timer's advance hides latency; KUnit has nothing to do here.
CMDLINE="kvm.lapic_timer_advance=0 kvm.lapic_timer_advance_ns=0 kunit.enable=0"

usage()
{
	cat >&2 <<-END
	usage: predict.sh <base>
	Boots the patched kernel in virtual time with the default parameters, and again
	with those that "tune" recommends for what was recorded then, once for each of
	the weights ${WEIGHTS[*]}.  Prints what was predicted and what was measured side
	by side; fails if the polls that hit, or the CPU burned, differ by more than
	$LIMIT_PCT %.
	END
	exit 2
}

# boot <name> [parameter...]: leaves what was recorded in $out/<name>.csv.
boot()
{
	local name=$1
	shift

	"$ROOT/harness/boot.sh" -m virtual -t 1200 -k "$dir/patched/vmlinux" \
		-i "$out/initramfs.cpio" -j "$ROOT/harness/predict.job" \
		-o "$out/$name" -c "$CMDLINE $*"
	mv "$out/$name/result.txt" "$out/$name.csv"
}

# recommended <tune.json>: as the kernel's command line has it.
recommended()
{
	python3 - "$1" <<-'END'
	import json, sys
	params = json.load(open(sys.argv[1]))["best"]["params"]
	names = {"halt_poll_ns_grow_start_ns": "halt_poll_ns_grow_start"}
	print(*(f"kvm.{names.get(name, name)}={value}" for name, value in params.items()))
	END
}

# compare <tune.json> <report.json>
compare()
{
	python3 - "$1" "$2" $LIMIT_PCT <<-'END'
	import json, sys
	tune, measured = (json.load(open(name)) for name in sys.argv[1:3])
	limit, status = float(sys.argv[3]) / 100, 0

	def figures(run, time_ns):
	    return (run["hits"] / run["halts"] * 100, run["polled_ns"] / time_ns * 100,
	            run["latency_added_ns"] / run["halts"])

	before = figures(tune["recorded"], tune["time_ns"])
	predicted = figures(tune["best"], tune["time_ns"])
	after = figures(measured, measured["time_ns"])
	what = ("halts without blocking, %", "CPU burned polling, % of one", "latency added, ns a halt")
	print(f'{"":30} {"before":>10} {"predicted":>10} {"measured":>10}')
	for i in range(3):
	    print(f"{what[i]:30} {before[i]:10.2f} {predicted[i]:10.2f} {after[i]:10.2f}")
	    if i < 2 and abs(after[i] - predicted[i]) > limit * predicted[i]:
	        status = 1
	sys.exit(status)
	END
}

# check <weight>: adds it to $apart if measured and predicted are.
check()
{
	local tuned=$out/tune-$1.json measured=$out/report-$1.json parameters wake_ns

	"$tool" tune --json --cpu-weight "$1" "$out/before.csv" >"$tuned"
	parameters=$(recommended "$tuned")
	boot "after-$1" "$parameters"
	wake_ns=$(sed -n 's/.*"wake_cost_ns": \([0-9]*\).*/\1/p' "$tuned" | head -n 1)
	"$tool" report --json --wake-cost "$wake_ns" "$out/after-$1.csv" >"$measured"
	printf '\nweight %s: %s\n\n' "$1" "$parameters"
	compare "$tuned" "$measured" || apart+=" $1"
}

main()
{
	local dir out tool weight apart=

	[[ $# == 1 && $1 != -* ]] || usage
	require_base "$1"
	dir=$BUILD/$1
	out=$dir/predict
	[[ -e $dir/patched/vmlinux ]] || die "no patched kernel: make kernel BASE=$1"
	rm -rf "$out"
	mkdir -p "$out"
	tool=$("$ROOT/harness/tool.sh" -b "$1")
	"$ROOT/harness/initramfs.sh" "$out/initramfs.cpio" "$dir/kselftest" "$tool"
	boot before
	for weight in "${WEIGHTS[@]}"; do
		check "$weight"
	done
	[[ ! $apart ]] || die "what was measured is not what was predicted, at$apart"
}

main "$@"
