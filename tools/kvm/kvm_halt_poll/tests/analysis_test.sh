#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what report, replay, verify and tune make of a trace, with values worked
# out by hand.
# shellcheck disable=SC2016 # the inner shell's

set -euo pipefail
# shellcheck source=tools/kvm/kvm_halt_poll/tests/engine.sh
. "$(dirname "${BASH_SOURCE[0]}")/engine.sh"

HEADER=vcpu,time_ns,halt_ns,waited,valid
PARAMS=200000,2,10000,2

# trace <params> <line>...: a recording, left in $tmp/trace.  "+" starts a halt
# that comes 1 ms after the last: +halt_ns,waited[,valid], ">" a change of the
# interval just before the wakeup: >old,new, and "~" has the next halt's poll skipped.
trace()
{
	local params=$1
	shift

	{
		printf '# kvm_halt_poll 1\n#kernel,6.12.1\n#params,%s\n%s\n#vcpu,7,5,CPU 0/KVM\n' \
			"$params" $HEADER
		printf '%s\n' "$@" | awk -F '[+>,]' '
		BEGIN { now = 1000000000 }
		/^[+]/ {
			now += $2 + 1000000
			printf "%s7,%.0f,%s,%s,%s\n", changes, now, $2, $3, $4 == "" ? 1 : $4
			halts++
			changes = ""
			next
		}
		/^~/ {
			changes = changes "#skip,7,0\n"
			next
		}
		/^>/ {
			# The time of the halt that follows is not known yet: early ones are of now.
			pending = pending $0
			changes = changes sprintf("#interval,7,0,@,%s,%s\n", $2, $3)
			next
		}
		{ print }
		END { print "#end," halts + 0 }' | awk -F , '
		# What comes before a halt has its time, less 100 ns.
		/^#interval,7,0,@/ { held[++n] = $0; next }
		{
			for (i = 1; i <= n; i++) {
				sub("@", sprintf("%.0f", $2 - 100), held[i])
				print held[i]
			}
			n = 0
			print
		}'
	} >"$tmp/trace"
}

# verifies <what> <status> <wanted> <forbidden> <params> <line>...
verifies()
{
	local what=$1 status=$2 wanted=$3 forbidden=$4
	shift 4

	trace "$@"
	check "verify: $what" "$status" "$wanted" "$forbidden" "$TOOL" verify "$tmp/trace"
}

# repeat <n> <line>...: one a line
repeat()
{
	local i n=$1
	shift

	for ((i = 0; i < n; i++)); do
		printf '%s\n' "$@"
	done
}

test_verify_skips()
{
	local skipped="  not adapted: the poll was skipped for want of budget$"

	verifies "a poll that was skipped" 0 "^ +2$skipped" "[1-9]  not adapted: the poll was cut" \
		$PARAMS '>10000,20000' +60000,1 '~' +60000,1 '~' +15000,1
	verifies "no poll that was skipped" 0 "" "skipped" $PARAMS '>10000,20000' +60000,1
	verifies "a poll that was skipped: the next halt adapts" 0 "^ +2  as the rule says$" "" \
		$PARAMS '>10000,20000' +60000,1 '~' +60000,1 '>20000,40000' +60000,1
	verifies "skipped before the interval is known" 0 "^ +1$skipped" "[1-9]  not verified" \
		$PARAMS '~' +60000,1
	verifies "skipped, and adapted all the same" 3 "^unexplained: vCPU 7 at 1002120000 ns: \
interval 20000, halt of 60000 ns, blocked, poll skipped: the rule says 20000, the event goes from \
20000 to 40000$" "" $PARAMS '>10000,20000' +60000,1 '~' '>20000,40000' +60000,1
	verifies "skipped, after the maximum was lowered" 0 "^ +1$skipped" "[1-9]  UNEXPLAINED" \
		15000,2,10000,2 "#interval,7,0,1000000000,20000,15000" '~' +60000,1
	verifies "skipped, lowered to what is no maximum" 3 "the rule says 20000, the event" "" \
		$PARAMS "#interval,7,0,1000000000,20000,15000" '~' +60000,1
	verifies "skipped, where there was none to skip" 3 "^unexplained: .*, poll skipped: the rule says 0, \
there is no event$" "" $PARAMS '>10000,0' +300000,1 '~' +60000,1
	# A new vCPU has no poll to skip: what comes before is the old one's.
	verifies "skipped, before a new vCPU on the same thread" 0 "^ +1  not adapted: the poll was cut" \
		"[1-9]  UNEXPLAINED" \
		$PARAMS '>10000,20000' +60000,1 +60000,1 '~' +60000,1 '>0,10000' +60000,1
	# Of three halts within the interval one polled.
	trace $PARAMS '>40000,80000' +60000,1 '~' +60000,1 '~' +60000,1 +60000,0
	check "verify: JSON: skipped polls" 0 '^  "skipped": 2,$' "" "$TOOL" verify --json "$tmp/trace"
	check "verify: JSON: skipped polls are no polls" 0 '^  "polls_within_interval": 1,$' "" \
		"$TOOL" verify --json "$tmp/trace"
	trace $PARAMS '>40000,80000' +60000,1
	check "verify: JSON: no skipped polls" 0 '"cut_short"' "skipped" "$TOOL" verify --json "$tmp/trace"
}

test_verify()
{
	local ok='^ +0  UNEXPLAINED$' bad='^ +1  UNEXPLAINED$'

	verifies "growth and shrinking" 0 "^ +3  as the rule says$" "F[1-5]" $PARAMS \
		'>0,10000' +60000,1 '>10000,20000' +60000,1 '>20000,10000' +1000000,1
	verifies "growth and shrinking are explained" 0 "$ok" "" $PARAMS \
		'>0,10000' +60000,1 '>10000,20000' +60000,1 '>20000,10000' +1000000,1
	verifies "the interval before the first change" 0 "^ +3  as the rule says$" "" $PARAMS \
		+30000,0 +30000,0 '>40000,20000' +300000,1
	verifies "no change at all" 0 "^ +2  not verified: interval not known yet$" "" $PARAMS \
		+30000,0 +30000,0
	verifies "a poll that was cut short" 0 "^ +1  not adapted: the poll was cut short$" "" \
		$PARAMS '>10000,20000' +60000,1 +60000,1
	verifies "a poll cut short, without a wait" 0 "^ +1  not adapted: the poll" "" \
		$PARAMS '>10000,20000' +60000,1 +21000,0

	verifies "F1" 0 "^ +1  F1: " "" 200000,429497,10000,2 '>10000,10000' +60000,1
	verifies "F1: stuck far up" 0 "^ +1  F1: " "" 4294967295,2,10000,2 \
		'>2621440000,947912704' +3000000000,1
	verifies "F2" 0 "^ +1  F2: " "F5" $PARAMS \
		'>160000,320000' +190000,1 '>200000,100000' +300000,1
	verifies "F3" 0 "^ +1  F3: " "" $PARAMS '>25000,50000' +60000,1 +200000,1
	verifies "F3, from 0" 0 "^ +1  F3: " "" $PARAMS '>10000,0' +300000,1 +200000,1
	verifies "F5: no growth" 0 "^ +1  F5: an event without a change$" "" 200000,0,10000,2 \
		'>0,0' +60000,1
	verifies "F5: an invalid wakeup" 0 "^ +1  F5: an event without a change$" "" $PARAMS \
		'>0,0' +60000,1,0
	verifies "F5: silently lowered" 0 "^ +1  F5: a change without an event$" "" $PARAMS \
		'>20000,40000' +60000,1 '>10000,20000' +60000,1
	verifies "a new vCPU on the same thread" 0 "^ +5  as the rule says$" "F5" $PARAMS \
		'>10000,20000' +60000,1 +260000,1 +250000,1 '>0,10000' +60000,1 '>10000,20000' +60000,1
	verifies "a new vCPU on the same thread, counted" 0 "^ +1  times the interval started from 0" \
		"F5|[1-9]  not adapted" $PARAMS '>10000,20000' +60000,1 +260000,1 '>0,10000' +60000,1
	verifies "a new vCPU: its first halt grows" 0 "^ +2  as the rule says$" "F5" $PARAMS \
		'>10000,20000' +60000,1 '>0,10000' +60000,1
	verifies "F4: in each round one of two polls was cut short, and all others adapted" 0 \
		"^F4: .* 11 of 22 polls blocked before" "" $PARAMS \
		"$(repeat 11 '>40000,20000' +300000,1 '>20000,40000' +30000,1 +30000,1 +30000,0)"
	verifies "F4: too little of it" 0 "$ok" "^F4" $PARAMS \
		"$(repeat 9 '>40000,20000' +300000,1 '>20000,40000' +30000,1 +30000,1 +30000,0)"
	verifies "F4: not where some did not adapt" 0 "$ok" "^F4" $PARAMS \
		"$(repeat 11 '>40000,20000' +300000,1 '>20000,40000' +30000,1 +30000,1 +30000,0 +60000,1)"

	verifies "polling not allowed" 0 "^ +3  reset to 0 and kept there" "" $PARAMS \
		'>20000,40000' +60000,1 "#interval,7,0,1001060000,40000,0" +60000,1 +60000,1 +70000,1
	verifies "polling allowed again" 3 "$bad" "" $PARAMS \
		'>20000,40000' +60000,1 "#interval,7,0,1001060000,40000,0" +60000,1 \
		'>0,10000' +60000,1 '>10000,0' +300000,1 +60000,1

	verifies "a wrong interval" 3 "^unexplained: vCPU 7 at 1001060000 ns: interval 10000, halt of \
60000 ns, blocked: the rule says 20000, the event goes from 10000 to 30000$" "" $PARAMS \
		'>10000,30000' +60000,1
	verifies "goes on from what was recorded" 3 "$bad" "" $PARAMS \
		'>10000,30000' +60000,1 '>30000,60000' +70000,1
	verifies "a change where there is none" 3 "$bad" "" $PARAMS '>40000,80000' +30000,0
	verifies "no growth from 0" 3 "the rule says 10000, there is no event$" "" $PARAMS \
		'>10000,0' +300000,1 +60000,1
	verifies "silently raised" 3 "from 40000 to 80000, but the interval was 20000" "" $PARAMS \
		'>10000,20000' +60000,1 '>40000,80000' +90000,1
	verifies "two changes at one halt" 3 "there are 2 events, the last from 20000 to 40000" "" \
		$PARAMS '>10000,20000' '>20000,40000' +60000,1
	verifies "only some are shown" 3 "^unexplained: 40 more$" "" $PARAMS \
		"$(repeat 25 '>10000,30000' +60000,1 '>30000,10000' +300000,1)"

	test_verify_skips

	verifies "after a loss nothing is known" 0 "^ +2  not verified: events were lost$" "" $PARAMS \
		'>0,10000' +60000,1 "#lost,5" +60000,1 +60000,1 '>40000,80000' +60000,1
	verifies "after a loss, from the next change" 0 "^ +2  as the rule says$" "" $PARAMS \
		'>0,10000' +60000,1 "#lost,5" +60000,1 +60000,1 '>40000,80000' +60000,1

	trace $PARAMS '>0,20000' +60000,1
	check "verify: other parameters" 0 "^ +1  as the rule says$" "" \
		"$TOOL" verify --grow-start 20000 "$tmp/trace"
	check "verify: JSON" 3 '^  "unexplained": 1,$' "^unexplained" "$TOOL" verify --json "$tmp/trace"
	printf '%s\n' $HEADER 7,100,50,1,1 >"$tmp/csv"
	refuses "verify: no parameters" "does not tell the parameters" "$TOOL" verify "$tmp/csv"
	check "verify: parameters given" 0 "^ +1  not verified: interval not known yet" "" \
		"$TOOL" verify --max 1 --grow 1 --grow-start=1 --shrink 1 "$tmp/csv"
}

# Events every 60 us, blocking costs 2.5 us; with these parameters 4 miss, 6 hit.
# shellcheck disable=SC2054 # halts with commas in them
CONSTANT=('>0,10000' +62500,1 '>10000,20000' +62500,1 '>20000,40000' +62500,1 '>40000,80000'
	+62500,1 +60000,0 +60000,0 +60000,0 +60000,0 +60000,0 +60000,0)

# replays <what> <wanted> <option>...: $tmp/trace
replays()
{
	local what=$1 wanted=$2
	shift 2

	check "replay: $what" 0 "$wanted" "" "$TOOL" replay "$@" "$tmp/trace"
}

# What was recorded of a Linux guest, and what becomes of it with shrink 0: halts, hits,
# ns polled, ns in vain, then the last three replayed with a cost of blocking of 5 us.
# All of them were also counted by another program, written for that alone.
GUEST=(
	"guest-bursts.csv 127 90 4756064 1500000 61 3785300 1420000"
	"guest-rr.csv 214 198 3783959 376515 200 3674278 200000"
	"guest-timer.csv 216 198 25818347 500210 202 25874840 230000"
)

# accounts <what> <hits> <ns polled> <ns in vain>: the first of the JSON on stdin.
accounts()
{
	local what=$1 got
	shift

	got=$(awk -F'[:,] *' '/"(hits|polled_ns|polled_in_vain_ns)"/ && n++ < 3 { print $2 }' | xargs)
	verdict "$what" "$([[ $got == "$*" ]] || echo "$got, not $*")"
}

test_guest()
{
	local row f

	for row in "${GUEST[@]}"; do
		read -ra f <<<"$row"
		check "verify: ${f[0]}" 0 "^ +0  UNEXPLAINED$" "^ +[1-9][0-9]*  (F|not verified)" \
			"$TOOL" verify "$HERE/${f[0]}"
		check "report: ${f[0]}: halts" 0 "^  \"halts\": ${f[1]},$" "" \
			"$TOOL" report --json "$HERE/${f[0]}"
		accounts "report: ${f[0]}: hits, ns polled, in vain" "${f[@]:2:3}" <"$tmp/stdout"
		check "replay: ${f[0]}: shrink 0" 0 '"replayed"' "" \
			"$TOOL" replay --json --wake-cost 5000 --shrink 0 "$HERE/${f[0]}"
		accounts "replay: ${f[0]}: hits, ns polled, in vain" "${f[@]:5:3}" \
			< <(sed -n '/"replayed"/,$p' "$tmp/stdout")
	done
}

# Their thread ran a new VM for each period.
test_recorded()
{
	local name

	for name in small.csv small.dat small.v6.dat small.report.txt small.trace.txt; do
		check "verify: $name" 0 "^ +[1-9]  times the interval started from 0" "F[1-5]" \
			"$TOOL" verify --max 200000 --grow 2 --grow-start 10000 --shrink 2 "$HERE/$name"
	done
	for name in skips.{csv,dat,report.txt,trace.txt}; do
		check "verify: $name" 0 "^ +[1-9][0-9]*  not adapted: the poll was skipped" \
			"^ +[1-9][0-9]*  UNEXPLAINED" \
			"$TOOL" verify --max 200000 --grow 2 --grow-start 10000 --shrink 2 "$HERE/$name"
	done
}

# 10 us are polled for in vain, and 20 us in the replay that does not skip the other.
test_replay_skips()
{
	local command

	trace $PARAMS '>10000,20000' +62500,1 '~' +62500,1
	replays "skipped polls: CPU" "^CPU burned polling +10.0 us +30.0 us$" --wake-cost 2500
	replays "skipped polls: no budget is replayed" "^no budget is replayed: no poll is skipped$"
	for command in report replay tune; do
		check "$command: skipped polls are told of" 0 \
			"^1 polls were skipped for want of budget: " "cut short, it" "$TOOL" $command "$tmp/trace"
	done
	check "tune: skipped polls: no budget is replayed" 0 "^no budget is replayed: " "" \
		"$TOOL" tune "$tmp/trace"
	for command in report replay; do
		check "$command: JSON: skipped polls" 0 '"polls_skipped": 1' "" \
			"$TOOL" $command --json "$tmp/trace"
	done
	replays "skipped polls: with a budget" "^polls skipped +1 +0$" --budget 100
	check "replay: skipped polls: no need to say that there is no budget" 0 "^halt_poll_budget" \
		"no budget" "$TOOL" replay --budget 100 "$tmp/trace"
	trace $PARAMS "${CONSTANT[@]}"
	for command in report replay tune "report --json" "replay --json"; do
		# shellcheck disable=SC2086 # with options
		check "$command: no skipped polls" 0 "halts" "skipped|budget" "$TOOL" $command "$tmp/trace"
	done
}

# 1 % of the 1.06 ms from halt to halt is 10.6 us.  The first halt grows the interval to
# its 65 us, the second's poll takes 60 us of the 65 that there are, and the sixth after
# it finds 65 again.
test_replay_budget()
{
	local fixed="--wake-cost 2500 --max 65000 --grow-start 65000"

	trace $PARAMS "${CONSTANT[@]}"
	# shellcheck disable=SC2086 # several options
	{
		replays "a budget: skipped" "^polls skipped +0 +7$" $fixed --budget 1
		replays "a budget: hits" "^without blocking +6 +2$" $fixed --budget 1
		replays "a budget: CPU" "^CPU burned polling +430.0 us +120.0 us$" $fixed --budget 1
		replays "a budget is shown" "^halt_poll_budget +unknown +1$" $fixed --budget 1
		replays "a budget of nothing" "^CPU burned polling +430.0 us +0 ns$" $fixed --budget 0
		replays "a budget without a limit" "^polls skipped +0 +0$" $fixed --budget 100
		replays "a budget: JSON" '"polls_skipped": 7' $fixed --budget 1 --json
		replays "a budget: JSON: how much" '"halt_poll_budget_ratio": 0.01' $fixed --budget 1 --json
	}
}

test_replay()
{
	trace $PARAMS "${CONSTANT[@]}"
	replays "as recorded: hits" "^without blocking +6 +6$" --wake-cost 2500
	replays "as recorded: CPU" "^CPU burned polling +430.0 us +430.0 us$" --wake-cost 2500
	replays "as recorded: in vain" "^  of it in vain +70.0 us +70.0 us$" --wake-cost 2500
	replays "as recorded: latency" "^latency added +10.0 us +10.0 us$" --wake-cost 2500
	replays "polling off" "^CPU burned polling +430.0 us +0 ns$" --wake-cost 2500 --max 0
	replays "maximum too low for a halt that blocks" "^without blocking +6 +0$" \
		--wake-cost 2500 --max 62000
	replays "fixed window" "^CPU burned polling +430.0 us +540.0 us$" \
		--wake-cost 2500 --max 65000 --grow-start 65000
	replays "what is assumed is said" "^cost of blocking: 5000 ns, ASSUMED.*: 4 pairs"
	replays "the model is said" "^model: events come when they came"
	trace $PARAMS '>0,10000' +15000,1 +10700,0
	replays "a poll that just missed: blocks if there is none" "^without blocking +1 +0$" --max 0
	replays "a poll that just missed: hits if it is longer" "^without blocking +1 +1$" \
		--max 20000 --grow-start 20000
	trace $PARAMS "${CONSTANT[@]}"
	replays "JSON: recorded, replayed" '"latency_added_ns": 25000' --json --wake-cost 2500 --max 0
	check "replay: from a pipe" 0 "^without blocking +6 +6$" "" \
		bash -c '"$0" replay <"$1"' "$TOOL" "$tmp/trace"
	check "replay: from a pipe by name" 0 "^without blocking +6 +6$" "" \
		bash -c '"$0" replay <(cat "$1")' "$TOOL" "$tmp/trace"
	mkfifo "$tmp/fifo"
	check "replay: from a FIFO" 0 "^without blocking +6 +6$" "" \
		bash -c 'cat "$1" >"$2" & timeout 10 "$0" replay "$2"' "$TOOL" "$tmp/trace" "$tmp/fifo"
	check "replay: from a pipe, cost given" 0 "^without blocking +6 +6$" "" \
		bash -c '"$0" replay --wake-cost 2500 <"$1"' "$TOOL" "$tmp/trace"

	trace $PARAMS '>10000,80000' +60000,1 +30000,1
	replays "polls that were cut short are told of" "^1 polls were cut short.* for the whole halt"
	test_replay_skips
	test_replay_budget
	trace $PARAMS "${CONSTANT[@]}" '>80000,0' +1000000,1 "${CONSTANT[@]}"
	replays "cost measured" "^cost of blocking: 2500 ns, measured: median of 12 pairs of halts, \+- 0 ns$"

	printf '%s\n' $HEADER 7,1000000,500000,1,1 >"$tmp/trace"
	replays "CSV: halts only" "^1 halts blocked while the interval was not known yet"
	replays "CSV: recorded parameters unknown" "^halt_poll_ns +unknown +200000$"
	replays "CSV: one halt, default parameters" "^without blocking +0 +0$"
}

# reports <what> <wanted> <forbidden> <option>...: $tmp/trace
reports()
{
	local what=$1 wanted=$2 forbidden=$3
	shift 3

	check "report: $what" 0 "$wanted" "$forbidden" "$TOOL" report "$@" "$tmp/trace"
}

test_report()
{
	trace $PARAMS "${CONSTANT[@]}"
	reports "VM" "^VM 5, 1 vCPU: 10 halts" ""
	reports "vCPU" "^  vCPU 7, number 0 of its VM, CPU 0/KVM: 10 halts, " ""
	reports "histogram" "^    65.5 us +6 +4  #{30}-{20}$" ""
	reports "interval" "interval: 0 to 80000 ns, 55000 on average; from 0 and to 0: 1 and 0 times$" ""
	reports "no gap in it" "^    65.5 us" "\\.\\.\\.$"
	reports "too few halts for a pattern" "" "!"
	reports "JSON" '^  "latency_added_ns": 20000,$' "" --json

	trace $PARAMS "$(repeat 150 '>0,10000' +60000,1 '>10000,0' +1000000,1)"
	reports "a gap" "^    \.\.\.$" ""
	reports "0 and start in turn" "! the interval goes from 0 to its start.*grow_start to 65536" \
		"every poll|just (less|more)"
	trace $PARAMS '>80000,160000' +155000,1 "$(repeat 150 +155000,0)"
	reports "just below the maximum" "! halts take just less than the maximum" "just more|0 to its start"
	trace $PARAMS "$(repeat 150 +210000,1)"
	reports "just above the maximum" "! halts take just more than the maximum.*halt_poll_ns to 250000" \
		"just less"
	reports "an interval that never changed" "interval: not known, as it never changed" ""
	trace 200000,2,300000,2 "$(repeat 150 +1000000,1)"
	reports "start above the maximum" "! halt_poll_ns_grow_start is above halt_poll_ns" "just"
	trace $PARAMS '>0,10000' +60000,1 "$(repeat 150 +1000000,1)"
	reports "no pattern" "^cost of blocking" "!|^pattern"
	# 1 ms lies between halts: these take 1.2 ms.
	trace 2000000,2,10000,2 '>1000000,2000000' +1200000,1 "$(repeat 150 +1200000,0)"
	reports "every poll hits" "! every poll hits, yet a core burns.*set halt_poll_ns below 1048576" ""
	trace $PARAMS '>100000,200000' +200000,1 "$(repeat 150 '>200000,100000' +300000,1 \
		'>100000,200000' +150000,1)"
	reports "in vain" "! most of the polling is in vain" "every poll"

	printf '%s\n' $HEADER 7,1000000,500000,1,1 >"$tmp/trace"
	reports "CSV: VM unknown" "^VM unknown, 1 vCPU: " ""
	reports "CSV: parameters unknown" "^pattern: the parameters are not known" ""
	reports "CSV: parameters given" "^recorded with halt_poll_ns 1, grow 2, grow_start 3, shrink 4$" "" \
		--max 1 --grow 2 --grow-start 3 --shrink 4
	printf '%s\n' $HEADER >"$tmp/trace"
	seq 1 20 | sed 's/$/,1000000,500000,1,1/' >>"$tmp/trace"
	reports "only the busiest" "^  12 more vCPUs, not shown" ""
	reports "--all" "^  vCPU 20: 1 halts" "not shown" --all
}

# tunes <what> <wanted> <option>...: $tmp/trace
tunes()
{
	local what=$1 wanted=$2
	shift 2

	check "tune: $what" 0 "$wanted" "" "$TOOL" tune --wake-cost 2500 "$@" "$tmp/trace"
}

test_tune()
{
	local sys=/sys/module/kvm/parameters

	trace $PARAMS "${CONSTANT[@]}"
	# A poll of 60 us saves 2.5 us.
	tunes "CPU is dear" "^echo 0 > $sys/halt_poll_ns$" --cpu-weight 1
	tunes "CPU is cheap: the first misses, all others hit" "^best .* 90.00 % " --cpu-weight 0.01
	tunes "CPU is free" "^best .* 90.00 % " --cpu-weight 0
	tunes "how to set it" "^echo 80000 > $sys/halt_poll_ns_grow_start$" --cpu-weight 0.01
	tunes "no CPU" "^echo 0 > $sys/halt_poll_ns$" --cpu-weight 0 --max-cpu 0
	# 9.61 ms in all, of which 60 us are 0.62 %.
	tunes "as much CPU as one poll takes" "^oracle.* 10.00 % +0.62 % " --cpu-weight 0 --max-cpu 0.63
	tunes "the oracle" "^oracle.* 100.00 % +6.24 % +0 ns " --cpu-weight 0
	tunes "on the way to the oracle" "^best gets 9[0-9.]+ % of what the oracle" --cpu-weight 0.001
	tunes "what was recorded" "^recorded +200000 +2 +10000 +2 +60.00 % "
	tunes "hold-out" "^hold-out: what is best for the first half of the time scores [0-9.]+ % above"
	tunes "as many threads as wanted" "^[0-9]+ sets of parameters in .*, 7 threads" --threads 7
	check "tune: the same with one thread" 0 "" "" \
		bash -c 'diff <("$0" tune --threads 1 "$1" 2>/dev/null) <("$0" tune --threads 5 "$1" 2>/dev/null)' \
		"$TOOL" "$tmp/trace"
	check "tune: JSON" 0 '^\[80000, 9\]$' "" bash -c '"$0" tune --json --cpu-weight 0.01 --wake-cost 2500 \
		"$1" 2>/dev/null | python3 -c "import json, sys; best = json.load(sys.stdin)[\"best\"]; \
		print([best[\"params\"][\"halt_poll_ns_grow_start_ns\"], best[\"hits\"]])"' "$TOOL" "$tmp/trace"

	# No set may beat the oracle: not with an event just behind the poll either.
	trace $PARAMS '>0,10000' +60000,1 "$(repeat 50 +10700,0)"
	tunes "nobody beats the oracle" "^best gets ([0-9.]{3,4}|100.0) % of what the oracle" \
		--cpu-weight 0.01
	# What stays at its start catches short halts among long ones, above any maximum or not.
	trace $PARAMS "$(repeat 50 +1500000,1 +15000,0)"
	tunes "grow 1" "^best +[0-9]+ +1 .* 50.00 % " --cpu-weight 0.01
	trace $PARAMS "$(repeat 50 +5000000000,1 +15000,0)"
	tunes "shrink 1" "^best +[0-9]+ +[0-9]+ +[0-9]+ +1 +4[89].00 % " --cpu-weight 0.01
	trace $PARAMS "$(repeat 50 +30000000,1 +15000,0)"
	tunes "a maximum up to the longest halts" '^best +(32000000|[3-9][0-9]{7}) ' --cpu-weight 0.001

	printf '%s\n' $HEADER 7,1000000,500000,1,1 >"$tmp/trace"
	tunes "one halt" "^hold-out: none, as all halts are in one half"
	printf '%s\n' $HEADER 7,18446744073709551615,2305843009213693951,1,1 \
		8,18446744073709551615,0,1,0 >"$tmp/trace"
	tunes "the longest halt" "^best "
	tunes "one whose event was there" "^off .* 50.00 % "
}

test_plots()
{
	local command

	# A quote in the name would end gnuplot's string.
	trace $PARAMS "${CONSTANT[@]}"
	# As gnuplot on a full disk: half of it, and no error.
	mkdir "$tmp/bin"
	cat >"$tmp/bin/gnuplot" <<-'END'
		#!/bin/sh
		file=$(sed -n "s/^set output '\(.*\)'$/\1/p")
		echo "<svg>" >"$file"
	END
	chmod +x "$tmp/bin/gnuplot"
	for command in report tune; do
		check "$command --plot" 0 "" "" "$TOOL" $command --plot "$tmp/it's.svg" "$tmp/trace"
		check "$command --plot: the picture is whole" 0 "^</svg>$" "" cat "$tmp/it's.svg"
		rm -f "$tmp/it's.svg"
		refuses "$command --plot: no such folder" "none/x.svg: cannot be written" \
			"$TOOL" $command --plot "$tmp/none/x.svg" "$tmp/trace"
		refuses "$command --plot: no gnuplot" "no gnuplot: install gnuplot" \
			env PATH="$tmp" "$TOOL" $command --plot "$tmp/x.svg" "$tmp/trace"
		check "$command --plot: nothing half-done is left" 1 "" "." \
			bash -c 'ls "$0" | grep svg' "$tmp"
		refuses "$command --plot: a full disk" "/dev/full: cannot be written: No space left" \
			"$TOOL" $command --plot /dev/full "$tmp/trace"
		echo old >"$tmp/x.svg"
		refuses "$command --plot: gnuplot that does not get far" "x.svg: gnuplot did not write all" \
			env PATH="$tmp/bin:$PATH" "$TOOL" $command --plot "$tmp/x.svg" "$tmp/trace"
		check "$command --plot: the old picture is kept" 0 "^old$" "" cat "$tmp/x.svg"
		rm -f "$tmp/x.svg"
	done
}

test_options()
{
	local option value

	trace $PARAMS "${CONSTANT[@]}"
	for option in max grow grow-start shrink wake-cost; do
		for value in "" -1 +1 1x " 1" 0x10 1e3 4294967296 99999999999999999999; do
			check "--$option '$value'" 2 "^kvm_halt_poll: --$option takes a number from 0 to" "" \
				"$TOOL" replay --$option "$value" "$tmp/trace"
		done
		check "--$option: the largest" 0 "^halts " "" \
			"$TOOL" replay --$option 4294967295 "$tmp/trace"
	done
	for option in cpu-weight max-cpu; do
		for value in "" -1 nan inf 1e3 1.2.3 . 1x; do
			check "--$option '$value'" 2 "^kvm_halt_poll: --$option takes a number such as" "" \
				"$TOOL" tune --$option "$value" "$tmp/trace"
		done
	done
	for value in "" 0 1025 x; do
		check "--threads '$value'" 2 "^kvm_halt_poll: --threads takes a number from 1 to" "" \
			"$TOOL" tune --threads "$value" "$tmp/trace"
	done
	for value in "" -1 101 20% x; do
		check "--budget '$value'" 2 "^kvm_halt_poll: --budget takes a number from 0 to 100, not" "" \
			"$TOOL" replay --budget "$value" "$tmp/trace"
	done
	for value in "" -; do
		check "--plot '$value'" 2 "^kvm_halt_poll: --plot takes the name of a file" "" \
			"$TOOL" report --plot "$value" "$tmp/trace"
	done
	check "an option without its value" 2 "^kvm_halt_poll: --max needs a value$" "" \
		"$TOOL" replay "$tmp/trace" --max
	check "an option of another command" 2 "--threads: no such option, or not for it" "" \
		"$TOOL" replay --threads 1 "$tmp/trace"
	check "an abbreviated option" 2 "^kvm_halt_poll: --max: no such option, or not for it" "" \
		"$TOOL" tune --max 1 "$tmp/trace"
	check "an abbreviated option with =" 2 "^kvm_halt_poll: --max=1: no such option, or not for it" "" \
		"$TOOL" tune --max=1 "$tmp/trace"
	check "an abbreviated option without value" 2 "^kvm_halt_poll: --max: no such option" "" \
		"$TOOL" tune "$tmp/trace" --max
	check "abbreviated help" 2 "^kvm_halt_poll: --he: no such option" "" "$TOOL" tune --he
	check "a letter" 2 "^kvm_halt_poll: -x: no such option, or not for it .see report --help" "" \
		"$TOOL" report "$tmp/trace" -x
	check "letters" 2 "^kvm_halt_poll: -x: no such option" "" "$TOOL" report -xyz "$tmp/trace"
	check "two traces" 2 "one trace at a time, not 'a' and 'b'" "" "$TOOL" report a b
}

# A trace with very many vCPUs; verify asks for parameters at the first.
test_many()
{
	local command

	awk -v n=100000 -v header=$HEADER 'BEGIN {
		print header
		for (i = 0; i < n; i++)
			print i ",1000000,500000,1,1"
	}' >"$tmp/trace"
	for command in report replay "tune --threads 2"; do
		# shellcheck disable=SC2086 # with options
		check "$command: 100000 vCPUs" 0 "100000 vCPUs, 100000 halts" "" "$TOOL" $command "$tmp/trace"
	done
}

test_verify
test_recorded
test_guest
test_replay
test_report
test_tune
test_plots
test_options
test_many
done_testing
