#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests on one base, in two lanes: what boots, and what does not.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/${ARCH:-x86}.conf"
# shellcheck source=harness/results.sh
. "$ROOT/harness/results.sh"

usage()
{
	cat >&2 <<-END
	usage: [ARCH=x86] check.sh <base>
	Tests what is built in build/<base>/ and committed in patches/.  The last
	line counts results; logs are in build/<base>/check/.  On other architectures
	than x86, build/<base>/<arch>/: only what boots.
	END
	exit 2
}

# boot <name> <cpu> <argument>...: on a CPU on which KVM works as it is to.
boot()
{
	local name=$1 cpu=$2
	shift 2
	"$ROOT/harness/boot.sh" -k "$dir/patched/${IMAGE##*/}" -i "$dir/initramfs.cpio" \
		-o "$dir/run/$name" -C "$cpu" "$@" || return
	grep -F "${KVM_SAYS[$cpu]}" "$dir/run/$name/console.log" ||
		die "KVM on $cpu does not say \"${KVM_SAYS[$cpu]}\""
}

# same_twice <suffix> <cpu>
same_twice()
{
	boot "repeat-1$1" "$2" -m virtual -t 300 -j "$ROOT/harness/repeat.job" \
		-c kunit.enable=0
	boot "repeat-2$1" "$2" -m virtual -t 300 -j "$ROOT/harness/repeat.job" \
		-c kunit.enable=0
	cmp "$dir/run/repeat-1$1/result.txt" "$dir/run/repeat-2$1/result.txt"
	cmp "$dir/run/repeat-1$1/console.log" "$dir/run/repeat-2$1/console.log"
}

# last_tap <name> <file>: counts the last of its documents.
last_tap()
{
	awk '/^TAP version / { text = "" } { text = text $0 "\n" } END { printf "%s", text }' \
		"$2" >"$out/$1.tap" || true
	tap "$1" "$out/$1.tap"
}

# One thread for all CPUs: where each has a thread of its own, QEMU's SVM now and then
# loses an interrupt, makes a guest or the host itself triple fault, or hang.
on_cpu()
{
	local cpu=$1 suffix=
	[[ ${#CPUS[@]} == 1 ]] || suffix=-$cpu

	check "boot-two-cpus$suffix" boot "two-cpus$suffix" "$cpu" "${TWO_CPUS[@]}" -t 900 \
		-j "$ROOT/harness/two-cpus.job"
	tap "kunit$suffix" "$dir/run/two-cpus$suffix/console.log"
	last_tap "stress-test$suffix" "$dir/run/two-cpus$suffix/result.txt"
	check "boot-one-cpu$suffix" boot "one-cpu$suffix" "$cpu" -m virtual -t 600 \
		-j "$ROOT/harness/one-cpu.job" -c kunit.enable=0
	tap "selftests$suffix" "$dir/run/one-cpu$suffix/result.txt"
	check "repeats$suffix" same_twice "$suffix" "$cpu"
	last_tap "behaviour-test$suffix" "$dir/run/repeat-1$suffix/result.txt"
}

# What is missing is missing on one CPU as on the next.
skips()
{
	local cpu=${CPUS[0]}

	check boot-skips boot skips "$cpu" "${TWO_CPUS[@]}" -t 900 -j "$ROOT/harness/skips.job" \
		-c kunit.enable=0
	tap skips "$dir/run/skips/result.txt"
	check boot-no-highres boot no-highres "$cpu" "${TWO_CPUS[@]}" \
		-j "$ROOT/harness/skips.job" -c "highres=off kunit.enable=0"
	tap skips-no-highres "$dir/run/no-highres/result.txt"
}

boot_lane()
{
	local cpu

	lane=boot
	for cpu in "${CPUS[@]}"; do
		on_cpu "$cpu"
	done
	skips
}

# git_am <base>: on a clean copy of what the series touches.
git_am()
{
	rm -rf "$out/am-$1"
	git clone -q -b base "$BUILD/$1/linux" "$out/am-$1"
	git -C "$out/am-$1" -c user.name=check -c user.email=check@localhost \
		am -q "$ROOT/patches/$1"/*.patch
}

# fingerprint <dir>: what makes a series the same, whatever lines have moved.
fingerprint()
{
	local patch

	for patch in "$1"/*.patch; do
		basename "$patch"
		sed '/^---$/q' "$patch" | grep -v '^Made against:'
		git patch-id --stable <"$patch" | cut -d' ' -f1
	done
}

# unchanged <base>: patches/ is what series/ makes today.
unchanged()
{
	diff <(fingerprint "$ROOT/patches/$1") <(fingerprint "$out/regenerated/$1")
}

# style <base>
style()
{
	local file status=0

	for file in "$ROOT/patches/$1"/*.patch; do
		[[ $file == *cover-letter* ]] ||
			checkpatch "$BUILD/$1/linux" "$file" || status=1
	done
	return $status
}

shell_scripts()
{
	(cd "$ROOT" && git ls-files -z '*.sh' '*.job' harness/init \
		harness/guest-timeout harness/guest-agent harness/vmm harness/recording experiments/measure .ci/run |
		xargs -0 shellcheck)
}

# proved <name> <command>...: tests that Perl's prove runs, since the kernel's parser
# wants the plan to come first; each of its runs ends with a count.
proved()
{
	local name=$1 count
	shift

	if "$@" >"$out/$name.log" 2>&1 && count=$(awk -F '[=,]' '/^Files=/ { n += $4 }
			END { print n; exit !n }' "$out/$name.log"); then
		record pass "$count" "$name"
	else
		record fail 1 "$name"
	fi
}

host_lane()
{
	local b

	lane=host
	check shellcheck shell_scripts
	proved harness-tests prove "$ROOT"/harness/tests/*_test.sh :: "$BUILD/$base/linux"
	proved tool "$ROOT/harness/tool.sh" "$base"
	check regenerate "$ROOT/harness/regenerate.sh" "$out/regenerated"
	for b in $(bases); do
		check "series-$b-unchanged" unchanged "$b"
		check "git-am-$b" git_am "$b"
		check "checkpatch-$b" style "$b"
	done
}

main()
{
	local boot

	[[ $# == 1 && $1 != -* ]] || usage
	begin "$1" check
	# There the second CPU does not come up in virtual time.
	[[ $base != 6.1 ]] || TWO_CPUS=(-m single)
	boot_lane &
	boot=$!
	[[ $KARCH != x86 ]] || host_lane
	wait $boot
	finish
}

main "$@"
