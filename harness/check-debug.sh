#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Our tests on one base's debug kernels, in real time, and what these report.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/x86.conf"
# shellcheck source=harness/results.sh
. "$ROOT/harness/results.sh"
# shellcheck source=harness/races.sh
. "$ROOT/harness/races.sh"

# boot.sh's exit status if the job succeeded and the kernel did not.
readonly SPLAT=124

usage()
{
	cat >&2 <<-END
	usage: check-debug.sh <base>
	Tests the kernels build/<base>/debug-*/patched, and that KCSAN finds on
	build/<base>/debug-kcsan/stock what the series mends, on .../mixed what it
	must not bring.  The last line counts results; logs are in
	build/<base>/check-debug/ and run/debug-*/.
	END
	exit 2
}

# boot <kind> stock|mixed|patched <job> <races that count> [kernel option]
# One thread for all CPUs, as in check.sh, but for races, which want two.
boot()
{
	local mode=single

	[[ $1 != kcsan ]] || mode=real
	"$ROOT/harness/boot.sh" -m "$mode" -k "$dir/debug-$1/$2" -i "$dir/debug.cpio" \
		-o "$dir/run/debug-$lane" -j "$ROOT/harness/$3" -t 900 \
		-c "HARNESS_DEBUG=$1 ${5:-}" -r "$4"
}

# parts: the results that each test had, which the runner makes comments of.
parts()
{
	local parts=$out/parts-$lane file

	mkdir "$parts"
	awk -v dir="$parts" '
	/^# selftests: kvm: / { file = dir "/" $NF }
	file && sub(/^# /, "") { print >file }' "$dir/run/debug-$lane/result.txt" || true
	for file in "$parts"/*; do
		[[ ! -e $file ]] || tap "${file##*/}-$lane" "$file"
	done
}

kind_lane()
{
	lane=$1
	if [[ $1 == kcsan ]]; then
		check "boot-$lane" boot "$1" patched debug.job "$OUR_RACES" kunit.enable=0
		record skip 1 "kunit-$lane" "takes minutes there, and has no data to race for"
	else
		check "boot-$lane" boot "$1" patched debug.job "$OUR_RACES"
		tap "kunit-$lane" "$dir/run/debug-$lane/console.log"
	fi
	tap "selftests-$lane" "$dir/run/debug-$lane/result.txt"
	parts
}

# finds_race stock|mixed <race>: the boot must end with a splat, and that must be the
# one.
finds_race()
{
	local status=0

	boot kcsan "$1" race.job "$2" kunit.enable=0 || status=$?
	[[ $status == "$SPLAT" ]]
	races "$dir/run/debug-$lane/console.log" | grep -E "$2"
}

# race_lane stock|mixed <race>: KCSAN finds there what it must not find on the patched
# kernel.
race_lane()
{
	lane=kcsan-$1
	check "kcsan-finds-race-$1" finds_race "$@"
}

# timed <command> <argument>...
timed()
{
	SECONDS=0
	"$@"
	printf '%-12s %7d %7d %7d %7d\n' "$lane" "$(total pass "$lane")" \
		"$(total fail "$lane")" "$(total skip "$lane")" $SECONDS >>"$out/table"
}

# other_races: how often each came, for whom it may concern.
other_races()
{
	local found

	found=$(races "$dir/run/debug-kcsan/console.log" | grep -vE "$OUR_RACES") || true
	[[ -z $found ]] || sort <<<"$found" | uniq -c |
		sed 's/^ *\([0-9]*\) /data race elsewhere, \1 times: /'
}

main()
{
	local kind

	[[ $# == 1 && $1 != -* ]] || usage
	begin "$1" check-debug
	printf '%-12s %7s %7s %7s %7s\n' kernel passed failed skipped seconds >"$out/table"
	for kind in lockdep kasan kcsan; do
		timed kind_lane $kind
	done
	timed race_lane stock "$KNOWN_RACE"
	timed race_lane mixed "$MIXTURE"
	other_races
	cat "$out/table"
	finish
}

main "$@"
