#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what boot.sh makes of a machine's end, with a QEMU that only pretends.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"

# make_qemu: $FAKE_CONSOLE and $FAKE_RESULT are what the machine says on its two ports,
# $SLEEP how long it runs, $EXIT how QEMU itself ends.
make_qemu()
{
	mkdir "$tmp/bin"
	cat >"$tmp/bin/qemu-system-x86_64" <<-'EOT'
	#!/bin/bash
	ports=()
	for arg; do
		case $arg in
		file:*) ports+=("${arg#file:}") ;;
		file,*) ports+=("${arg#*path=}") ;;
		esac
	done
	echo $$ >"$PID_FILE"
	printf "[    0.000000] Linux version\n$FAKE_CONSOLE" >"${ports[0]}"
	printf "$FAKE_RESULT" >"${ports[1]}"
	[ -z "${SLEEP:-}" ] || exec sleep "$SLEEP"
	exit "${EXIT:-0}"
	EOT
	chmod +x "$tmp/bin/qemu-system-x86_64"
	export PATH=$tmp/bin:$PATH PID_FILE=$tmp/pid FAKE_CONSOLE='' FAKE_RESULT=''
}

# boot [VARIABLE=value...] [-option...]: in a subshell, which it becomes.
boot()
{
	local vars=()

	while [[ ${1:-} == *=* ]]; do
		vars+=("$1")
		shift
	done
	exec env "${vars[@]}" "$here/../boot.sh" -k "$tmp/kernel" -i "$tmp/initramfs" \
		-j "$tmp/job" -o "$tmp/out" "$@"
}

# result_is <text>: what the last boot left.
result_is()
{
	[ "$(cat "$tmp/out/result.txt"; echo .)" = "$1." ]
}

no_result()
{
	[ ! -e "$tmp/out/result.txt" ]
}

# interrupted: a boot that gets SIGTERM must end its QEMU and leave no result.
interrupted()
{
	local boot status=0

	rm -f "$PID_FILE"
	boot SLEEP=60 FAKE_RESULT='half\n' &
	boot=$!
	while [ ! -s "$PID_FILE" ]; do
		sleep 0.1
	done
	kill -TERM "$boot"
	wait "$boot" || status=$?
	sleep 0.2
	[ "$status" -ne 0 ] && no_result && ! kill -0 "$(cat "$PID_FILE")" 2>/dev/null
}

main()
{
	local race='[    1.0] BUG: KCSAN: data-race in f / g\n'

	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	make_qemu
	echo kernel >"$tmp/kernel"
	echo initramfs >"$tmp/initramfs"
	echo true >"$tmp/job"

	echo "TAP version 13"
	expect 0 "status 0" boot FAKE_RESULT='a\nb\n\nharness-status: 0\n'
	expect 0 "status 0: result without the status" result_is $'a\nb\n'
	expect 0 "virtual time" boot FAKE_RESULT='a\n\nharness-status: 0\n' -m virtual
	expect 0 "no newline at the end" boot FAKE_RESULT='a\nharness-status: 0\n'
	expect 0 "no newline at the end: kept so" result_is a
	expect 3 "the job's own status" boot FAKE_RESULT='a\n\nharness-status: 3\n'
	expect 0 "the job's own status: result kept" result_is $'a\n'
	expect 124 "a splat fails a green run" \
		boot FAKE_CONSOLE='[    1.0] BUG: made up\n' FAKE_RESULT='\nharness-status: 0\n'
	expect 3 "a splat does not hide the job's status" \
		boot FAKE_CONSOLE='[    1.0] BUG: made up\n' FAKE_RESULT='\nharness-status: 3\n'
	expect 124 "a data race that counts" \
		boot FAKE_CONSOLE="$race" FAKE_RESULT='\nharness-status: 0\n' -r '^f'
	expect 0 "a data race that does not count" \
		boot FAKE_CONSOLE="$race" FAKE_RESULT='\nharness-status: 0\n' -r '^h'
	expect 125 "silence" boot
	expect 125 "no status" boot FAKE_RESULT='a\nb\n'
	expect 0 "no status: no result" no_result
	expect 125 "the status is not last" boot FAKE_RESULT='\nharness-status: 0\nb\n'
	expect 125 "the status is no number" boot FAKE_RESULT='\nharness-status: x\n'
	expect 125 "QEMU fails" boot EXIT=1
	expect 125 "hang" boot SLEEP=30 FAKE_RESULT='a\n' -t 1
	refuses 'lines of the log' "the console's end is shown" \
		boot FAKE_CONSOLE='lines of the log\n'
	expect 0 "an interrupt leaves neither QEMU nor result" interrupted

	refuses "kernel '/none' cannot be read" "no kernel" boot -k /none
	refuses "initramfs '/none' cannot be read" "no initramfs" boot -i /none
	refuses "job '/none' cannot be read" "no job" boot -j /none
	refuses "mode 'other'" "unknown mode" boot -m other
	refuses "CPU 'other' is none of" "unknown CPU" boot -C other
	refuses "timeout 'soon'" "bad timeout" boot -t soon
	refuses "usage" "a stray argument" boot stray
	refuses "qemu-system-none not found; install" "no QEMU" boot QEMU=qemu-system-none
	done_testing
}

main "$@"
