#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzz what the tool kvm_halt_poll reads: text of all kinds, and trace.dat.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TOOL=$ROOT/tools/kvm/kvm_halt_poll

usage()
{
	cat >&2 <<-END
	usage: fuzz-tool.sh <base> [seconds]
	Runs for that long, 60 seconds unless told: three quarters of it on text, the
	rest on trace.dat, with ASan and UBSan.  What is found goes to
	build/<base>/tool/fuzz/.
	END
	exit 2
}

compile()
{
	local -a flags

	read -ra flags < <(pkg-config --cflags --libs libtracecmd libtraceevent libtracefs)
	clang -std=gnu11 -g -O1 -D_GNU_SOURCE -I"$TOOL" -I"$BUILD/$base/linux/tools/include" \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o "$out/fuzz" "$TOOL"/tests/fuzz.c "$TOOL"/{trace,output,events}.c \
		"$TOOL"/read_*.c "${flags[@]}" || die "fuzz.c does not compile"
}

# seeds: what is recorded, and some of what the readers' tests read.
seeds()
{
	mkdir -p "$out"/{text,dat,found-text,found-dat}
	cp "$TOOL"/tests/{small,skips}.dat "$out/dat/"
	for file in "$TOOL"/tests/small.*; do
		[[ $file == *.dat ]] || head -n 40 "$file" >"$out/text/${file##*/}"
	done
	# A file of our own ends with a count.
	awk '/^#end/ { next } /^[0-9]/ { n++ } n > 20 { exit } { print }
		END { print "#end,20" }' "$TOOL/tests/small.csv" >"$out/text/small.csv"
}

# fuzz text|dat <seconds> <longest input>: prints how many inputs were run.
fuzz()
{
	local log=$out/$1.log

	# Little memory is kept back after it was freed: that costs half of the speed.
	# Reports of reading processes land where it runs.
	cd "$out"
	if ! ASAN_OPTIONS=quarantine_size_mb=1 "$out/fuzz" -max_total_time="$2" -max_len="$3" -timeout=20 -close_fd_mask=3 \
		-rss_limit_mb=4096 -dict="$TOOL/tests/fuzz.dict" -print_final_stats=1 \
		-artifact_prefix="$out/" "$out/found-$1" "$out/$1" >"$log" 2>&1; then
		grep -hE 'ERROR|runtime error|Test unit written' "$log" >&2 || true
		die "the fuzzer stopped on $1, see $log"
	fi
	printf '%s: executed %d inputs in %d s\n' "$1" \
		"$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$2"
}

# our_own: what went wrong in a reading process.  libtracecmd is not up to damaged
# files, which is why it has one; but no report may come from our own code.
our_own()
{
	local report ours=

	for report in "$out"/.[0-9]*; do
		[[ -e $report ]] || continue
		if awk '/^ *#[0-9]/ && /libtrace(cmd|event)\.so|kvm_halt_poll\// {
			exit !/kvm_halt_poll\/[a-z_]*\.[ch]/
		}' "$report"; then
			ours=$report
		fi
	done
	[[ ! $ours ]] || die "a reading process failed in our own code, see $ours"
}

main()
{
	local seconds=${2:-60}

	[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	[[ $seconds =~ ^[1-9][0-9]{0,5}$ && $seconds -ge 4 ]] ||
		die "the number of seconds must be at least 4, not '$seconds'"
	out=$BUILD/$base/tool/fuzz
	rm -rf "$out"
	mkdir -p "$out"
	compile
	seeds
	fuzz text $((seconds * 3 / 4)) 4096
	fuzz dat $((seconds / 4)) 1048576
	our_own
}

main "$@"
