#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what the readers make of traces of all kinds, and of what is none.

set -euo pipefail
# shellcheck source=tools/kvm/kvm_halt_poll/tests/engine.sh
. "$(dirname "${BASH_SOURCE[0]}")/engine.sh"

HEADER=vcpu,time_ns,halt_ns,waited,valid
WAKEUP="kvm_vcpu_wakeup: wait time 100 ns, polling valid"

# reads <what> <wanted> <line>...: these lines must be read as that, and also
# with CRLF and from a pipe.
reads()
{
	local what=$1 wanted=$2
	shift 2

	printf '%s\n' "$@" >"$tmp/trace"
	check "$what" 0 "$wanted" "" "$DUMP" "$tmp/trace"
	cp "$tmp/stdout" "$tmp/first"
	printf '%s\r\n' "$@" >"$tmp/crlf"
	"$DUMP" <"$tmp/crlf" >"$tmp/second" 2>&1 || true
	same "$what, CRLF" "$tmp/first" "$tmp/second"
	printf '%s\n' "$@" | "$DUMP" - >"$tmp/second" 2>&1 || true
	same "$what, a pipe" "$tmp/first" "$tmp/second"
}

# rejects <what> <wanted> <line>...: these lines must be refused, with that.
rejects()
{
	local what=$1 wanted=$2
	shift 2

	printf '%s\n' "$@" >"$tmp/trace"
	refuses "$what" "$tmp/trace$wanted" "$DUMP" "$tmp/trace"
}

test_csv()
{
	reads "CSV" '^halt 7/-1/-1 "" 1000 250 wait invalid$' $HEADER 7,1000,250,1,0
	reads "CSV: what is known of it" '^CSV, kernel unknown, parameters unknown, 2 vCPUs, 0 lost$' \
		$HEADER 7,1,1,1,1 8,1,1,0,1
	reads "CSV: comments and empty lines" ' 2 1 poll' $HEADER "# text" "" 7,2,1,0,1
	reads "CSV: the longest halt" ' 2305843009213693951 wait' $HEADER \
		7,5000000000000000000,2305843009213693951,1,1
	reads "CSV: the latest time" ' 18446744073709551615 1 ' $HEADER 7,18446744073709551615,1,1,1
	printf '%s\n7,1,1,1,1' $HEADER >"$tmp/trace"
	refuses "CSV: no newline at the end" "$tmp/trace:2: cut short: the last line does not end" \
		"$DUMP" "$tmp/trace"
	printf '%s\n' "q-74 [001] 5.1: $WAKEUP" "q-74 [001] 5.2: kvm_vc" | head -c -1 >"$tmp/trace"
	refuses "text: cut before the event's name" "$tmp/trace:2: cut short: the last line" \
		"$DUMP" "$tmp/trace"

	rejects "CSV: a halt of 2^61 ns" ":2: 2305843009213693952 ns is no time" \
		$HEADER 7,1,2305843009213693952,1,1
	rejects "CSV: a halt of 2^63 ns" ":2: 9223372036854775808 ns is no time" \
		$HEADER 7,1,9223372036854775808,1,1
	rejects "CSV: a halt of 2^64 ns" ":3: '7,1,18446744073709551616" \
		$HEADER 7,1,1,1,1 7,1,18446744073709551616,1,1
	rejects "CSV: a pid of 2^31" ":2: 2147483648 is no number of a vCPU" $HEADER 2147483648,1,1,1,1
	rejects "CSV: a negative number" ":2: '7,1,-1,1,1'" $HEADER 7,1,-1,1,1
	rejects "CSV: waited 2" ":2: '7,1,1,2,1'" $HEADER 7,1,1,2,1
	rejects "CSV: four columns" ":2: '7,1,1,1'" $HEADER 7,1,1,1
	rejects "CSV: six columns" ":2: '7,1,1,1,1,1'" $HEADER 7,1,1,1,1,1
	rejects "CSV: an empty column" ":2: '7,,1,1,1'" $HEADER 7,,1,1,1
	rejects "CSV: blanks" ":2: '7, 1,1,1,1'" $HEADER "7, 1,1,1,1"
	rejects "CSV: no heading" ":1: no heading '$HEADER' above the first row" 7,1,1,1,1
	rejects "CSV: other columns" ":1: 'vcpu,time'" vcpu,time 7,1
	rejects "CSV: no halts" ": no event kvm_vcpu_wakeup in it, read as CSV" $HEADER
	rejects "CSV: time runs backwards on one vCPU" \
		":4: time runs backwards on vCPU 7: 4 ns after 5 ns" \
		$HEADER 7,5,1,1,1 8,6,1,1,1 7,4,1,1,1
	rejects "CSV: a halt that starts before the last one ended" ":3: time runs backwards on \
vCPU 7: a halt of 2102 ns, but the one before ended 1000 ns ago" \
		$HEADER 7,1000000,5000,1,1 7,1001000,2102,1,1
	reads "CSV: clocks that differ a little" "1 vCPUs" \
		$HEADER 7,1000000,5000,1,1 7,1001000,2000,1,1
	reads "CSV: vCPUs' times are their own" "2 vCPUs" $HEADER 7,5,1,1,1 8,4,1,1,1 7,5,1,1,1
}

test_own()
{
	# shellcheck disable=SC2054 # lines with commas in them
	local -a recorded=("# kvm_halt_poll 1" "#kernel,6.12.1" "#params,200000,2,10000,0" "$HEADER"
		"#vcpu,74,70,CPU 0/KVM, really" 74,5,100,1,1 "#interval,74,3,6,0,10000" 74,7,90,0,1
		"#lost,12")

	reads "own" '^kvm_halt_poll record, kernel 6.12.1, 200000 2 10000 0, 1 vCPUs, 12 lost$' \
		"${recorded[@]}" "#end,2"
	reads "own: a halt" '^halt 74/70/-1 "CPU 0/KVM, real" 5 100 wait valid$' \
		"${recorded[@]}" "#end,2"
	reads "own: an interval" '^change 74/70/3 "CPU 0/KVM, real" 6 0 10000 after 1$' \
		"${recorded[@]}" "#end,2"
	reads "own: an unknown process" '^halt 74/-1/-1 "" 5 ' \
		"# kvm_halt_poll 1" $HEADER "#vcpu,74,," 74,5,100,1,1 "#end,1"
	reads "own: two of one kernel" '2 vCPUs, 24 lost' "${recorded[@]}" "#end,2" \
		"${recorded[@]//74/75}" "#end,2"

	test_own_skips
	rejects "own: cut short" ":9: cut short" "${recorded[@]}"
	rejects "own: cut short, and another behind" ":10: what was recorded before is cut short" \
		"${recorded[@]}" "# kvm_halt_poll 1"
	rejects "own: halts are missing" ":10: 2 halts, but 3 were written" "${recorded[@]}" "#end,3"
	rejects "own: of another version" ":1: '# kvm_halt_poll 2' is not the version" \
		"# kvm_halt_poll 2"
	rejects "own: several kernels" ":12: events of several kernels mixed: 6.12.2 after 6.12.1" \
		"${recorded[@]}" "#end,2" "# kvm_halt_poll 1" "#kernel,6.12.2"
	rejects "own: several parameters" \
		":12: parameters of several recordings mixed: 200000,2,10000,2 after 200000,2,10000,0" \
		"${recorded[@]}" "#end,2" "# kvm_halt_poll 1" "#params,200000,2,10000,2"
	rejects "own: an interval of 2^32" ":3: 4294967296 ns is no interval" \
		"# kvm_halt_poll 1" $HEADER "#interval,1,1,1,0,4294967296"
	rejects "own: parameters" ":2: '#params,1,2,3' is no row" "# kvm_halt_poll 1" "#params,1,2,3"
	rejects "own: a vCPU" ":2: '#vcpu,1,x,y' is no row" "# kvm_halt_poll 1" "#vcpu,1,x,y"
	rejects "own: losses" ":2: '#lost,' is no row" "# kvm_halt_poll 1" "#lost,"
}

# last_words <word>...: what was read last ends each of its halts so, in order.
last_words()
{
	local words

	words=$(sed -n 's/^halt .* //p' "$tmp/first" | paste -sd ' ')
	verdict "which of them: $*" "$([[ $words == "$*" ]] || echo "'$words', not '$*'")"
}

test_own_skips()
{
	reads "own: a skipped poll" '^halt 74/-1/3 "" 5 100 wait valid skipped$' \
		"# kvm_halt_poll 1" $HEADER "#skip,74,3" 74,5,100,1,1 "#end,1"
	reads "own: the poll of one halt" ' 2 vCPUs, 0 lost$' "# kvm_halt_poll 1" $HEADER \
		"#skip,74,3" 75,5,100,1,1 74,6,100,1,1 74,7,1,1,1 "#end,3"
	last_words valid skipped valid
	reads "own: a change between the skip and its halt" ' 1 vCPUs, 0 lost$' \
		"# kvm_halt_poll 1" $HEADER "#skip,74,3" "#interval,74,3,6,0,10000" 74,6,1,1,1 "#end,1"
	last_words skipped
	reads "own: a skip before lost events" ' 1 vCPUs, 5 lost$' "# kvm_halt_poll 1" $HEADER \
		"#skip,74,3" "#lost,5" 74,6,1,1,1 "#skip,74,3" 74,7,1,1,1 "#end,2"
	last_words valid skipped
	reads "own: a skip without a halt" ' 1 vCPUs, 0 lost$' "# kvm_halt_poll 1" $HEADER \
		74,6,1,1,1 "#skip,74,3" "#end,1"
	last_words valid
	reads "CSV: a skipped poll" '^halt 7/-1/0 "" 5 1 wait valid skipped$' $HEADER "#skip,7,0" 7,5,1,1,1
	reads "own: a skip of who never halts" ' 2 vCPUs, 0 lost$' $HEADER "#skip,8,0" 7,5,1,1,1

	rejects "own: a skip of no number" ":3: '#skip,74' is no row" \
		"# kvm_halt_poll 1" $HEADER "#skip,74"
	rejects "own: a skip with more" ":3: '#skip,74,3,1' is no row" \
		"# kvm_halt_poll 1" $HEADER "#skip,74,3,1"
	rejects "own: a skip of a negative number" ":3: '#skip,74,-1' is no row" \
		"# kvm_halt_poll 1" $HEADER "#skip,74,-1"
	rejects "own: a skip of the number 2^31" ":3: '#skip,74,2147483648' is no row" \
		"# kvm_halt_poll 1" $HEADER "#skip,74,2147483648"
	rejects "own: a skip of a pid of 2^31" ":3: 2147483648 is no number of a vCPU" \
		"# kvm_halt_poll 1" $HEADER "#skip,2147483648,0"
	rejects "own: nothing but a skip" ": no event kvm_vcpu_wakeup in it" $HEADER "#skip,8,0"
}

test_text_skips()
{
	local skip="kvm_halt_poll_skip: vcpu 3: poll of 200000 ns skipped"

	reads "tracefs: a skipped poll" '^halt 74/-1/3 "qemu" 5200000000 100 wait valid skipped$' \
		"qemu-74 [001] 5.1: $skip" "qemu-74 [001] 5.2: $WAKEUP"
	reads "trace-cmd report: a skipped poll" '^halt 74/-1/3 "CPU 0/KVM" 5200000000 100 .* skipped$' \
		"  CPU 0/KVM-74    [001]     5.100000000: kvm_halt_poll_skip:   vcpu 3: poll of 1 ns skipped" \
		"  CPU 0/KVM-74    [001]     5.200000000: kvm_vcpu_wakeup:      wait time 100 ns, polling valid"
	reads "perf script: a skipped poll" '^halt 74/70/3 "CPU 0/KVM" 5200000000 100 .* skipped$' \
		" CPU 0/KVM    70/74     5.1:    kvm:$skip" " CPU 0/KVM    70/74     5.2:    kvm:$WAKEUP"
	reads "text: the poll of one halt" ' 2 vCPUs, 0 lost$' "a-74 [001] 5.1: $skip" \
		"b-75 [000] 5.2: $WAKEUP" "a-74 [001] 5.3: $WAKEUP" "a-74 [001] 5.4: $WAKEUP"
	last_words valid skipped valid
	reads "text: a skip before lost events" ' 1 vCPUs, 12 lost$' "a-74 [001] 5.1: $skip" \
		"CPU:1 [LOST 12 EVENTS]" "a-74 [001] 5.2: $WAKEUP"
	last_words valid

	rejects "text: a skip that is cut short" ":1: not as the kernel prints it, or cut short" \
		"q-74 [001] 5.1: ${skip%ped}"
	rejects "text: a skip with more" ":1: not as the kernel prints it" "q-74 [001] 5.1: $skip ns"
	rejects "text: a skip of the number 2^31" ":1: not as the kernel prints it" \
		"q-74 [001] 5.1: ${skip/3/2147483648}"
	rejects "text: a skip without a thread" ":1: no thread and time in seconds" "5.1: $skip"
	rejects "text: a skip before the last event" ":2: time runs backwards on vCPU 74" \
		"q-74 [001] 5.2: $WAKEUP" "q-74 [001] 5.1: $skip"
}

# What each tool prints of the same event.
test_text()
{
	local line

	reads "tracefs" '^halt 74/-1/-1 "CPU 0/KVM" 5123456000 100 wait valid$' \
		"       CPU 0/KVM-74      [001] d..1.     5.123456: $WAKEUP"
	reads "tracefs: no flags" '^halt 74/-1/-1 "qemu" 5123456000 ' "qemu-74 [001] 5.123456: $WAKEUP"
	reads "tracefs: with the process" '^halt 74/70/-1 "CPU 0/KVM" ' \
		"       CPU 0/KVM-74      (     70) [001] d..1.     5.123456: $WAKEUP"
	reads "tracefs: with an unknown process" '^halt 74/-1/-1 "CPU 0/KVM" ' \
		"       CPU 0/KVM-74      (-------) [001] d..1.     5.123456: $WAKEUP"
	reads "tracefs: an unknown name" '^halt 74/-1/-1 "" ' "  <...>-74  [001] d..1.  5.123456: $WAKEUP"
	reads "trace-cmd report" '^halt 74/-1/-1 "CPU 0/KVM" 5123456789 90 poll invalid$' cpus=2 \
		"       CPU 0/KVM-74    [001]     5.123456789: kvm_vcpu_wakeup:      poll time 90 ns, polling invalid"
	reads "perf script" '^halt 74/-1/-1 "CPU 0/KVM" 5123456000 ' \
		" CPU 0/KVM    74 [001]     5.123456: kvm:$WAKEUP"
	reads "perf script: no CPU" '^halt 74/-1/-1 "a[[]1]" 5123456000 ' "a[1] 74 5.123456: kvm:$WAKEUP"
	reads "perf script: with the process" '^halt 74/70/-1 "CPU 0/KVM" ' \
		" CPU 0/KVM    70/74     5.123456:    kvm:$WAKEUP"
	reads "perf script: the kernel" '^text, kernel 6.12.1,' "# os release : 6.12.1" \
		"qemu 74 5.123456: kvm:$WAKEUP"
	for line in "a-b-74 [001] 5.1: $WAKEUP" "a b-74 [001] 5.100000: $WAKEUP" \
		"kvm_vcpu_wakeup:-74 [001] 5.100000000: $WAKEUP" "5.3: x-74 [001] 5.1: $WAKEUP"; do
		reads "a name with anything in it: $line" '^halt 74/-1/-1 ".*" 5100000000 100 wait valid$' \
			"$line"
	done
	reads "a changed interval" '^change 74/-1/3 "qemu" 5100000000 10000 20000 after 1$' \
		"qemu-74 [001] 5.1: $WAKEUP" \
		"qemu-74 [001] 5.1: kvm_halt_poll_ns: vcpu 3: halt_poll_ns 20000 (grow 10000)"
	reads "other events" '^text, .* 1 vCPUs, 0 lost$' "# tracer: nop" "" \
		"qemu-75 [001] 5.0: sched_waking: comm=x pid=1" "qemu-74 [001] 5.1: $WAKEUP"

	reads "tracefs: lost events" ' 12 lost$' "CPU:1 [LOST 12 EVENTS]" "q-74 [001] 5.1: $WAKEUP"
	reads "tracefs: lost events, not known how many" ' 1 lost$' "CPU:1 [LOST EVENTS]" \
		"q-74 [001] 5.1: $WAKEUP"
	reads "tracefs: overwritten events" ' 7 lost$' "# entries-in-buffer/entries-written: 1/8   #P:2" \
		"q-74 [001] 5.1: $WAKEUP"
	reads "trace-cmd report: lost events" ' 12 lost$' "CPU:1 [12 EVENTS DROPPED]" \
		"q-74 [001] 5.1: $WAKEUP"
	reads "perf script: lost events" ' 12 lost$' "q 74 5.0: PERF_RECORD_LOST lost 12" \
		"q 74 5.1: kvm:$WAKEUP"
}

test_wrong_text()
{
	rejects "text: time runs backwards" ":2: time runs backwards on vCPU 74" \
		"q-74 [001] 5.2: $WAKEUP" "q-74 [001] 5.1: $WAKEUP"
	rejects "text: a clock that does not count seconds" ":1: no thread and time in seconds" \
		"q-74 [001] 51: $WAKEUP"
	rejects "text: ten decimals" ":1: no thread and time" "q-74 [001] 5.1234567890: $WAKEUP"
	rejects "text: more than 2^64 ns" ":1: no thread and time" "q-74 [001] 18446744074.0: $WAKEUP"
	rejects "text: no thread" ":1: no thread and time" "[001] 5.1: $WAKEUP"
	rejects "text: nothing before it" ":1: no thread and time" "$WAKEUP"
	rejects "text: a halt of 2^63 ns" ":1: 9223372036854775808 ns is no time" \
		"q-74 [001] 5.1: ${WAKEUP/100/9223372036854775808}"
	rejects "text: a negative time" ":1: not as the kernel prints it" \
		"q-74 [001] 5.1: ${WAKEUP/100/-1}"
	rejects "text: cut short" ":1: not as the kernel prints it, or cut short" \
		"q-74 [001] 5.1: ${WAKEUP%alid}"
	rejects "text: an interval of 2^32" ":1: 4294967296 ns is no interval" \
		"q-74 [001] 5.1: kvm_halt_poll_ns: vcpu 3: halt_poll_ns 4294967296 (grow 10000)"
	rejects "text: several kernels" ":2: events of several kernels mixed: 6.2 after 6.1" \
		"# os release : 6.1" "# os release : 6.2"
	rejects "text: no such event" ": no event kvm_vcpu_wakeup in it, read as text" "# tracer: nop" \
		"q-74 [001] 5.1: sched_waking: comm=x"
	rejects "text of another sort" ": no event kvm_vcpu_wakeup" "Dear diary,"
}

test_no_trace()
{
	: >"$tmp/trace"
	refuses "empty" "$tmp/trace: empty" "$DUMP" "$tmp/trace"
	refuses "no input" "standard input: empty" "$DUMP" </dev/null
	refuses "no such file" "none: cannot be read: No such file" "$DUMP" "$tmp/none"
	refuses "a directory" "$tmp: cannot be read: Is a directory" "$DUMP" "$tmp"
	head -c 100000 /dev/zero >"$tmp/trace"
	refuses "zeros" "not a trace: binary data at offset 0" "$DUMP" "$tmp/trace"
	printf 'text \001' >"$tmp/trace"
	refuses "a control character" "not a trace: binary data at offset 5" "$DUMP" "$tmp/trace"
	head -c 300000 /dev/zero | tr '\0' x >"$tmp/trace"
	refuses "a line without end" "trace:1: not a trace: the line has no end" "$DUMP" "$tmp/trace"
	printf 'PERFILE2\001' >"$tmp/trace"
	refuses "perf.data" "is perf.data: give what 'perf script' makes of it" "$DUMP" "$tmp/trace"
	printf '\027\010Dtracing' >"$tmp/trace"
	refuses "trace.dat: its first bytes" "damaged or cut short" "$DUMP" "$tmp/trace"
}

# Each has two halts; twice as many rows as vCPUs, in a different order.
test_many_vcpus()
{
	awk -v header=$HEADER 'BEGIN {
		print header
		for (i = 0; i < 1000000; i++) print i ",1,2,1,1"
		for (i = 0; i < 1000000; i++) print i * 7 % 1000000 ",2,3,0,1"
	}' >"$tmp/trace"
	check "a million vCPUs" 0 "1000000 vCPUs" "" "$DUMP" "$tmp/trace"
	verdict "a million vCPUs: their halts" \
		"$([[ $(grep -c '^halt' "$tmp/stdout") == 2000000 ]] || echo "not two million")"
}

# events <file>: without what is said of the whole, which differs by kind.
events()
{
	"$DUMP" "$1" 2>&1 | sed '$d'
}

# A file that is cut must be told of, unless all events are there: trace.dat may
# end with names that nobody needs.
test_damaged()
{
	local file=$1 at size what

	size=$(stat -c %s "$file")
	for at in 20 1000 $((size / 4)) $((size / 2)) $((size - 4000)) $((size - 1)); do
		what="${file##*/}: cut at $at of $size"
		head -c "$at" "$file" >"$tmp/trace"
		if "$DUMP" "$tmp/trace" >"$tmp/second" 2>/dev/null; then
			"$DUMP" "$file" >"$tmp/first"
			same "$what" "$tmp/first" "$tmp/second"
		else
			refuses "$what" "(damaged|cut short|kvm_vcpu_wakeup)" "$DUMP" "$tmp/trace"
		fi
	done
}

# test_skipped <file> <so many halts whose polls were skipped>
test_skipped()
{
	local got

	got=$("$DUMP" "$HERE/$1" | grep -c ' skipped$')
	verdict "$1: skipped polls" "$([[ $got == "$2" && $2 != 0 ]] || echo "$got, not $2")"
}

# What was recorded by whom is in RECORDED.
test_recorded()
{
	local name

	for name in small.{csv,dat,v6.dat,report.txt,trace.txt,perf.txt} skips.{csv,dat,report.txt,trace.txt}; do
		check "$name" 0 " 1 vCPUs, 0 lost" "" "$DUMP" "$HERE/$name"
		check "$name: the halts of the test" 0 '^halt [0-9]*/(-1|[0-9]*)/0 "halt_poll_laten" ' "" \
			"$DUMP" "$HERE/$name"
	done
	events "$HERE/small.dat" >"$tmp/first"
	for name in small.v6.dat small.report.txt; do
		events "$HERE/$name" >"$tmp/second"
		same "$name: as small.dat" "$tmp/first" "$tmp/second"
	done
	events "$HERE/skips.dat" >"$tmp/first"
	events "$HERE/skips.report.txt" >"$tmp/second"
	same "skips.report.txt: as skips.dat" "$tmp/first" "$tmp/second"
	for name in skips.{csv,report.txt,trace.txt}; do
		# Of the lines that tell of one, each has its halt.
		test_skipped "$name" "$(grep -cE '^#skip|kvm_halt_poll_skip:' "$HERE/$name")"
	done
	events "$HERE/small.dat" >"$tmp/first"
	events - <"$HERE/small.dat" >"$tmp/second"
	same "small.dat: from standard input" "$tmp/first" "$tmp/second"
	# shellcheck disable=SC2002 # a pipe it must be
	cat "$HERE/small.dat" | events - >"$tmp/second"
	same "small.dat: from a pipe" "$tmp/first" "$tmp/second"
	# shellcheck disable=SC2016 # the inner shell's
	refuses "small.dat: from a pipe, and nowhere to put it" "no temporary file in $tmp/none" \
		env TMPDIR="$tmp/none" bash -c 'cat "$1" | "$2"' - "$HERE/small.dat" "$DUMP"
	test_damaged "$HERE/small.dat"
	test_damaged "$HERE/small.v6.dat"
}

main()
{
	echo "TAP version 13"
	test_csv
	test_own
	test_text
	test_text_skips
	test_wrong_text
	test_no_trace
	test_many_vcpus
	test_recorded
	done_testing
}

main "$@"
