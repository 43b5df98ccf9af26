#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put a fetched base into one of its two states.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: tree.sh <base> stock|patched
	Makes build/<base>/linux the pristine base, or the base with
	patches/<base>/*.patch applied by git am, one commit a patch.
	END
	exit 2
}

# Not a git checkout from one to the other where nothing changes: that would
# touch files, and make would build them again.
is_at()
{
	[[ $(git -C "$tree" symbolic-ref --short HEAD) == "$1" ]] &&
		git -C "$tree" diff --quiet HEAD
}

to_base()
{
	git -C "$tree" am --abort 2>/dev/null || true
	git -C "$tree" checkout -qf base
}

apply()
{
	local -a patches=("$ROOT/patches/$base"/*.patch)
	local log=$BUILD/$base/am.log

	[[ -e ${patches[0]} ]] || die "no patches/$base: make series"
	to_base
	git -C "$tree" checkout -q -B series
	if ! git -C "$tree" -c user.name=build -c user.email=build@localhost \
		-c advice.mergeConflict=false am -q "${patches[@]}" >"$log" 2>&1; then
		to_base
		git -C "$tree" branch -qD series
		die "$base: git am: $(grep -m1 -E '^(error|fatal):' "$log" || tail -n 1 "$log")"
	fi
}

main()
{
	local sum stamp

	[[ $# == 2 ]] || usage
	base=$1
	require_base "$base"
	tree=$BUILD/$base/linux
	[[ -e $BUILD/$base/paths ]] || die "$base is not fetched: make fetch BASE=$base"
	case $2 in
	stock)
		is_at base || to_base
		;;
	patched)
		sum=$(cat "$ROOT/patches/$base"/*.patch 2>/dev/null | sha256sum)
		stamp=$BUILD/$base/am.sum
		if ! is_at series || [[ $sum != "$(cat "$stamp" 2>/dev/null)" ]]; then
			rm -f "$stamp"
			apply
			echo "$sum" >"$stamp"
		fi
		;;
	*)
		usage
		;;
	esac
}

main "$@"
