#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Our tests on one base's debug kernels, in real time, and what these report.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/results.sh
. "$ROOT/harness/results.sh"

# Data races are found all over the kernel; those fail that name a function of
# halt polling, on either side.
readonly OUR_RACES='halt_poll|kvm_vcpu_halt'
# That KCSAN sees such a race it must prove on a stock kernel: the maximum of a
# VM is written, by an ioctl, while a vCPU reads it.
readonly KNOWN_RACE='kvm_vcpu_(halt|max_halt_poll_ns)[^ ]* / kvm_vm_ioctl'

# boot.sh's exit status if the job succeeded and the kernel did not.
readonly SPLAT=124

usage()
{
	cat >&2 <<-END
	usage: check-debug.sh <base>
	Tests the kernels build/<base>/debug-*/patched, and that KCSAN finds on
	build/<base>/debug-kcsan/stock what the series mends.  The last line counts
	results; logs are in build/<base>/check-debug/ and run/debug-*/.
	END
	exit 2
}

# boot <kind> stock|patched <job> <races that count>
boot()
{
	"$ROOT/harness/boot.sh" -k "$dir/debug-$1/$2" -i "$dir/debug.cpio" \
		-o "$dir/run/debug-$lane" -j "$ROOT/harness/$3" -t 600 \
		-c "HARNESS_DEBUG=$1" -r "$4"
}

# races: the titles of all data races in this lane's log, how often each came.
races()
{
	sed -n 's/\r$//; s/.*BUG: KCSAN: data-race in //p' "$dir/run/debug-$lane/console.log" |
		sort | uniq -c | sort -rn
}

# parts: the results of the tests' own, which the runner makes comments of.
parts()
{
	sed -n 's/^# //p' "$dir/run/debug-$lane/result.txt"
}

kind_lane()
{
	lane=$1
	check "boot-$lane" boot "$1" patched debug.job "$OUR_RACES"
	tap "kunit-$lane" "$dir/run/debug-$lane/console.log"
	tap "selftests-$lane" "$dir/run/debug-$lane/result.txt"
	parts >"$out/parts-$lane.txt"
	tap "parts-$lane" "$out/parts-$lane.txt"
}

# finds_race: the boot must end with a splat, and that must be the one.
finds_race()
{
	local status=0

	boot kcsan stock race.job "$KNOWN_RACE" || status=$?
	[[ $status == "$SPLAT" ]]
	races | grep -E "^ *[0-9]+ $KNOWN_RACE"
}

# KCSAN finds on the stock kernel what it must not find on the patched one.
stock_lane()
{
	lane=kcsan-stock
	check kcsan-finds-race finds_race
}

# timed <command> <argument>...
timed()
{
	SECONDS=0
	"$@"
	printf '%-12s %7d %7d %7d %7d\n' "$lane" "$(total pass "$lane")" \
		"$(total fail "$lane")" "$(total skip "$lane")" $SECONDS >>"$out/table"
}

other_races()
{
	local lane=kcsan

	echo "data races that are not about halt polling:"
	races | grep -vE "^ *[0-9]+ .*($OUR_RACES)" || echo "none"
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
	timed stock_lane
	other_races
	cat "$out/table"
	finish
}

main "$@"
