#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How fast the tool kvm_halt_poll reads, replays and tunes.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SMALL=$ROOT/tools/kvm/kvm_halt_poll/tests/small.v6.dat
HALTS=2000000
RUNS=3
# What reading trace.dat must be faster by than trace-cmd, that writes text.
LEAST_RATIO=5

usage()
{
	cat >&2 <<-END
	usage: bench-tool.sh <base>
	Prints a table of speeds; all in one run, the best of $RUNS each.  Fails if
	trace.dat is not read $LEAST_RATIO times as fast as trace-cmd writes its text.
	END
	exit 2
}

# best <command>...: seconds of wall-clock and of CPU of its fastest run.
best()
{
	local TIMEFORMAT='%R %U %S' i

	for ((i = 0; i < RUNS; i++)); do
		{ time "$@" >/dev/null 2>"$out/stderr"; } 2>&1 || die "$*: $(head -n 1 "$out/stderr")"
	done | sort -n | awk 'NR == 1 { print $1, $2 + $3 }'
}

# row <what> <command>...: and leaves the seconds of CPU in $seconds, which other
# users of the machine hardly change.
row()
{
	local what=$1 wall cpu times
	shift

	times=$(best "$@") || exit
	read -r wall cpu <<<"$times"
	seconds=$cpu
	awk -v what="$what" -v halts="$halts" -v wall="$wall" -v cpu="$cpu" 'BEGIN {
		printf "| %-36s | %7.2f | %7.2f | %25.2f |\n", what, wall, cpu, halts / cpu / 1e6
	}'
}

make_inputs()
{
	say "making a trace of $HALTS halts"
	"$ROOT/harness/bigdat.py" "$SMALL" $HALTS "$out/big.dat"
	trace-cmd report "$out/big.dat" >"$out/big.txt" 2>/dev/null
	"$dump" "$out/big.dat" | awk '
	BEGIN {
		print "vcpu,time_ns,halt_ns,waited,valid"
		print "#params,200000,2,10000,2"
	}
	/^halt/ {
		split($2, vcpu, "/")
		print vcpu[1] "," $(NF - 3) "," $(NF - 2) "," ($(NF - 1) == "wait") ",1"
	}' >"$out/big.csv"
	halts=$("$dump" -c "$out/big.dat" | sed 's/ halts, .*//')
}

main()
{
	local dir out dump tool halts seconds theirs ratio reading replaying slow=

	[[ $# == 1 && $1 != -* ]] || usage
	require_base "$1"
	dir=$BUILD/$1/tool
	out=$dir/bench
	"$ROOT/harness/tool.sh" -b "$1" >/dev/null
	dump=$dir/plain/tests/dump
	tool=$dir/plain/kvm_halt_poll
	rm -rf "$out"
	mkdir -p "$out"
	make_inputs

	printf '\n| %-36s | wall, s | CPU, s  | million halts/s of CPU    |\n' "$halts halts, best of $RUNS"
	echo '|--------------------------------------|--------:|--------:|--------------------------:|'
	row "trace-cmd report, trace.dat to text" trace-cmd report "$out/big.dat"
	theirs=$seconds
	row "read trace.dat" "$dump" -c "$out/big.dat"
	awk -v theirs="$theirs" -v ours="$seconds" -v least=$LEAST_RATIO 'BEGIN {
		exit theirs / ours < least
	}' || slow="reading trace.dat takes $seconds s, trace-cmd report only $theirs s"
	ratio=$(awk -v theirs="$theirs" -v ours="$seconds" 'BEGIN { printf "%.1f", theirs / ours }')
	row "read the text of trace-cmd report" "$dump" -c "$out/big.txt"
	row "read CSV" "$dump" -c "$out/big.csv"
	reading=$seconds
	row "report, from CSV" "$tool" report "$out/big.csv"
	row "verify, from CSV" "$tool" verify "$out/big.csv"
	row "replay, from CSV" "$tool" replay "$out/big.csv"
	replaying=$(awk -v halts="$halts" -v all="$seconds" -v reading="$reading" 'BEGIN {
		if (all > reading) printf "%.0f", halts / (all - reading) / 1e6
	}')
	row "tune, from CSV" "$tool" tune "$out/big.csv"
	printf '\ntrace.dat is read %s times as fast as trace-cmd report writes its text\n' "$ratio"
	printf 'replay without reading: %s million halts/s of CPU\n' "${replaying:-too fast to tell: many}"
	printf 'tune says: %s\n' "$(tail -n 1 "$out/stderr")"
	rm -f "$out"/big.*
	[[ ! $slow ]] || die "$slow"
}

main "$@"
