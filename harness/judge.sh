#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Counts test results with the kernel tree's own parser, which reads KUnit's
# KTAP off a console log as well as the TAP of kselftest's runner.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-EOT
	usage: judge.sh TREE LOG

	Prints "PASSED FAILED SKIPPED", then a line "test: reason" for each skip.
	Exits with 1 if a test failed or there was none; stderr tells which.
	EOT
	exit 2
}

# count <kind>: the number that the parser's last line gives to it.
count()
{
	sed -n "s/.*Testing complete\..* $1: \([0-9]*\).*/\1/p" <<<"$report" |
		grep . || echo 0
}

# skips: why tests were skipped.  The parsers of older bases do not tell, and a
# selftest's reason stands before its result, in output of its own.
skips()
{
	sed -E 's/\r$//; s/^\[ *[0-9.]+\](\[ *[TC][0-9]+\])? *//' "$log" | awk '
	/^ *# .*# SKIP/ { reason = $0; sub(/.*# SKIP[- ]*/, "", reason); next }
	/^ *(not )?ok [0-9]+ / {
		if (/# SKIP/) {
			name = own = $0
			sub(/ *# SKIP.*/, "", name)
			sub(/^ *(not )?ok [0-9]+ (- )?/, "", name)
			sub(/.*# SKIP[- ]*/, "", own)
			if (own == "")
				own = reason == "" ? "no reason given" : reason
			print name ": " own
		}
		reason = ""
	}'
}

main()
{
	local tree log parser report passed failed

	[ $# -eq 2 ] || usage
	tree=$1 log=$2
	parser=$tree/tools/testing/kunit/kunit.py
	[ -f "$parser" ] || die "$tree: has no tools/testing/kunit"
	[ -r "$log" ] || die "$log: cannot be read"

	# Its exit status is of no use: 6.1 returns 0 for a log that is cut short.
	# It loops for ever over a plan that comes last.  No __pycache__ in the tree.
	report=$(PYTHONDONTWRITEBYTECODE=1 timeout 60 python3 "$parser" parse "$log" 2>&1) || true
	grep -q 'Testing complete\.' <<<"$report" || {
		echo "$report" >&2
		die "$log: $parser fails"
	}
	passed=$(count passed)
	failed=$(($(count failed) + $(count crashed)))
	# What the parser misses or cannot make sense of; it has often counted
	# the same as crashes.
	if [ $failed -eq 0 ]; then
		failed=$(count errors)
	fi
	if [ $((passed + failed + $(count skipped))) -eq 0 ]; then
		failed=1
	fi
	echo "$passed $failed $(count skipped)"
	skips
	if [ "$failed" -gt 0 ]; then
		grep -v -e PASSED -e '===' <<<"$report" >&2
		exit 1
	fi
}

main "$@"
