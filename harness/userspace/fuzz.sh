#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzz the header against the reference, from the corpus that is kept here.
set -euo pipefail
# shellcheck source=harness/userspace/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What C leaves undefined, and two things that it defines: products that wrap and
# values that are cut off.  Neither the header nor the reference has a use for them.
SANITIZERS=fuzzer,address,undefined
SANITIZERS+=,unsigned-integer-overflow,implicit-unsigned-integer-truncation

usage()
{
	cat >&2 <<-END
	usage: fuzz.sh [-m] [seconds]
	Runs for that long, 60 seconds unless told.  What is found goes to build/;
	-m makes the corpus kept in harness/userspace/corpus/ anew from it and from
	what was there: as few inputs as reach the same code.
	END
	exit 2
}

compile()
{
	clang "${CFLAGS[@]}" -O1 -fsanitize=$SANITIZERS -fno-sanitize-recover=all \
		-I"$INCLUDE" -I"$TOOLS" -o "$out/fuzz" "$HERE/fuzz.c" ||
		die "fuzz.c does not compile"
}

# fuzz <seconds>: one process, as there is no telling who else uses the machine.
fuzz()
{
	"$out/fuzz" -max_total_time="$1" -max_len=128 -use_value_profile=1 \
		-print_final_stats=1 -artifact_prefix="$out/" "$out/found" "$HERE/corpus" \
		>"$out/log" 2>&1
}

# stat <name>
stat()
{
	sed -n "s/^stat::$1: *//p" "$out/log"
}

# minimise: without counters, or a loop's every count would be worth an input.
minimise()
{
	mkdir "$out/corpus"
	"$out/fuzz" -merge=1 -max_len=128 -use_counters=0 "$out/corpus" "$HERE/corpus" \
		"$out/found" >"$out/merge.log" 2>&1 || die "cannot merge, see $out/merge.log"
	rm -rf "$HERE/corpus"
	mv "$out/corpus" "$HERE/corpus"
}

main()
{
	local merge=

	if [[ ${1:-} == -m ]]; then
		merge=1
		shift
	fi
	[[ $# -le 1 && ${1:-} != -* ]] || usage
	number "${1:-60}" 1 86400 "the number of seconds"
	need clang
	[[ -d $HERE/corpus ]] || die "no $HERE/corpus"
	prepare fuzz
	mkdir "$out/found"
	compile
	if ! fuzz "${1:-60}"; then
		grep -hE '^halt |^max |ERROR|runtime error|Test unit written' "$out/log" >&2 || true
		die "the fuzzer stopped, see $out/log"
	fi
	printf 'executed %d inputs, %d a second, %d seconds\n' "$(stat number_of_executed_units)" \
		"$(stat average_exec_per_sec)" "${1:-60}"
	[[ -z $merge ]] || minimise
}

main "$@"
