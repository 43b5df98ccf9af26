#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetch a base: Debian's kernel source, unpacked, with git around what we touch.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/apt.sh
. "$ROOT/harness/apt.sh"

usage()
{
	cat >&2 <<-END
	usage: fetch.sh <base>
	Makes build/<base>/linux from Debian's linux-source-<base>, and prints that
	path.  Git tracks, on the branch "base", the files that the series touches.
	build/<base>/version names the package's version.  Bases: $(bases | xargs)
	END
	exit 2
}

available()
{
	apt_private apt-cache search --names-only '^linux-source-[0-9.]+$' |
		sed 's/^linux-source-\([^ ]*\).*/\1/' | sort -V | xargs
}

# The package's signature chain is apt's to check.
download()
{
	say "$base: asking for linux-source-$base in: $suites"
	# apt-get update exits 0 when a mirror cannot be reached, unless told.
	apt_private apt-get -qq -o APT::Update::Error-Mode=any update >"$apt/log" 2>&1 ||
		die "$base: cannot reach $suites: $(grep -m1 '^[EW]:' "$apt/log")"
	version=$(apt_private apt-cache policy "linux-source-$base" |
		awk '$1 == "Candidate:" { print $2 }')
	[[ $version && $version != "(none)" ]] ||
		die "$base: no linux-source-$base in $suites; there is: $(available)"
	say "$base: downloading linux-source-$base $version"
	(cd "$apt" && apt_private apt-get -qq download "linux-source-$base=$version") \
		>"$apt/log" 2>&1 ||
		die "$base: download failed: $(grep -m1 '^E:' "$apt/log")"
}

# Into a folder beside the final one, so that what has the final name is whole.
unpack()
{
	local tmp=$dir/unpack.tmp package

	package=$(echo "$apt/linux-source-${base}_"*.deb)
	rm -rf "$tmp"
	mkdir -p "$tmp"
	say "$base: unpacking $version"
	dpkg-deb -x "$package" "$tmp" || die "$base: cannot unpack $package"
	tar -xf "$tmp/usr/src/linux-source-$base.tar.xz" -C "$tmp" ||
		die "$base: cannot unpack the sources of $package"
	mv "$tmp/linux-source-$base" "$tree"
	echo "$version" >"$dir/version"
	rm -rf "$tmp" "$package"
}

# Tracking the whole tree would cost a minute and 2 GB; git am needs these only.
track()
{
	local -a git=(git -C "$tree" -c user.name=base -c user.email=base@localhost)

	series_paths "$base" >"$dir/paths.new"
	! cmp -s "$dir/paths.new" "$dir/paths" || return 0
	if [[ -e $dir/paths ]]; then
		git -C "$tree" am --abort 2>/dev/null || true
		git -C "$tree" checkout -qf base
	fi
	rm -rf "$dir/paths" "$tree/.git"
	git -C "$tree" init -q -b base
	echo '*' >"$tree/.git/info/exclude"
	existing "$tree" <"$dir/paths.new" | xargs -d '\n' git -C "$tree" add -f --
	"${git[@]}" commit -qm "linux-source-$base $(cat "$dir/version")"
	mv "$dir/paths.new" "$dir/paths"
}

main()
{
	[[ $# == 1 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	suites=$(awk -v b="$base" '$1 == b { $1 = ""; print substr($0, 2) }' "$ROOT/harness/bases")
	dir=$BUILD/$base
	tree=$dir/linux
	apt=$dir/apt
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9
	trap 'rm -rf "$dir/unpack.tmp"' EXIT
	if [[ ! -e $dir/version || ! -d $tree ]]; then
		rm -rf "$tree"
		# shellcheck disable=SC2086 # several they may be
		write_sources $suites
		download
		unpack
	fi
	track
	echo "$tree"
}

main "$@"
