#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes an initramfs of busybox, init, installed selftests, and the libraries
# that these need.  Same inputs, same bytes.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/${ARCH:-x86}.conf"

usage()
{
	cat >&2 <<-EOT
	usage: [ARCH=x86] [BUSYBOX=$BUSYBOX] initramfs.sh OUT [KSELFTEST [PATH...]]

	Writes the initramfs OUT.  KSELFTEST, a directory made by selftests.sh,
	becomes /kselftest, unless it is empty; each further PATH goes to /opt.
	EOT
	exit 2
}

# is_elf <file>
is_elf()
{
	[ "$(head -c 4 "$1" | tr -d '\0')" = $'\x7fELF' ]
}

# needs <file>: the libraries that an ELF file names.
needs()
{
	"${CROSS}readelf" -d "$1" |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# add_library <name>: copies a library, and what it needs itself, to /lib.
add_library()
{
	local lib path

	[ ! -e "$image/lib/$1" ] || return 0
	# The compiler knows where libraries are, also of another architecture;
	# what it does not find it prints as it was.
	path=$("${CROSS}gcc" -print-file-name="$1")
	[ -f "$path" ] || die "library $1 not found"
	install -m 755 "$path" "$image/lib/$1"
	for lib in $(needs "$path"); do
		add_library "$lib"
	done
}

# add_libraries: all libraries for what is in the image already.
add_libraries()
{
	local file interpreter lib

	while read -r -d '' file; do
		is_elf "$file" || continue
		for lib in $(needs "$file"); do
			add_library "$lib"
		done
		interpreter=$("${CROSS}readelf" -l "$file" |
			sed -n 's/.*interpreter: \(.*\)\]/\1/p')
		if [ -n "$interpreter" ]; then
			add_library "${interpreter##*/}"
			[ -e "$image$interpreter" ] || install -D -m 755 \
				"$image/lib/${interpreter##*/}" "$image$interpreter"
		fi
	done < <(find "$image" -path "$image/lib" -prune -o -type f -perm /100 -print0)

	# Loaded by pthread_cancel() on demand, and named by no file.
	if [ -e "$image/lib/libc.so.6" ]; then
		add_library libgcc_s.so.1
	fi
}

# pack: the image as a cpio archive, not compressed: it is small, and
# decompressing it costs more under emulation than loading it.
pack()
{
	find "$image" -exec touch -h -d @0 {} +
	(cd "$image" && find . -print0 | LC_ALL=C sort -z |
		cpio --quiet --null -o -H newc --reproducible --owner=+0:+0) >"$out.new"
	mv "$out.new" "$out"
}

main()
{
	local path

	[ $# -ge 1 ] || usage
	out=$1
	is_elf "$BUSYBOX" 2>/dev/null || die "$BUSYBOX: no such program; install busybox-static"
	[ -z "$(needs "$BUSYBOX")" ] ||
		die "$BUSYBOX: linked dynamically; install busybox-static"

	work=$(mktemp -d)
	trap 'rm -rf "$work" "$out.new"' EXIT
	image=$work/image
	mkdir -p "$image"/{bin,sbin,lib,usr/bin,usr/sbin}
	install "$BUSYBOX" "$image/bin/busybox"
	ln -s busybox "$image/bin/sh"
	install "$ROOT/harness/init" "$image/init"
	install "$ROOT/harness/guest-timeout" "$image/bin/guest-timeout"
	if [ -n "${2:-}" ]; then
		[ -x "$2/run_kselftest.sh" ] || die "$2: no installed selftests"
		cp -a "$2" "$image/kselftest"
	fi
	for path in "${@:3}"; do
		[ -e "$path" ] || die "$path: no such file"
		mkdir -p "$image/opt"
		cp -aL "$path" "$image/opt/"
	done
	chmod -R go=u-w "$image"
	add_libraries
	pack
}

main "$@"
