#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Looks for splats in a kernel log: whatever the kernel prints when it finds
# itself broken.  With -r, data races count only if the line that names their
# functions matches RACES, an extended regular expression.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Extended regular expressions, case-sensitive, for a line without its
# timestamp; tests/fixtures has a log for each.  What always comes with one of
# these (list corruption with a BUG, refcount_t with a WARNING) needs no own.
readonly SPLATS=(
	'(^|: |^\[ )BUG: '
	'^kernel BUG at '
	'^WARNING: '
	'(^|: )Oops[: ]'
	'^Internal error: '
	'^Unable to handle kernel '
	'^general protection fault'
	': [0-9a-f]{4,16} \[#[0-9]+\]'
	'^PANIC: '
	'^Kernel panic - '
	'^Call [Tt]race:'
	'^UBSAN: '
	'(^|: )INFO: task .* blocked '
	'(^|: )INFO: .*stall'
	'(^|: )INFO: trying to register non-static key'
	'(^|: )INFO: lockdep is turned off'
	'(soft lockup|hard LOCKUP)'
	'^unchecked MSR access error'
	'^kmemleak: .*suspicious memory leak'
)

# A timestamp and, with PRINTK_CALLER, who spoke; console levels never show.
readonly PREFIX='^\[ *[0-9]+\.[0-9]+\](\[ *[TC][0-9]+\])? *'

cannot()
{
	printf 'splat.sh: error: cannot scan: %s\n' "$*" >&2
	exit 2
}

# counting <races>: the splats on stdin without the data races that do not
# count; fails if none is left.
counting()
{
	LC_ALL=C awk -v races="$1" '
	/^[0-9]+:BUG: KCSAN: data-race in / {
		functions = $0
		sub(/.* data-race in /, "", functions)
		if (functions !~ races)
			next
	}
	{ print; n++ }
	END { exit n == 0 }'
}

main()
{
	local found log races='' status=0

	if [ "${1:-}" = -r ]; then
		races=${2:-}
		[ -n "$races" ] || cannot "-r wants a regular expression"
		shift 2
	fi
	[ $# -eq 1 ] || cannot "usage: splat.sh [-r RACES] LOG"
	log=$1
	if [ ! -f "$log" ] || [ ! -r "$log" ]; then
		cannot "$log: not a readable file"
	fi
	[ -s "$log" ] || cannot "$log: empty"
	# Neither text without one line of a kernel's nor a binary file is a log.
	if ! LC_ALL=C grep -qE "$PREFIX" "$log" || [ "$(tr -cd '\0' <"$log" | wc -c)" -gt 0 ]; then
		cannot "$log: not a kernel log"
	fi

	found=$(sed -E "s/\r//g; s/$PREFIX//" "$log" |
		LC_ALL=C grep -anE "$(IFS='|'; echo "${SPLATS[*]}")" |
		counting "$races") || status=$?
	case $status in
	0)
		echo "$log: splat:"
		echo "$found"
		exit 1
		;;
	1)
		exit 0
		;;
	*)
		cannot "$log: the scan failed"
		;;
	esac
}

main "$@"
