#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tests on every base, one after the other, and one count of them all.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main()
{
	local base status=0 log=$BUILD/check-all.log

	: >"$log"
	for base in $(bases); do
		say "checking $base"
		make --no-print-directory -C "$ROOT" check BASE="$base" | tee -a "$log" || status=1
	done
	awk '/^[0-9]+ passed, / { p += $1; f += $3; s += $5; n++ }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$log"
	[[ $status == 0 ]] || die "some bases failed"
}

main "$@"
