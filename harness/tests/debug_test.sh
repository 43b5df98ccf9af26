#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that debug.job tests nothing while the sanitizer is off, with a kernel
# whose files say what a grep that only pretends makes of them.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"

# kernel_says <status of grep> [pattern]: the status is for this pattern alone,
# other things are found.
kernel_says()
{
	cat >"$tmp/bin/grep" <<-EOT
	#!/bin/sh
	case "\$*" in
	*"${2:-}"*) exit $1 ;;
	esac
	EOT
	chmod +x "$tmp/bin/grep"
}

# job <kind>: in a directory that has no tests to run.
job()
{
	env PATH="$tmp/bin:$PATH" HARNESS_DEBUG="$1" sh "$here/../debug.job"
}

# off <kind> <pattern>: without what it looks for, the sanitizer is off.
off()
{
	kernel_says 1 "$2"
	refuses "^Bail out! before the tests, $1 is not on" "$1 is off: no $2" job "$1"
}

# on <kind>: goes on to what it tests with, which is not there.
on()
{
	kernel_says 0
	refuses "cd: .*/kselftest|halt_race: not found" "$1 is on" job "$1"
}

main()
{
	local kind

	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	mkdir "$tmp/bin"
	printf '#!/bin/sh\n' >"$tmp/bin/dmesg"
	chmod +x "$tmp/bin/dmesg"

	echo "TAP version 13"
	off lockdep debug_locks
	off lockdep __ubsan_handle_
	off kasan KernelAddressSanitizer
	off kcsan enabled
	off kcsan setup_watchpoints
	for kind in lockdep kasan kcsan; do
		on $kind
	done
	kernel_says 0
	refuses "^Bail out! .* no sanitizer is not on" "none is named" job ''
	refuses "^Bail out! .* made_up is not on" "an unknown one is named" job made_up
	done_testing
}

main "$@"
