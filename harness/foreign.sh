#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetch busybox for another architecture than this machine's.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/apt.sh
. "$ROOT/harness/apt.sh"

SUITES=(bookworm bookworm-security)

usage()
{
	cat >&2 <<-END
	usage: foreign.sh <arch>
	Unpacks Debian's busybox-static for <arch>, as Debian names it, in
	build/foreign/<arch>.  The machine's own packages stay as they are.
	END
	exit 2
}

# The package's signature chain is apt's to check.
download()
{
	local -a options=(-qq -o APT::Architecture="$arch" -o APT::Architectures="$arch")

	say "downloading busybox-static for $arch"
	apt_private apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >"$apt/log" 2>&1 ||
		die "cannot reach ${SUITES[*]} for $arch: $(grep -m1 '^[EW]:' "$apt/log")"
	(cd "$apt" && apt_private apt-get "${options[@]}" download busybox-static) >"$apt/log" 2>&1 ||
		die "download failed: $(grep -m1 '^E:' "$apt/log")"
}

main()
{
	local apt arch

	[[ $# == 1 && $1 =~ ^[a-z0-9]+$ ]] || usage
	arch=$1
	mkdir -p "$BUILD/foreign"
	apt=$(mktemp -d "$BUILD/foreign/$arch.XXXXXX")
	# shellcheck disable=SC2064 # now: apt is gone by then
	trap "rm -rf '$apt'" EXIT
	write_sources "${SUITES[@]}"
	download
	dpkg-deb -x "$apt"/busybox-static_*.deb "$apt/root" || die "cannot unpack busybox-static"
	rm -rf "$BUILD/foreign/$arch"
	mv "$apt/root" "$BUILD/foreign/$arch"
}

main "$@"
