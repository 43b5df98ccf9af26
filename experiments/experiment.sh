#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run experiments: on the patched kernel, booted in virtual time, with a Linux guest.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

RUNS=${RUNS:-11}
# The first run's; each further run has the next.
SEED=${SEED:-1}
# Seconds for a run; it takes some 20 on an idle machine.
TIMEOUT=${TIMEOUT:-300}
# KVM's timer advance would hide the latency of a wakeup; KUnit has nothing to do.
CMDLINE="kvm.lapic_timer_advance=0 kvm.lapic_timer_advance_ns=0 kunit.enable=0"

usage()
{
	cat >&2 <<-END
	usage: [RUNS=11] [SEED=1] experiment.sh <base> [NAME...]
	Runs the experiments with these names, or all: $(names | xargs)
	Each leaves NAME.csv, a row for each run, workload and arm; NAME.summary.csv,
	medians; NAME.svg; and NAME.md, a table, in build/experiments/; summary.md has
	the tables of all that were run.  With another first SEED it is
	build/experiments/seed-SEED/, and compared with those.
	END
	exit 2
}

names()
{
	local job

	for job in "$ROOT"/experiments/*.job; do
		basename "$job" .job
	done
}

# boot <seed>: one run.  A guest that hangs, as QEMU's SVM lets it at some seeds, is
# no result, and told.
boot()
{
	local dir=$BUILD/$base/run/$name-$1

	"$ROOT/harness/boot.sh" -m virtual -S "$1" -M 2G -t "$TIMEOUT" -c "$CMDLINE RUN=$1" \
		-k "$BUILD/$base/patched/vmlinux" -i "$BUILD/$base/guest/host.cpio" \
		-j "$ROOT/experiments/$name.job" -o "$dir" 2>"$out/$name.err" || {
		! grep -qE '^guest: no word|^boot.sh: no status: not done' "$out/$name.err" \
			"$dir"/result.* || return 1
		# What is no row.
		sed '/^[^#]*,/d' "$out/$name.err" "$dir"/result.* >&2
		die "$name: failed; nothing is written"
	}
}

# image_id: of all that is booted.
image_id()
{
	cat "$BUILD/$base/patched/vmlinux" "$BUILD/$base/guest/host.cpio" \
		"$ROOT/experiments/$name.job" | sha256sum | cut -c1-12
}

# collect: the runs' rows, and what they remark.
collect()
{
	local seed=$SEED runs=0 hung=0 result id

	id=$(image_id)
	for (( ; runs < RUNS; seed++)); do
		say "$name: run $((runs + 1)) of $RUNS, seed $seed"
		if boot "$seed"; then
			runs=$((runs + 1))
			result=$BUILD/$base/run/$name-$seed/result.txt
			sed '/^#/d; /^$/d' "$result" |
				if ((runs == 1)); then cat; else sed 1d; fi >>"$out/$name.csv"
		else
			hung=$((hung + 1))
			say "$name: the guest hangs at seed $seed"
			((hung <= RUNS)) || die "$name: too many guests hang; nothing is written"
		fi
	done
	[[ $id == "$(image_id)" ]] || die "$name: what is booted has changed meanwhile; nothing is written"
	same="image $id, $RUNS runs"
	echo "# $same" >"$out/$name.remarks"
	sed -n '/^#/p' "$result" >>"$out/$name.remarks"
	echo "# seeds tried: $SEED to $((seed - 1)); at $hung of them the guest hung" \
		>>"$out/$name.remarks"
}

# summarize: the median of each column that is told, by workload and arm; the
# spread of the time that an operation took; remarks on what was read back of each arm's
# parameters, and on what the order of arms does.
summarize()
{
	awk -F, -v runs="$RUNS" -v name="$name" -v remarks="$out/$name.remarks" '
	NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; columns = NF; next }
	function v(what) { return $col[what] }
	function add(what, value) { sample[key, what, n[key]] = value }
	# The median of those runs in which the arm had that turn; 0: of all.
	function median(key, what, turn,    a, i, j, m, t) {
		for (i = 1; i <= n[key]; i++) {
			if (turn && sample[key, "turn", i] != turn)
				continue
			t = sample[key, what, i]
			m++
			for (j = m - 1; j && a[j] > t; j--)
				a[j + 1] = a[j]
			a[j + 1] = t
		}
		least = a[1]
		most = a[m]
		return m ? a[int((m + 1) / 2)] : 0
	}
	# How far apart, in percent, it is first and last among the arms.
	function apart(key, what,    first, last) {
		first = median(key, what, 1)
		last = turns[workload[key]] > 1 ? median(key, what, turns[workload[key]]) : 0
		if (!first || !last)
			return 0
		compared = 1
		return 100 * (first / last - 1)
	}
	function max_abs(x, y) { y = y < 0 ? -y : y; return x > y ? x : y }
	{
		if (NF != columns)
			bad("line " NR " has " NF " fields")
		key = v("workload") SUBSEP v("arm")
		read_back(v("arm"))
		if (!n[key]++)
			order[++keys] = key
		workload[key] = v("workload")
		if (v("turn") > turns[v("workload")])
			turns[v("workload")] = v("turn")
		add("turn", v("turn"))
		add("op", v("ns") / v("ops"))
		add("p50", v("p50_ns") + 0)
		add("p99", v("p99_ns") + 0)
		add("cpu", 100 * v("cpu_ns") / v("host_ns"))
		add("cpu_op", v("cpu_ns") / v("ops"))
		add("halts", v("halts") / v("ops"))
		add("hits", v("halts") ? 100 * v("hits") / v("halts") : 0)
		add("polling", 100 * (v("hit_ns") + v("miss_ns")) / v("host_ns"))
	}
	# The same whenever it was the arm.
	function read_back(arm,    is) {
		is = "halt_poll_ns " v("halt_poll_ns") ", grow " v("grow") ", grow_start " \
			v("grow_start_ns") ", shrink " v("shrink")
		if (v("budget") != "")
			is = is ", budget " v("budget")
		if (v("guest_poll_ns") != "")
			is = is "; guest_halt_poll_ns " v("guest_poll_ns")
		if (!(arm in parameters))
			arms[++nr_arms] = arm
		else if (parameters[arm] != is)
			bad(arm " is " is " in line " NR ", but " parameters[arm] " before")
		parameters[arm] = is
	}
	function bad(text) {
		print name ": " text >"/dev/stderr"
		failed = 1
		exit 1
	}
	END {
		if (failed)
			exit 1
		if (!keys)
			bad("no rows")
		for (k = 1; k <= nr_arms; k++)
			print "# " arms[k] ": " parameters[arms[k]] >>remarks
		print "workload,arm,op_ns,op_min_ns,op_max_ns,p50_ns,p99_ns,halts_per_op,hits_pct,polling_pct,cpu_pct,cpu_op_ns"
		for (k = 1; k <= keys; k++) {
			key = order[k]
			split(key, part, SUBSEP)
			if (n[key] != runs)
				bad(part[1] " " part[2] " has " n[key] " runs, not " runs)
			worst_op = max_abs(worst_op, apart(key, "op"))
			worst_cpu = max_abs(worst_cpu, apart(key, "cpu_op"))
			op = median(key, "op")
			printf "%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.3f,%.1f,%.1f,%.1f,%.0f\n", part[1], part[2],
				op, least, most, median(key, "p50"), median(key, "p99"),
				median(key, "halts"), median(key, "hits"),
				median(key, "polling"), median(key, "cpu"), median(key, "cpu_op")
		}
		if (compared)
			printf "# an arm that is first in some boots and last in others: us per " \
				"operation differ by %.1f %%, CPU by %.1f %% at most\n",
				worst_op, worst_cpu >>remarks
	}' "$out/$name.csv" >"$out/$name.summary.csv" || die "$name: not whole"
}

# compare: a remark on how far these medians are from those of the first seeds, if that
# is of the same.
compare()
{
	local first=$BUILD/experiments/$name

	((SEED != 1)) && [[ -e $first.md ]] || return 0
	if ! grep -qxF -- "- $same" "$first.md"; then
		echo "# not compared with seed 1 and on: not the same image, or number of runs" \
			>>"$out/$name.remarks"
		return
	fi
	awk -F, '
	BEGIN { told = split("op_ns p50_ns p99_ns cpu_op_ns", tell, " ") }
	FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	{
		for (i = 1; i <= told; i++) {
			x = $col[tell[i]]
			if (NR == FNR) {
				first[$1, $2, i] = x
				continue
			}
			y = first[$1, $2, i]
			if (!x || !y)
				continue
			apart = x > y ? 100 * (x / y - 1) : 100 * (y / x - 1)
			if (apart >= worst[i]) {
				worst[i] = apart
				at[i] = $1 " " $2
			}
		}
	}
	END {
		printf "# against the medians of seed 1 and on, at most:"
		for (i = 1; i <= told; i++)
			printf "%s %s %.2f %% (%s)", (i > 1 ? "," : ""), tell[i], worst[i], at[i]
		print ""
	}' "$first.summary.csv" "$out/$name.summary.csv" >>"$out/$name.remarks"
}

table()
{
	printf '\n### %s\n\n' "$name"
	sed 's/^# /- /' "$out/$name.remarks"
	cat <<-'END'

	| workload | arm | us per operation (least, most) | to first arm | latency p50 / p99, us | halts per op. | ended by a poll | host CPU | CPU per op., us |
	|----------|-----|-------------------------------:|-------------:|----------------------:|--------------:|----------------:|---------:|----------------:|
	END
	# Stable, so that the arms of a workload stand together, in order.
	awk -F, 'NR > 1 {
		if (!($1 in order)) order[$1] = ++workloads
		print order[$1] "," $0
	}' "$out/$name.summary.csv" | sort -s -t, -k1,1n | awk -F, '
	{
		if (!($2 in first)) first[$2] = $4
		printf "| %s | %s | %.2f (%.2f, %.2f) | %+.1f %% | %.2f / %.2f | %.2f | %.1f %% | %.1f %% | %.2f |\n",
			$2, $3, $4 / 1000, $5 / 1000, $6 / 1000, 100 * ($4 / first[$2] - 1),
			$7 / 1000, $8 / 1000, $9, $10, $12, $13 / 1000
	}'
}

plot()
{
	gnuplot -e "csv='$out/$name.summary.csv'; svg='$out/$name.svg'" \
		"$ROOT/experiments/$name.gnuplot" >"$out/gnuplot.log" 2>&1 ||
		die "$name: gnuplot: $(head -n 1 "$out/gnuplot.log")"
}

# run: all of it, or nothing that has the final name.
run()
{
	rm -f "$final/$name".{csv,summary.csv,md,svg}
	collect
	summarize
	compare
	table >"$out/$name.md"
	plot
	mv "$out/$name".{csv,summary.csv,svg,md} "$final"
	cat "$final/$name.md"
}

# sum_up: the tables that there are.
sum_up()
{
	local name

	echo "$how"
	for name in $(names); do
		[[ ! -e $final/$name.md ]] || cat "$final/$name.md"
	done
}

main()
{
	local name base out same how final=$BUILD/experiments

	[[ $# -ge 1 && $1 != -* ]] || usage
	base=$1
	shift
	require_base "$base"
	[[ $RUNS =~ ^[1-9][0-9]?$ ]] || die "RUNS must be a number from 1 to 99, not '$RUNS'"
	[[ $SEED =~ ^[1-9][0-9]{0,5}$ ]] || die "SEED must be a number from 1 to 999999, not '$SEED'"
	((SEED == 1)) || final+=/seed-$SEED
	for name; do
		[[ $name && $name != */* && -e $ROOT/experiments/$name.job ]] || die "no experiment '$name'; there are: $(names | xargs)"
	done
	if [[ $# == 0 ]]; then
		# shellcheck disable=SC2046 # names have no blanks
		set -- $(names)
	fi
	mkdir -p "$final"
	out=$(mktemp -d "$final/tmp.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$out'" EXIT
	rm -f "$final/summary.md"
	how="Linux $(cat "$BUILD/$base/version"), QEMU TCG with -icount, 1 CPU: 1 instruction is 1 ns; medians"
	echo "$how"
	for name; do
		run
	done
	sum_up >"$out/summary.md"
	mv "$out/summary.md" "$final"
}

main "$@"
