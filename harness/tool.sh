#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the tool kvm_halt_poll, plain and with sanitizers, and test both.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TOOL=$ROOT/tools/kvm/kvm_halt_poll

usage()
{
	cat >&2 <<-END
	usage: tool.sh [-b] <base>
	Builds the tool in build/<base>/tool/ with that base's tools/include, and tests
	it: TAP on standard output.  -b: builds only, without sanitizers, and prints
	the path of the program.
	END
	exit 2
}

# build <name> [VARIABLE=value...]: into build/<base>/tool/<name>/.
build()
{
	local to=$out/$1 log=$out/$1.log
	shift

	mkdir -p "$to"
	make -C "$TOOL" -j"${JOBS:-2}" KERNEL_TREE="$BUILD/$base/linux" OUTPUT="$to/" "$@" \
		>"$log" 2>&1 || { tail -n 20 "$log" >&2; die "the tool does not build, see $log"; }
	! grep -E 'warning:' "$log" >&2 || die "the tool builds with warnings, see $log"
}

# in_tree: as a part of a patched kernel tree it is built without any variable, and
# installed where DESTDIR says.
in_tree()
{
	local tree=$out/tree path

	rm -rf "$tree"
	mkdir -p "$tree"/{tools,include/linux}
	for path in arch include scripts; do
		ln -s "$BUILD/$base/linux/tools/$path" "$tree/tools/$path"
	done
	(cd "$ROOT" && xargs -d '\n' cp --parents -t "$tree" <series/52-tool/files)
	cp "$ROOT/include/linux/kvm_halt_poll.h" "$tree/include/linux/"
	{
		make -C "$tree/tools/kvm/kvm_halt_poll" -j"${JOBS:-2}" &&
		make -C "$tree/tools/kvm/kvm_halt_poll" install DESTDIR="$tree/installed" &&
		"$tree/installed/usr/local/bin/kvm_halt_poll" --help &&
		make -C "$tree/tools/kvm/kvm_halt_poll" clean
	} >"$out/tree.log" 2>&1 || { tail -n 20 "$out/tree.log" >&2; die "does not build in a kernel tree"; }
	(cd "$tree" && find tools/kvm -type f | sort | diff - "$ROOT/series/52-tool/files") >&2 ||
		die "make clean leaves something, or the patch lacks it"
	rm -rf "$tree"
}

# run_tests <name>: as a TAP stream of its own, which prove sums up.
run_tests()
{
	KVM_HALT_POLL=$out/$1/kvm_halt_poll KVM_HALT_POLL_DUMP=$out/$1/tests/dump \
		prove --timer "$TOOL"/tests/*_test.sh
}

main()
{
	local only=

	if [[ ${1:-} == -b ]]; then
		only=1
		shift
	fi
	[[ $# == 1 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	[[ -d $BUILD/$base/linux/tools/include ]] || die "$base is not fetched: make fetch BASE=$base"
	out=$BUILD/$base/tool
	build plain all tests
	if [[ $only ]]; then
		echo "$out/plain/kvm_halt_poll"
		return
	fi
	in_tree
	build sanitized SANITIZE=1 all tests
	run_tests plain
	run_tests sanitized
}

main "$@"
