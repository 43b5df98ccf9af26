#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The KUnit suite on every architecture, and as a module, and on every base.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: kunit-all.sh <base>
	All architectures of kunit.conf and the build as a module on <base>, x86_64
	on the other bases.  Prints a table, and a last line that counts tests; what
	did not run counts as one failure.
	END
	exit 2
}

# runs: "base arch" a line.
runs()
{
	local other

	awk -F ' *[|] *' -v base="$base" '!/^#/ && NF { print base, $1 }' "$ROOT/harness/kunit.conf"
	echo "$base" module
	for other in $(bases); do
		[[ $other == "$base" ]] || echo "$other" x86_64
	done
}

main()
{
	local base b arch counts pass fail skip table

	[[ $# == 1 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	table=$BUILD/kunit-all.txt
	: >"$table"
	while read -r b arch; do
		SECONDS=0
		counts=$("$ROOT/harness/kunit.sh" "$b" "$arch" </dev/null) || counts=${counts:-0 1 0}
		read -r pass fail skip <<<"$counts"
		say "$b $arch: $pass passed, $fail failed, $skip skipped in $SECONDS s"
		echo "$arch $b $pass $fail $skip $SECONDS" >>"$table"
	done < <(runs)

	awk 'BEGIN {
		f = "%-8s  %-5s %7s %7s %8s %8s\n"
		printf f, "arch", "base", "passed", "failed", "skipped", "seconds"
	}
	{ printf f, $1, $2, $3, $4, $5, $6; p += $3; n += $4; s += $5 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, n, s
		exit n > 0 || NR == 0
	}' "$table"
}

main "$@"
