#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The KUnit suite on one architecture, by the kernel's own kunit.py.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly TABLE=$ROOT/harness/kunit.conf

usage()
{
	cat >&2 <<-END
	usage: kunit.sh [-t TREE] <base> <arch>
	Runs the suite on the patched base and prints "PASSED FAILED SKIPPED".
	  <arch>   $(archs | xargs), or "module":
	           builds it as a module for x86_64 and runs nothing
	  -t TREE  this tree as it stands
	Builds in build/<base>/kunit-<arch>, with a .log beside it.
	END
	exit 2
}

archs()
{
	awk -F ' *[|] *' '!/^#/ && NF { print $1 }' "$TABLE"
}

# column <number>: of the architecture's line.
column()
{
	awk -F ' *[|] *' -v arch="$arch" -v n="$1" '$1 == arch { print $n }' "$TABLE"
}

# 7.3's kunit.py asks QEMU for KVM first, which may hang where /dev/kvm opens
# but is itself emulated; no option of it says otherwise.
wrap_qemu()
{
	local qemu=$1 real

	real=$(command -v "$qemu") || die "$qemu not found"
	mkdir -p "$obj.bin"
	cat >"$obj.bin/$qemu" <<-END
	#!/bin/bash
	while [[ \$# -gt 0 ]]; do
		case "\$1 \${2:-}" in
		"-accel kvm"|"-accel hvf") shift 2 ;;
		*) args+=("\$1"); shift ;;
		esac
	done
	exec '$real' "\${args[@]}"
	END
	chmod +x "$obj.bin/$qemu"
	PATH=$obj.bin:$PATH
}

failed()
{
	tail -n 30 "$log" >&2
	die "$base $arch: $1; all of it is in $log"
}

# What kunit.py makes of the result is not enough: it may have run nothing, or
# an older one may pass a log that is cut short.
run()
{
	local cross qemu args option status=0 counts
	local -a options

	cross=$(column 2) qemu=$(column 3) args=$(column 5)
	options=(--arch="$arch" --build_dir="$obj" --kunitconfig=virt/kvm/tests --jobs=2
		--timeout=600)
	for option in $(column 6); do
		options+=(--kconfig_add="CONFIG_$option")
	done
	[[ ! $cross ]] || options+=(--cross_compile="$cross")
	[[ ! $args ]] || options+=(--qemu_args="$args")
	[[ ! $qemu ]] || wrap_qemu "$qemu"

	rm -f "$obj/test.log"
	(cd "$tree" && PYTHONDONTWRITEBYTECODE=1 \
		python3 tools/testing/kunit/kunit.py run "${options[@]}") \
		</dev/null >"$log" 2>&1 || status=$?
	[[ -s $obj/test.log ]] || failed "nothing ran"
	counts=$("$ROOT/harness/judge.sh" "$tree" "$obj/test.log" 2>>"$log") || {
		head -n 1 <<<"$counts"
		failed "tests failed or none ran"
	}
	grep -qE 'ok [0-9]+ (- )?kvm_halt_poll' "$obj/test.log" ||
		failed "no result of the suite kvm_halt_poll"
	[[ $status == 0 ]] || failed "kunit.py exits with $status"
	head -n 1 <<<"$counts"
}

# tinyconfig, since what is asked is only whether the module builds and links.
module()
{
	local -a kmake=(make -j2 -C "$tree" O="$obj" ARCH=x86_64)

	(
		tiny_config "$obj" 64BIT=y MODULES=y KUNIT=m KVM_HALT_POLL_KUNIT_TEST=m
		rm -f "$obj/virt/kvm/tests/halt_poll_kunit.ko"
		"${kmake[@]}" vmlinux modules
	) >"$log" 2>&1 || failed "the module does not build"
	! grep -E 'modpost: |WARNING: |ERROR: ' "$log" >&2 || failed "modpost warns"
	[[ -e $obj/virt/kvm/tests/halt_poll_kunit.ko ]] || failed "no halt_poll_kunit.ko"
	echo "1 0 0"
}

main()
{
	local option
	local -a packages

	tree=''
	while getopts t: option; do
		case $option in
		t) tree=$(realpath "$OPTARG") ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	[[ $# == 2 ]] || usage
	base=$1 arch=$2
	require_base "$base"
	[[ $arch == module ]] || archs | grep -qxF -- "$arch" ||
		die "no architecture '$arch'; there are: $(archs | xargs) module"
	# The module has no line in the table.
	read -ra packages < <(column 4) || true
	"$ROOT/harness/deps.sh" "${packages[@]}"
	if [[ ! $tree ]]; then
		copy_base "$base"
		BUILD=$BUILD/copy "$ROOT/harness/tree.sh" "$base" patched
		tree=$BUILD/copy/$base/linux
	fi
	[[ -f $tree/virt/kvm/tests/Kconfig ]] || die "$tree: does not have the KUnit suite"
	obj=$BUILD/$base/kunit-$arch
	log=$obj.log
	mkdir -p "$obj"
	say "$base $arch: building and running KUnit"
	if [[ $arch == module ]]; then
		module
	else
		run
	fi
}

main "$@"
