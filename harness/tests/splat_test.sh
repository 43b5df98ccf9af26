#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests splat.sh against logs with, without, and instead of splats.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"

readonly SPLAT=$here/../splat.sh
readonly CLEAN=$here/fixtures/clean.log

# splat_cases: every line of splats.txt amid a clean log, with each form that a
# timestamp has.
splat_cases()
{
	local line prefix

	while read -r line; do
		[[ $line != "#"* ]] || continue
		for prefix in '[    0.105000] ' '[  105.000000][   T42] '; do
			{
				head -n 12 "$CLEAN"
				printf '%s%s\r\n' "$prefix" "$line"
				tail -n 12 "$CLEAN"
			} >"$tmp/log"
			expect 1 "splat: $prefix${line:0:40}" "$SPLAT" "$tmp/log"
		done
	done <"$here/fixtures/splats.txt"
}

# race <regex> <title>: what becomes of a data race if only some count.
race()
{
	{
		head -n 12 "$CLEAN"
		printf '[    0.105000] %s\r\n' "$2"
		tail -n 12 "$CLEAN"
	} >"$tmp/log"
	"$SPLAT" -r "$1" "$tmp/log"
}

race_cases()
{
	local race="BUG: KCSAN: data-race in made_up_inc / made_up_read"

	expect 1 "race: the first function counts" race 'up_inc' "$race"
	expect 1 "race: the second function counts" race 'up_(write|read)' "$race"
	expect 0 "race: neither counts" race 'up_write' "$race"
	expect 0 "race: the title's own words do not" race 'BUG|KCSAN|data-race' "$race"
	expect 1 "race: other splats always count" race 'up_write' "BUG: KASAN: use-after-free in f"
	expect 1 "race: so does a broken assertion" race 'up_write' "BUG: KCSAN: assert: race in f / g"
	expect 2 "race: bad expression" race '(' "$race"
	expect 2 "race: no expression" race '' "$race"
}

main()
{
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT

	echo "TAP version 13"
	expect 0 "clean: innocent words" "$SPLAT" "$CLEAN"
	splat_cases
	race_cases

	: >"$tmp/empty"
	echo "no line of a kernel" >"$tmp/text"
	{ cat "$CLEAN"; printf '\0\1\2'; } >"$tmp/binary"
	# A grep that fails as it does when it is out of memory.
	mkdir "$tmp/bin"
	printf '#!/bin/sh\nexit 2\n' >"$tmp/bin/grep"
	chmod +x "$tmp/bin/grep"

	expect 2 "cannot scan: no argument" "$SPLAT"
	expect 2 "cannot scan: missing" "$SPLAT" "$tmp/missing"
	expect 2 "cannot scan: a directory" "$SPLAT" "$tmp"
	expect 2 "cannot scan: empty" "$SPLAT" "$tmp/empty"
	expect 2 "cannot scan: not a kernel's" "$SPLAT" "$tmp/text"
	expect 2 "cannot scan: binary" "$SPLAT" "$tmp/binary"
	expect 2 "cannot scan: scanner fails" \
		env PATH="$tmp/bin:$PATH" "$SPLAT" "$CLEAN"
	done_testing
}

main "$@"
