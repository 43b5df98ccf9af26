#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Configures and builds a kernel outside its tree.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/${ARCH:-x86}.conf"

usage()
{
	cat >&2 <<-EOT
	usage: [ARCH=x86] [JOBS=n] kernel.sh TREE OBJ [FRAGMENT...]

	Builds TREE in the directory OBJ: tinyconfig, the architecture's own
	fragment, then each FRAGMENT.  Prints the path of the image.
	EOT
	exit 2
}

# kmake <argument>...: make for this tree, the same bytes whenever it runs.
# LOCALVERSION is empty so that no state of git gets into the version.
kmake()
{
	make -C "$tree" O="$obj" ARCH="$KARCH" CROSS_COMPILE="$CROSS" \
		LOCALVERSION= KBUILD_BUILD_TIMESTAMP="@0" KBUILD_BUILD_VERSION=1 \
		KBUILD_BUILD_USER=harness KBUILD_BUILD_HOST=harness "$@"
}

# base_fragment: adds the fragment for this base alone, if there is one.
base_fragment()
{
	local fragment

	version=$(make -s -C "$tree" kernelversion) ||
		die "$tree: has no version"
	fragment=$ROOT/harness/${KCONFIG%.config}.$(cut -d. -f1-2 <<<"$version").config
	if [ -f "$fragment" ]; then
		fragments+=("$fragment")
	fi
}

# lost_options <fragment>...: the options that .config has otherwise than the
# fragments want, where the last word on an option counts.
lost_options()
{
	awk '
	{ name = "" }
	/^CONFIG_[A-Za-z0-9_]+=/ {
		name = $0; sub(/=.*/, "", name)
		value = substr($0, length(name) + 2)
	}
	/^# CONFIG_[A-Za-z0-9_]+ is not set/ { name = $2; value = "n" }
	name == "" { next }
	FILENAME == config { got[name] = value; next }
	{ want[name] = value }
	END {
		for (name in want) {
			is = name in got ? got[name] : "n"
			if (is != want[name])
				print name "=" want[name] " became " is
		}
	}' config="$obj/.config" "$@" "$obj/.config" | sort
}

# kconfig_id <fragment>...: a checksum of all that .config is made from.
kconfig_id()
{
	{
		cat "$@"
		find "$tree" -name 'Kconfig*' -type f -print0 | sort -z | xargs -0 cat
	} | sha256sum
}

# configure <fragment>...: writes .config, unless it was made from the same
# fragments and the same Kconfig files already.
configure()
{
	local id lost stamp=$obj/.harness-config

	id=$(kconfig_id "$@")
	if [ -f "$obj/.config" ] && [ "$id" = "$(cat "$stamp" 2>/dev/null)" ]; then
		return
	fi

	rm -f "$stamp"
	logged configuring kmake tinyconfig
	logged configuring "$tree/scripts/kconfig/merge_config.sh" -m \
		-O "$obj" "$obj/.config" "$@"
	logged configuring kmake olddefconfig
	lost=$(lost_options "$@")
	[ -z "$lost" ] || die "options that did not survive olddefconfig:
$lost"
	echo "$id" >"$stamp"
}

# logged <what> <command>...: runs it into the log, whose end is shown if it
# fails.
logged()
{
	local what=$1
	shift

	if ! "$@" >>"$obj/build.log" 2>&1; then
		tail -n 30 "$obj/build.log" >&2
		die "$what failed; all of it is in $obj/build.log"
	fi
}

main()
{
	local tree obj version fragment fragments

	[ $# -ge 2 ] || usage
	[ -f "$1/virt/kvm/kvm_main.c" ] || die "$1: not a kernel tree"
	tree=$(realpath "$1")
	mkdir -p "$2" || die "$2: cannot be made"
	obj=$(realpath "$2")
	shift 2

	fragments=("$ROOT/harness/$KCONFIG")
	base_fragment
	fragments+=("$@")
	for fragment in "${fragments[@]}"; do
		[ -r "$fragment" ] || die "$fragment: no such fragment"
	done

	SECONDS=0
	: >"$obj/build.log"
	say "kernel $version ($KARCH): building in $obj"
	configure "${fragments[@]}"
	logged building kmake -j"${JOBS:-$(nproc)}" "$IMAGE_TARGET"
	say "kernel $version ($KARCH): built in $SECONDS s"
	echo "$obj/$IMAGE"
}

main "$@"
