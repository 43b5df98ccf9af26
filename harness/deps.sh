#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install the Debian packages that the other scripts need, where they are missing,
# and those that the arguments name beside them.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PACKAGES=(
	# kernels and selftests
	bc bison build-essential flex libelf-dev python3 rsync uuid-dev xz-utils
	# the series
	coccinelle git perl python3-ply
	# booting
	busybox-static cpio qemu-system-x86
	# the tool
	libjansson-dev libtracecmd-dev libtraceevent-dev libtracefs-dev pkgconf trace-cmd
	# the rest
	clang debian-archive-keyring gnuplot-nox libclang-rt-14-dev shellcheck valgrind
)

missing()
{
	dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${PACKAGES[@]}" 2>/dev/null |
		awk '$1 == "ii" { print $2 }' | sort |
		comm -13 - <(printf '%s\n' "${PACKAGES[@]}" | sort -u)
}

main()
{
	local -a wanted
	local log

	PACKAGES+=("$@")
	command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
		die "no apt-get: this needs Debian 12 or later"
	mapfile -t wanted < <(missing)
	[[ ${wanted[*]} ]] || return 0
	[[ $(id -u) == 0 ]] ||
		die "packages are missing; as root: apt-get install ${wanted[*]}"
	say "installing ${wanted[*]}"
	mkdir -p "$BUILD"
	log=$BUILD/apt-install.log
	apt-get -qq update >"$log" 2>&1 || true
	# Someone else may be installing: wait for it.
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "${wanted[@]}" >>"$log" 2>&1 ||
		die "cannot install ${wanted[*]}: $(grep -m1 '^E:' "$log")"
}

main "$@"
