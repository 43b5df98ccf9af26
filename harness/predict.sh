#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What "tune" recommends, set in a fresh boot: is it what it predicted?
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# How far what is measured may be from what was predicted, in percent.
LIMIT_PCT=10
# The timer's advance hides latency; KUnit has nothing to do here.
CMDLINE="kvm.lapic_timer_advance=0 kvm.lapic_timer_advance_ns=0 kunit.enable=0"

usage()
{
	cat >&2 <<-END
	usage: predict.sh <base>
	Boots the patched kernel twice, in virtual time: with the default parameters,
	and with those that "tune" recommends for what was recorded then.  Prints what
	was predicted and what was measured side by side; fails if the polls that hit,
	or the CPU burned, differ by more than $LIMIT_PCT %.
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

# recommended: as the kernel's command line has it.
recommended()
{
	python3 - "$out/tune.json" <<-'END'
	import json, sys
	params = json.load(open(sys.argv[1]))["best"]["params"]
	names = {"halt_poll_ns_grow_start_ns": "halt_poll_ns_grow_start"}
	print(*(f"kvm.{names.get(name, name)}={value}" for name, value in params.items()))
	END
}

compare()
{
	python3 - "$out/tune.json" "$out/report.json" $LIMIT_PCT <<-'END'
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

main()
{
	local dir out tool parameters

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
	"$tool" tune --json "$out/before.csv" >"$out/tune.json"
	parameters=$(recommended)
	say "recommended: $parameters"
	boot after "$parameters"
	"$tool" report --json --wake-cost "$(sed -n 's/.*"wake_cost_ns": \([0-9]*\).*/\1/p' \
		"$out/tune.json" | head -n 1)" "$out/after.csv" >"$out/report.json"
	compare || die "what was measured is not what was predicted"
}

main "$@"
