#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what tests the header in userspace: a wrong header must not pass, nor a
# list of mutants that says nothing.  The argument is a kernel tree with a branch
# "base", in a folder named after the base.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"
scripts=$here/../userspace
header=$here/../../include/linux/kvm_halt_poll.h

# header_with <before> <after>: $INCLUDE gets the header with that change.
header_with()
{
	local text

	text=$(cat "$header")
	[[ $text == *"$1"* ]] || { echo "Bail out! no '$1' in the header"; exit 1; }
	mkdir -p "$work/include/linux"
	printf '%s\n' "${text/"$1"/"$2"}" >"$work/include/linux/kvm_halt_poll.h"
}

# with <before> <after> <command>...: runs it on the header with that change.
with()
{
	header_with "$1" "$2"
	INCLUDE=$work/include "${@:3}"
}

# mutants <line>...: runs it on a list of these.
mutants()
{
	printf '%s\n' "$@" >"$work/list"
	"$scripts/mutants.sh" "$work/list"
}

test_arguments()
{
	local script

	for script in cost exhaustive fuzz mutants; do
		expect 2 "$script: an unknown option" "$scripts/$script.sh" -x
		expect 2 "$script: too many arguments" "$scripts/$script.sh" 1 2
		refuses "no base '9.9'" "$script: an unknown base" \
			env BASE=9.9 "$scripts/$script.sh"
		refuses "make fetch" "$script: a base that is not fetched" \
			env BUILD="$work/none" "$scripts/$script.sh"
		refuses "no linux/kvm_halt_poll.h" "$script: no header" \
			env INCLUDE="$work/none" "$scripts/$script.sh"
	done
	refuses "number of values" "exhaustive: 0 values" "$scripts/exhaustive.sh" 0
	refuses "number of values" "exhaustive: too many values" "$scripts/exhaustive.sh" 41
	refuses "number of values" "exhaustive: text" "$scripts/exhaustive.sh" all
	refuses "number of seconds" "fuzz: 0 seconds" "$scripts/fuzz.sh" 0
	refuses "number of seconds" "fuzz: text" "$scripts/fuzz.sh" 1m
}

# A sanitizer sees the product wrap before it is compared; the boundary is well
# defined, only wrong.
test_wrong_header()
{
	refuses "^max .* wanted [0-9]+, got [0-9]+" "exhaustive: a product that wraps" \
		with "(u64)interval_ns *" "interval_ns *" "$scripts/exhaustive.sh" 8
	expect 0 "exhaustive: the header" "$scripts/exhaustive.sh" 5
	refuses "unsigned integer overflow" "fuzz: a product that wraps" \
		with "(u64)interval_ns *" "interval_ns *" "$scripts/fuzz.sh" 30
	refuses "not what the reference says" "fuzz: another rule at a boundary" \
		with "halt_ns > p->max_ns" "halt_ns >= p->max_ns" "$scripts/fuzz.sh" 30
	expect 0 "fuzz: the input is kept" ls "$BUILD"/userspace/fuzz/crash-*
}

test_mutants()
{
	local good='cap-never: return interval_ns < p->max_ns ? interval_ns : p->max_ns => return interval_ns'

	refuses "no list" "mutants: no list" "$scripts/mutants.sh" "$work/none"
	refuses "no mutants" "mutants: an empty list" mutants "# nothing"
	refuses "not 'name: before => after'" "mutants: a line of another form" mutants "halt_ns"
	refuses "not in the header" "mutants: one that does not apply" mutants "a: nowhere => b"
	refuses "more than once" "mutants: one that applies twice" mutants "a: p->grow => p->shrink"
	refuses "called cap-never" "mutants: a name that is not one's own" mutants "$good" "$good"
	refuses "does not compile" "mutants: one that does not compile" \
		mutants "a: u64 halt_ns => halt_ns"
	refuses "a: wrong: survived, no reason" "mutants: a survivor" \
		mutants "a: The *interval* is => An interval is"
	refuses "cap-never: wrong: killed, not so" "mutants: a survivor that does not survive" \
		mutants "$good ## not so"
	refuses "killed 1 of 1, equivalent 0" "mutants: one is killed" mutants "$good"
	refuses "lines without a mutant" "mutants: a line has none" mutants "$good"
	refuses "fails without any change" "mutants: a suite that fails anyway" \
		with "interval_ns < p->max_ns" "1" "$scripts/mutants.sh"
}

test_cost()
{
	refuses "hit: new takes" "cost: a header that takes more" \
		with "if (halt_ns <= interval_ns)" \
		$'asm volatile("nop; nop; nop");\n\tif (halt_ns <= interval_ns)' \
		"$scripts/cost.sh"
	refuses "grow: divides" "cost: a header that divides" \
		with "(u64)interval_ns * p->grow" \
		"(u64)interval_ns / p->shrink * p->shrink * p->grow" "$scripts/cost.sh"
}

main()
{
	local tree=${1:?usage: userspace_test.sh TREE}

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	BASE=$(basename "$(dirname "$tree")")
	export BASE BUILD=$work/build
	mkdir -p "$BUILD/$BASE"
	ln -s "$(realpath "$tree")" "$BUILD/$BASE/linux"

	echo "TAP version 13"
	test_arguments
	test_wrong_header
	test_mutants
	test_cost
	done_testing
}

main "$@"
