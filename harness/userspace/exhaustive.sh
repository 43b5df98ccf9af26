#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The header against the reference, for all combinations of boundary values.
set -euo pipefail
# shellcheck source=harness/userspace/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat >&2 <<-END
	usage: exhaustive.sh [values]
	Takes so many values of each of the six inputs, 40 unless told, for all that
	there are: 8192000000 combinations, which take two CPUs a minute.
	END
	exit 2
}

main()
{
	[[ $# -le 1 && ${1:-} != -* ]] || usage
	number "${1:-40}" 1 40 "the number of values"
	need gcc
	prepare exhaustive
	gcc "${CFLAGS[@]}" -O2 -pthread -I"$INCLUDE" -I"$TOOLS" \
		-o "$out/exhaustive" "$HERE/exhaustive.c" || die "exhaustive.c does not compile"
	"$out/exhaustive" "${1:-40}"
}

main "$@"
