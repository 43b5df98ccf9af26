#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what becomes of a guest that does not do as it is told, with VMMs and a
# QEMU that only pretend.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"

# make_vmm: says $HELLO, answers each command as $ANSWER has it, and the end with
# $BYE.
make_vmm()
{
	mkdir -p "$tmp/opt" "$tmp/guest"
	cat >"$tmp/opt/qemu-system-x86_64" <<-'EOT'
	#!/bin/bash
	exec <"$GUEST/channel.in" >"$GUEST/channel.out"
	echo "the guest's last words" >"$GUEST/console"
	printf "$HELLO"
	[ -z "${HANG:-}" ] || exec sleep "$HANG"
	[ -n "$HELLO" ] || exit
	while read -r line; do
		if [ "$line" = end ]; then
			printf "$BYE"
			exit "${EXIT:-0}"
		fi
		printf "$ANSWER"
	done
	EOT
	chmod +x "$tmp/opt/qemu-system-x86_64"
	cat >"$tmp/job" <<-EOT
	. "$here/../vmm"
	start_guest some=thing
	said=\$(guest what) || exit
	echo "the guest says \$said"
	end_guest
	echo done
	EOT
}

# job [VARIABLE=value...]
job()
{
	env OPT="$tmp/opt" GUEST="$tmp/guest" HELLO='guest-ready: x\n' \
		ANSWER='this\nguest-status: 0\n' BYE='\nharness-status: 0\n' \
		GUEST_SILENCE=2 "$@" busybox sh "$tmp/job"
}

image()
{
	env "$@" "$here/../guest-image.sh" "$tmp/vmlinux" "$tmp/image"
}

no_image()
{
	[ ! -e "$tmp/image" ] && [ ! -e "$tmp/image.new" ]
}

# spent <the guest's last line>: a counter goes from 5 to 8 meanwhile.
spent()
{
	echo 5 >"$tmp/counter"
	(sleep 0.2; echo 8 >"$tmp/counter"; echo "$1"; sleep 2) |
		"$tmp/spent" $$ 1 "$tmp/counter" 3>"$tmp/told"
}

# spent_3: that much, and the guest is told to start.
spent_3()
{
	spent 'done' | grep -qE '^[0-9]+ [0-9]+ 3$' && [ "$(wc -c <"$tmp/told")" -eq 1 ]
}

spent_silent()
{
	sleep 2 | "$tmp/spent" $$ 1 3>"$tmp/told"
}

# make_qemu: a machine whose job says, with -seed n, what $ROWS/n holds.
make_qemu()
{
	mkdir -p "$tmp/bin" "$tmp/rows" "$tmp/build/6.12"/{patched,guest}
	cat >"$tmp/bin/qemu-system-x86_64" <<-'EOT'
	#!/bin/bash
	run=$(sed 's/.* -seed \([0-9]*\) .*/\1/' <<<"$*")
	[ ! -e "$ROWS/rebuild" ] || echo >>"$BUILD/6.12/guest/host.cpio"
	for arg; do
		case $arg in
		file:*) { printf '[    0.000000] Linux version\n'; cat "$ROWS/console" 2>/dev/null; } >"${arg#file:}" ;;
		file,*) cat "$ROWS/$run" >"${arg#*path=}" ;;
		esac
	done
	EOT
	chmod +x "$tmp/bin/qemu-system-x86_64"
	touch "$tmp/build/6.12"/{patched/vmlinux,guest/host.cpio,guest/traces.cpio}
	echo 6.12.1 >"$tmp/build/6.12/version"
}

# says <seed> <status> [what]: the experiment "complaint", whole unless told: without
# its second arm, without any, with a guest that hangs, or with another shrink.
says()
{
	local shrink=2

	[[ ${3:-} != shrink ]] || shrink=4
	{
		echo "# a remark"
		echo "workload,arm,run,turn,halt_poll_ns,grow,grow_start_ns,shrink,budget,guest_poll_ns,ops,ns,p50_ns,p99_ns,host_ns,cpu_ns,halts,polls,hits,hit_ns,miss_ns,wait_ns,exits"
		[[ ${3:-} == none ]] ||
			echo "100,max-0,$1,$((2 - $1 % 2)),0,2,10000,2,,,10,${1}000,5,6,2000,1000,10,0,0,0,0,9,20"
		[[ ! ${3:-whole} =~ ^(whole|shrink)$ ]] ||
			echo "100,max-200000,$1,$((1 + $1 % 2)),200000,2,10000,$shrink,,,10,500,5,6,2000,2000,10,10,5,0,0,9,20"
		[[ ${3:-} != hang ]] || echo "guest: no word for 2 s"
		printf '\nharness-status: %d\n' "$2"
	} >"$tmp/rows/$1"
}

# experiment [NAME...]: of three runs.
experiment()
{
	env PATH="$tmp/bin:$PATH" BUILD="$tmp/build" ROWS="$tmp/rows" RUNS=3 \
		"$here/../../experiments/experiment.sh" 6.12 "$@"
}

# experiment_from <seed>
experiment_from()
{
	SEED=$1 experiment complaint
}

# left <n>: files with the final name.
left()
{
	[ "$(find "$tmp/build/experiments" -type f | wc -l)" -eq "$1" ]
}

# medians: of 100, 200, 300 ns an operation the second; the share of CPU is 1000
# of 2000 ns, and all of it.
medians()
{
	local file=$tmp/build/experiments/complaint.summary.csv

	grep -qx '100,max-0,200,100,300,5,6,1.000,0.0,0.0,50.0,100' "$file" &&
		grep -qx '100,max-200000,50,50,50,5,6,1.000,50.0,0.0,100.0,200' "$file"
}

# guest_sh [traces]
guest_sh()
{
	env PATH="$tmp/bin:$PATH" BUILD="$tmp/build" ROWS="$tmp/rows" "$here/../guest.sh" 6.12 "$@"
}

# guest_says <seed> <line> <status>
guest_says()
{
	printf '%s\n\nharness-status: %d\n' "$2" "$3" >"$tmp/rows/$1"
}

hang_is_told()
{
	[[ $(guest_sh "$@" 2>&1) == *"hangs at seed 1"*"all is well"* ]]
}

# remarks <text> [folder/]
remarks()
{
	grep -qF -- "$1" "$tmp/build/experiments/${2:-}complaint.md"
}

main()
{
	local seed

	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	make_vmm
	make_qemu
	touch "$tmp/vmlinux"

	echo "TAP version 13"
	expect 0 "a guest that does as it is told" job
	refuses "no VMM in this image" "no VMM in the image" job OPT=/none
	refuses "the VMM has ended" "a VMM that ends" job HELLO=
	refuses "guest's last words" "its console is shown" job HELLO=
	refuses "no word for 2 s" "a guest that is silent" job HELLO= HANG=9
	refuses "said 'x', but is not ready" "a guest that says something else" job HELLO='x\n'
	refuses "'what' failed with 7" "a command that fails" job ANSWER='guest-status: 7\n'
	refuses "no word for 2 s" "a command that hangs" job ANSWER=
	refuses "ended with 'harness-status: 1'" "a guest that ends badly" \
		job BYE='harness-status: 1\n'
	refuses "the VMM failed with 3" "a VMM that fails" job EXIT=3

	gcc -O2 -Wall -Wextra -o "$tmp/spent" "$here/../../experiments/spent.c"
	expect 0 "what was spent" spent_3
	expect 3 "what was spent: the guest is silent" spent_silent
	refuses "says 'no', not that it is done" "what was spent: the guest fails" spent no
	refuses "no process 99999999" "what was spent: no VMM" "$tmp/spent" 99999999 1
	refuses "/none cannot be read" "what was spent: no counter" "$tmp/spent" $$ 1 /none

	refuses "no VMM 'none'; install qemu-system-x86" "image: no VMM" image VMM=none
	refuses "no /none/qboot.rom; install" "image: no firmware" image FIRMWARE=/none
	expect 0 "image: nothing is left" no_image
	refuses "guest's kernel '/none' cannot be read" "image: no kernel" \
		"$here/../guest-image.sh" /none "$tmp/image"

	guest_says 1 "guest: no word for 2 s" 1
	guest_says 2 "all is well" 0
	expect 0 "make guest: a seed that hangs is told, and the next is tried" hang_is_told
	refuses "does not come out whole" "make guest-traces: no archive" guest_sh traces
	guest_says 1 nothing 1
	{ echo "guest: no word for 2 s"; seq 15; } >"$tmp/rows/console"
	refuses "hangs at seed 1" "make guest-traces: a hang is told on the console" guest_sh traces
	rm "$tmp/rows/console"
	guest_says 1 "guest: said 'x'" 1
	refuses "the guest does not boot" "make guest: what fails is not tried again" guest_sh
	refuses usage "make guest: what else" guest_sh none
	for seed in 1 2; do
		guest_says $seed "guest: no word for 2 s" 1
	done
	refuses "the guest does not boot" "make guest: all hang" guest_sh

	for seed in 1 2 3; do
		says $seed 0
	done
	refuses "no experiment 'none'; there are: complaint" "no such experiment" experiment none
	refuses "no experiment 'complaint shrink'" "two in one" experiment "complaint shrink"
	refuses "no base 'none'" "no such base" "$here/../../experiments/experiment.sh" none
	refuses "RUNS must be a number" "bad RUNS" \
		env RUNS=many "$here/../../experiments/experiment.sh" 6.12
	expect 0 "an experiment" experiment complaint
	expect 0 "an experiment leaves its files" left 5
	expect 0 "an experiment's medians" medians
	expect 0 "what an arm is" \
		remarks '- max-200000: halt_poll_ns 200000, grow 2, grow_start 10000, shrink 2'
	expect 0 "what the order of arms does" remarks 'differ by 50.0 %, CPU by 0.0 % at most'
	says 2 1 part
	refuses "complaint: failed; nothing is written" "a workload fails" experiment complaint
	expect 0 "a workload fails: not even old files are left" left 0
	says 2 0 part
	refuses "100 max-200000 has 2 runs, not 3" "an arm is missing" experiment complaint
	expect 0 "an arm is missing: nothing is left" left 0
	says 2 0 shrink
	refuses "max-200000 is halt_poll_ns 200000, grow 2, grow_start 10000, shrink 4 in line 5, but" \
		"an arm that is not always the same" experiment complaint
	expect 0 "an arm that is not always the same: nothing is left" left 0
	says 2 0
	touch "$tmp/rows/rebuild"
	refuses "what is booted has changed meanwhile; nothing is written" "another image meanwhile" \
		experiment complaint
	rm "$tmp/rows/rebuild"
	expect 0 "another image meanwhile: nothing is left" left 0
	says 2 1 hang
	says 4 0
	expect 0 "a guest that hangs is no run" experiment complaint
	expect 0 "a guest that hangs is told" \
		remarks 'seeds tried: 1 to 4; at 1 of them the guest hung'
	for seed in 1 2 3 4; do
		says $seed 0
	done
	expect 0 "the same again" experiment complaint
	expect 0 "from another seed" experiment_from 2
	expect 0 "how far that repeats" \
		remarks 'at most: op_ns 50.00 % (100 max-0), p50_ns 0.00 % (100 max-200000),' seed-2/
	echo changed >>"$tmp/build/6.12/guest/host.cpio"
	expect 0 "from another seed, and another image" experiment_from 2
	expect 0 "another image is not compared" remarks 'not compared with seed 1 and on' seed-2/
	refuses "SEED must be a number" "bad SEED" experiment_from 0
	rm -r "$tmp/build/experiments"
	says 1 0 none
	says 2 0 none
	says 3 0 none
	refuses "complaint: no rows" "no row at all" experiment complaint
	for seed in 1 2 3 4; do
		says $seed 1 hang
	done
	refuses "too many guests hang; nothing is written" "guests that hang" experiment complaint
	expect 0 "guests that hang: nothing is left" left 0
	done_testing
}

main "$@"
