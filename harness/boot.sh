#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a kernel under QEMU, without hardware virtualisation, runs a job in it
# and brings back the job's output and exit status.

set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=harness/x86.conf
. "$ROOT/harness/${ARCH:-x86}.conf"

# Exit statuses of our own, beside the job's.
readonly SPLAT=124
readonly NO_STATUS=125

usage()
{
	cat >&2 <<-EOT
	usage: [ARCH=x86] boot.sh -k KERNEL -i INITRAMFS -j JOB -o OUTDIR [OPTION...]

	Boots KERNEL, runs the shell script JOB in it, leaves the kernel's log in
	OUTDIR/console.log and JOB's output in OUTDIR/result.txt.

	  -C CPU           one of ${CPUS[*]} (${CPUS[0]})
	  -m MODE          real time with a thread for each CPU (real), with one thread for
	                   all (single), or one instruction is one nanosecond (virtual)
	  -c CMDLINE       appended to the kernel's command line
	  -s SMP           CPUs (2; in virtual time 1)
	  -M MEM           memory, as QEMU understands it (1G)
	  -t TIMEOUT       seconds until the run is given up (120)
	  -r RACES         the data races that count as splats (all): see splat.sh
	  -S SEED          what random numbers come from in virtual time (1)

	Exits with JOB's status, but for $SPLAT: JOB succeeded and the kernel did
	not, see console.log; $NO_STATUS: the machine ended, or was ended, without
	a status (what JOB had said by then is in OUTDIR/result.partial).
	EOT
	exit 2
}

parse_options()
{
	local option

	mode=real kernel='' initramfs='' job='' outdir='' cmdline=''
	smp='' mem=1G timeout=120 seed=1 cpu=${CPUS[0]} races=()
	while getopts C:m:k:i:j:o:c:r:s:M:t:S: option; do
		case $option in
		C) cpu=$OPTARG ;;
		m) mode=$OPTARG ;;
		k) kernel=$OPTARG ;;
		i) initramfs=$OPTARG ;;
		j) job=$OPTARG ;;
		o) outdir=$OPTARG ;;
		c) cmdline=$OPTARG ;;
		r) races=(-r "$OPTARG") ;;
		s) smp=$OPTARG ;;
		M) mem=$OPTARG ;;
		t) timeout=$OPTARG ;;
		S) seed=$OPTARG ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -eq 0 ] && [ -n "$outdir" ] || usage

	[ -r "$kernel" ] || die "kernel '$kernel' cannot be read"
	[ -r "$initramfs" ] || die "initramfs '$initramfs' cannot be read"
	[ -r "$job" ] || die "job '$job' cannot be read"
	[[ $timeout =~ ^[1-9][0-9]*$ ]] || die "timeout '$timeout' is no number"
	[[ ${CPU[$cpu]:-} ]] || die "CPU '$cpu' is none of ${CPUS[*]}"
	command -v "$QEMU" >/dev/null ||
		die "$QEMU not found; install $QEMU_PACKAGE"
}

# set_accel: the arguments that make the difference between the modes.
set_accel()
{
	case $mode in
	real)
		accel=(-accel tcg -smp "${smp:-2}")
		cmdline="${CMDLINE_REAL:-} $cmdline"
		;;
	single)
		accel=(-accel "tcg,thread=single" -smp "${smp:-2}")
		cmdline="${CMDLINE_REAL:-} $cmdline"
		;;
	virtual)
		# Repeats to the bit; that is also why the clock starts at a
		# fixed date.
		accel=(-accel "tcg,thread=single" -smp "${smp:-1}"
			-icount "shift=0,sleep=off" -seed "$seed"
			-rtc "base=2024-01-01T00:00:00,clock=vm")
		;;
	*)
		die "mode '$mode' is none of real, single, virtual"
		;;
	esac
}

# add_job: the initramfs with the job as one more archive behind it.
add_job()
{
	mkdir "$work/job"
	install -m 755 "$job" "$work/job/job"
	touch -d @0 "$work/job/job"
	cp "$initramfs" "$work/initrd"
	# An archive starts at a multiple of four bytes.
	truncate -s %4 "$work/initrd"
	(cd "$work/job" && echo job | cpio --quiet -o -H newc --reproducible \
		--owner=+0:+0) >>"$work/initrd"
}

# run_qemu: until it ends or its time is up.
run_qemu()
{
	timeout -k 5 "$timeout" "$QEMU" -nodefaults -no-user-config \
		-display none -monitor none -no-reboot \
		"${QEMU_MACHINE[@]}" -cpu "${CPU[$cpu]}" "${accel[@]}" -m "$mem" \
		-kernel "$kernel" -initrd "$work/initrd" \
		-append "console=$CONSOLE panic=-1 $CMDLINE HARNESS_RESULT=$RESULT HARNESS_CLOCKSOURCE=$CLOCKSOURCE $cmdline" \
		-serial "file:$outdir/console.log" \
		-chardev "file,id=result,path=${outdir//,/,,}/result.partial" \
		"${RESULT_DEVICE[@]}" \
		</dev/null 2>"$work/qemu.err" &
	qemu=$!

	if [ -t 2 ]; then
		while kill -0 $qemu 2>/dev/null; do
			printf '\r%s time: %d s ' "$mode" $SECONDS >&2
			sleep 1
		done
		printf '\r\033[K' >&2
	fi
	qemu_status=0
	wait $qemu || qemu_status=$?
	qemu=
}

# take_status: the job's status off the end of the result channel.
take_status()
{
	local last

	last=$(tail -n 1 "$outdir/result.partial" 2>/dev/null | tr -d '\0')
	[[ $last =~ ^harness-status:\ ([0-9]+)$ ]] || return 1
	status=${BASH_REMATCH[1]}
	# init puts a newline before that line and one behind.
	head -c -$((${#last} + 2)) "$outdir/result.partial" >"$outdir/result.new"
	mv "$outdir/result.new" "$outdir/result.txt"
	rm "$outdir/result.partial"
}

# fail <status> <text>: shows the ends of the console and of the result as well.
fail()
{
	local file

	{
		cat "$work/qemu.err"
		for file in "$outdir"/{console.log,result.*}; do
			[ -e "$file" ] || continue
			echo "--- end of $file"
			tail -n 10 "$file" | tr -d '\r\0'
		done
		echo "---"
		echo "boot.sh: $2"
	} >&2
	exit "$1"
}

no_status()
{
	case $qemu_status in
	124 | 137) fail $NO_STATUS "no status: not done after $timeout s" ;;
	0) fail $NO_STATUS "no status: the machine ended without one" ;;
	*) fail $NO_STATUS "no status: $QEMU failed with $qemu_status" ;;
	esac
}

cleanup()
{
	[ -z "${qemu:-}" ] || kill "$qemu" 2>/dev/null || true
	rm -rf "$work" "$outdir/result.new"
}

main()
{
	local status

	parse_options "$@"
	set_accel
	mkdir -p "$outdir" || die "$outdir: cannot be made"
	rm -f "$outdir"/{console.log,result.txt,result.partial}
	work=$(mktemp -d)
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	SECONDS=0
	add_job
	say "boot: ${job##*/} in $mode time"
	run_qemu
	take_status || no_status
	[ "$status" -eq 0 ] || fail "$status" "job failed with $status"
	"$ROOT/harness/splat.sh" "${races[@]}" "$outdir/console.log" ||
		fail $SPLAT "job succeeded, but the kernel's log is not clean"
	say "boot: ${job##*/} done in $SECONDS s"
}

main "$@"
