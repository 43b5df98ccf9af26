#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make the series for every base that is fetched, two at a time.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: regenerate.sh <outdir>
	Writes <outdir>/<base>/0000-cover-letter.patch, 0001-... for every base.
	END
	exit 2
}

# one <base>
one()
{
	"$ROOT/harness/series.sh" "$1" "$BUILD/$1/linux" base \
		"linux-source-$1 $(cat "$BUILD/$1/version")" "$work/$1"
	say "series for $1 made"
}

main()
{
	local base running=0 failed=0

	[[ $# == 1 && $1 != -* ]] || usage
	outdir=$1
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	for base in $(bases); do
		[[ -e $BUILD/$base/paths ]] || die "$base is not fetched: make fetch BASE=$base"
		if [[ $running -ge 2 ]]; then
			wait -n || failed=1
			running=$((running - 1))
		fi
		one "$base" &
		running=$((running + 1))
	done
	while [[ $running -gt 0 ]]; do
		wait -n || failed=1
		running=$((running - 1))
	done
	[[ $failed == 0 ]] || exit 1
	# All or none: bases that differ in what they have would be no use.
	mkdir -p "$outdir"
	for base in $(bases); do
		rm -rf "${outdir:?}/$base"
		cp -r "$work/$base" "$outdir/$base"
	done
}

main "$@"
