#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds KVM selftests outside their tree and installs them as kselftest does.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/${ARCH:-x86}.conf"

# Ours, and those of KVM's own that halt.
readonly TESTS=("halt_poll_*" xapic_ipi_test steal_time kvm_binary_stats_test)

usage()
{
	cat >&2 <<-EOT
	usage: [ARCH=x86] [JOBS=n] selftests.sh TREE OBJ DEST [TEST...]

	Builds the TESTs (shell patterns, without a directory) of TREE in OBJ and
	installs them in DEST.  Default: ${TESTS[*]}
	EOT
	exit 2
}

# listed: the tests that the Makefile knows for this architecture.
listed()
{
	sed -nE "s/^TEST_GEN_PROGS_(COMMON|$(IFS='|'; echo "${KVM_ARCHS[*]}")) *\+?= *//p" \
		"$kvm"/Makefile* | grep -v '\$' | sort -u
}

# wanted <pattern>...: those of them that match.
wanted()
{
	local pattern test

	for test in $(listed); do
		for pattern; do
			# shellcheck disable=SC2053 # a pattern it is
			if [[ ${test##*/} == $pattern ]]; then
				echo "$test"
			fi
		done
	done
}

# build <test>...: the lists of the Makefile, by architecture, are overridden;
# whichever name the base gives this one.
build()
{
	local arch lists=()

	for arch in "${KVM_ARCHS[@]}"; do
		lists+=("TEST_GEN_PROGS_$arch=$*" "TEST_PROGS_$arch="
			"TEST_GEN_PROGS_EXTENDED_$arch=")
	done
	make -C "$tree" O="$obj" ARCH="$KARCH" CROSS_COMPILE="$CROSS" headers &&
	# abs_objdir keeps arm64's generated headers out of the tree, if its tools/
	# is there; 6.1's asm/kvm.h uses a macro of linux/stddef.h, but does not
	# include it.  No name of a folder gets into a test: what is booted, and measured
	# there, is the same wherever it was built.
	mkdir -p "$obj/kselftest/kvm/tools" &&
	make -C "$tree/tools/testing/selftests" -j"${JOBS:-$(nproc)}" O="$obj" \
		ARCH="$KARCH" CROSS_COMPILE="$CROSS" TARGETS=kvm FORCE_TARGETS=1 \
		KHDR_INCLUDES="-isystem $obj/usr/include" \
		EXTRA_CFLAGS="-include linux/stddef.h -ffile-prefix-map=$tree=. -ffile-prefix-map=$obj=." \
		abs_objdir="$obj/kselftest/kvm" \
		INSTALL_PATH="$dest" "${lists[@]}" install
}

main()
{
	local tree obj dest kvm log tests

	[ $# -ge 3 ] || usage
	kvm=$1/tools/testing/selftests/kvm
	[ -f "$kvm/Makefile" ] || die "$1: no tree with KVM selftests"
	tree=$(realpath "$1")
	mkdir -p "$2" "$3"
	obj=$(realpath "$2")
	dest=$(realpath "$3")
	shift 3
	[ $# -ge 1 ] || set -- "${TESTS[@]}"
	command -v rsync >/dev/null || die "rsync not found; install rsync"

	mapfile -t tests < <(wanted "$@")
	[ ${#tests[@]} -gt 0 ] || die "$tree: has no such test"

	SECONDS=0
	log=$obj/selftests.log
	say "selftests: building ${tests[*]##*/}"
	rm -rf "$dest"/{kvm,kselftest,kselftest-list.txt,run_kselftest.sh}
	if ! build "${tests[@]}" >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		die "building selftests failed; all of it is in $log"
	fi
	say "selftests: built in $SECONDS s"
}

main "$@"
