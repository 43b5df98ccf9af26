#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests on one base, in two lanes: what boots, and what does not.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: check.sh <base>
	Tests what is built in build/<base>/ and committed in patches/.  The last
	line counts results; logs are in build/<base>/check/.
	END
	exit 2
}

# check <name> <command>...: counts as one, passed if the command succeeds.
check()
{
	local name=$1 status
	shift

	# In a subshell of its own: within an "if", set -e would not hold, and only
	# the last command of a function would count.
	set +e
	(set -e; "$@") >"$out/$name.log" 2>&1
	status=$?
	set -e
	if [[ $status == 0 ]]; then
		record pass 1 "$name"
	else
		record fail 1 "$name"
	fi
}

# record pass|fail|skip <count> <name> [reason]
record()
{
	[[ $2 != 0 ]] || return 0
	printf '%s %d %s\n' "$1" "$2" "$3${4:+: $4}" >>"$out/$lane.results"
	say "$base: $1 $3 ($2)${4:+: $4}"
	if [[ $1 == fail && -s $out/$3.log ]]; then
		tail -n 20 "$out/$3.log" | sed 's/^/    /' >&2
	fi
}

# tap <name> <file>: counts as many as the file has results.
tap()
{
	local counts pass fail skip

	counts=$("$ROOT/harness/judge.sh" "$dir/linux" "$2" 2>"$out/$1.log") || true
	read -r pass fail skip <<<"${counts:-0 1 0}"
	record pass "$pass" "$1"
	record fail "$fail" "$1"
	record skip "$skip" "$1" "$(sed 1d <<<"$counts" | xargs -d '\n')"
}

boot()
{
	local name=$1
	shift
	"$ROOT/harness/boot.sh" -k "$dir/patched/vmlinux" -i "$dir/initramfs.cpio" \
		-o "$dir/run/$name" "$@"
}

same_twice()
{
	boot repeat-1 -m virtual -t 300 -j "$ROOT/harness/repeat.job" -c kunit.enable=0
	boot repeat-2 -m virtual -t 300 -j "$ROOT/harness/repeat.job" -c kunit.enable=0
	cmp "$dir/run/repeat-1/result.txt" "$dir/run/repeat-2/result.txt"
	cmp "$dir/run/repeat-1/console.log" "$dir/run/repeat-2/console.log"
}

# last_tap <file>: the last of its documents.
last_tap()
{
	awk '/^TAP version / { text = "" } { text = text $0 "\n" } END { printf "%s", text }' "$1"
}

# KVM's own tests run in virtual time: in real time QEMU now and then loses the
# shadow of a guest's STI, whose HLT then sleeps on, on stock kernels as well.
boot_lane()
{
	lane=boot
	check boot-real-time boot real -m real -j "$ROOT/harness/real.job"
	tap kunit "$dir/run/real/console.log"
	tap latency-test-real-time "$dir/run/real/result.txt"
	check boot-stress boot stress -m real -t 600 \
		-j "$ROOT/harness/stress.job" -c kunit.enable=0
	tap stress-test-real-time "$dir/run/stress/result.txt"
	check boot-skips boot skips -m real -t 600 -j "$ROOT/harness/skips.job" -c kunit.enable=0
	tap skips "$dir/run/skips/result.txt"
	check boot-no-highres boot no-highres -m real -j "$ROOT/harness/skips.job" \
		-c "highres=off kunit.enable=0"
	tap skips-no-highres "$dir/run/no-highres/result.txt"
	check boot-virtual-time boot virtual -m virtual -t 600 \
		-j "$ROOT/harness/virtual.job" -c kunit.enable=0
	tap selftests-virtual-time "$dir/run/virtual/result.txt"
	check virtual-time-repeats same_twice
	last_tap "$dir/run/repeat-1/result.txt" >"$out/behaviour-test.tap" || true
	tap behaviour-test-virtual-time "$out/behaviour-test.tap"
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
	(cd "$ROOT" && git ls-files -z '*.sh' '*.job' harness/init harness/guest-timeout .ci/run |
		xargs -0 shellcheck)
}

# Perl's prove runs them: the kernel's parser wants the plan to come first.
harness_tests()
{
	local log=$out/harness-tests.log count

	if prove "$ROOT"/harness/tests/*_test.sh :: "$dir/linux" >"$log" 2>&1 &&
		count=$(sed -n 's/^Files=.*, Tests=\([0-9]*\),.*/\1/p' "$log" | grep .); then
		record pass "$count" harness-tests
	else
		record fail 1 harness-tests
	fi
}

host_lane()
{
	local b

	lane=host
	check shellcheck shell_scripts
	harness_tests
	check regenerate "$ROOT/harness/regenerate.sh" "$out/regenerated"
	for b in $(bases); do
		check "series-$b-unchanged" unchanged "$b"
		check "git-am-$b" git_am "$b"
		check "checkpatch-$b" style "$b"
	done
}

# total pass|fail|skip
total()
{
	awk -v what="$1" '$1 == what { n += $2 } END { print n + 0 }' "$out"/*.results
}

main()
{
	local boot

	[[ $# == 1 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	dir=$BUILD/$base
	out=$dir/check
	exec 8>"$dir/check.lock"
	flock -n 8 || die "another check runs on $base"
	rm -rf "$out"
	mkdir -p "$out"
	boot_lane &
	boot=$!
	host_lane
	wait $boot
	sed -n 's/^skip [0-9]* /skipped: /p' "$out"/*.results
	printf '%d passed, %d failed, %d skipped\n' "$(total pass)" "$(total fail)" "$(total skip)"
	[[ $(total fail) == 0 ]]
}

main "$@"
