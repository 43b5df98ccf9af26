#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests judge.sh with the parser of a kernel tree, which is its argument.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"

# A console with KUnit's results, CRs included.
kunit()
{
	sed 's/^/[    0.100000] /; s/$/\r/' <<-EOT
	KTAP version 1
	1..1
	    KTAP version 1
	    # Subtest: suite
	    1..3
	    ok 1 good
	    ok 2 left_out # SKIP no such thing
	    $1 3 other
	# suite: whatever
	$1 1 suite
	Run /init as init process
	EOT
}

# What kselftest's runner says: results of a test's own are comments to it.
kselftest()
{
	cat <<-EOT
	TAP version 13
	1..2
	# selftests: kvm: a
	# 1..0 # SKIP - /dev/kvm: missing
	ok 1 selftests: kvm: a # SKIP
	# selftests: kvm: b
	# TAP version 13
	# 1..1
	# not ok 1 vm0
	$1 2 selftests: kvm: b
	EOT
}

# judge <wanted output> <text>: the text's verdict is its exit status.
judge()
{
	local status=0

	printf '%s\n' "$2" >"$tmp/log"
	"$here/../judge.sh" "$tree" "$tmp/log" >"$tmp/out" || status=$?
	diff <(printf '%s\n' "$1") "$tmp/out" || return 99
	return "$status"
}

main()
{
	tree=${1:?usage: judge_test.sh TREE}
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT

	echo "TAP version 13"
	expect 0 "KUnit: passed" \
		judge $'2 0 1\nleft_out: no such thing' "$(kunit ok)"
	expect 1 "KUnit: a failure" \
		judge $'1 1 1\nleft_out: no such thing' "$(kunit 'not ok')"
	expect 1 "KUnit: cut short" \
		judge $'2 1 1\nleft_out: no such thing' "$(kunit ok | head -n 8)"
	expect 1 "KUnit: no test" judge "0 1 0" $'KTAP version 1\n1..0'
	expect 0 "kselftest: passed" \
		judge $'1 0 1\nselftests: kvm: a: /dev/kvm: missing' "$(kselftest ok)"
	expect 1 "kselftest: a failure" \
		judge $'0 1 1\nselftests: kvm: a: /dev/kvm: missing' "$(kselftest 'not ok')"
	expect 1 "kselftest: cut short" \
		judge $'0 1 1\nselftests: kvm: a: /dev/kvm: missing' "$(kselftest ok | head -n 7)"
	expect 1 "no TAP at all" judge "0 1 0" "nothing of the kind"
	refuses "cannot be read" "no log" "$here/../judge.sh" "$tree" "$tmp/none"
	refuses "tools/testing/kunit" "no tree" "$here/../judge.sh" "$tmp" "$tmp/log"
	done_testing
}

main "$@"
