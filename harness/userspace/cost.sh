#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the rule costs: instructions for each path through it, old beside new.
set -euo pipefail
# shellcheck source=harness/userspace/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

CALLS=1000
# New may take so many percent of what old takes, on every path but "off": that
# one is shown, but who does not poll at all has no use for speed.
LIMIT=110
UNLIMITED=(off)
NO_DIVISION=(off hit grow grow-start nothing-left)

usage()
{
	cat >&2 <<-END
	usage: cost.sh
	Counts instructions, at -O2, of one pass through the rule: as BASE ($BASE)
	has it, and as the header has it.  Fails if the header takes more than that
	and a tenth, or if it divides where it need not.
	END
	exit 2
}

# cut <file> <awk pattern> <awk pattern>: from lines that match the first to the
# next one that matches the second; it must find some.
cut()
{
	awk -v first="$2" -v last="$3" \
		'$0 ~ first { on = 1; n++ } on { print } $0 ~ last { on = 0 } END { exit !n }' "$1"
}

# old_code: what cost.c includes.
old_code()
{
	# shellcheck disable=SC2154 # out: by prepare()
	git -C "$BUILD/$BASE/linux" show base:virt/kvm/kvm_main.c >"$out/kvm_main.c" ||
		die "no virt/kvm/kvm_main.c on branch base of $BUILD/$BASE/linux"
	cut "$out/kvm_main.c" '^static void (grow|shrink)_halt_poll_ns[(]' '^}' \
		>"$out/old_functions.h" || die "no grow_halt_poll_ns() in kvm_main.c of $BASE"
	cut "$out/kvm_main.c" '^\tif [(]halt_poll_allowed[)] [{]' '^\t}' \
		>"$out/old_statement.h" || die "no such statement in kvm_main.c of $BASE"
}

# Not as a position-independent program, so that addresses are those of objdump.
compile()
{
	gcc "${CFLAGS[@]}" -O2 -no-pie -I"$out" -I"$INCLUDE" -I"$TOOLS" \
		-o "$out/cost" "$HERE/cost.c" || die "cost.c does not compile"
	objdump -d --no-show-raw-insn "$out/cost" |
		awk '$2 ~ /^i?div/ { sub(":", "", $1); print "0x" $1 }' >"$out/divisions"
}

# count old|new <path>: leaves callgrind's count of that function's instructions.
count()
{
	local file=$out/$1-$2

	valgrind --tool=callgrind --callgrind-out-file="$file" --toggle-collect="$1_next" \
		--dump-instr=yes --dump-line=no --compress-pos=no \
		"$out/cost" "$1" "$2" $CALLS >"$file.log" 2>&1 ||
		die "$1 $2: $(grep -v '^==' "$file.log" || tail -n 1 "$file.log")"
	awk -v calls=$CALLS '$1 == "summary:" { n = int($2 / calls); print n } END { exit !n }' "$file" ||
		die "$1 $2: callgrind counted nothing"
}

# divides <path>: was any of the divisions executed by the new code?
divides()
{
	awk '{ print $1 }' "$out/new-$1" | grep -qxFf "$out/divisions"
}

# among <word> <word>...: is the first one of the others?
among()
{
	[[ " ${*:2} " == *" $1 "* ]]
}

# judge <path> <old> <new>: a line of the table, and of what is wrong with it.
judge()
{
	printf '%-14s %5s %5s %6s\n' "$1" "$2" "$3" \
		"$(awk -v old="$2" -v new="$3" 'BEGIN { printf "%.2f", new / old }')"
	if ! among "$1" "${UNLIMITED[@]}" && (($3 * 100 > $2 * LIMIT)); then
		echo "$1: new takes $3 instructions, old takes $2" >>"$out/failures"
	fi
	if among "$1" "${NO_DIVISION[@]}" && divides "$1"; then
		echo "$1: divides" >>"$out/failures"
	fi
}

main()
{
	local path old new

	[[ $# == 0 ]] || usage
	need gcc git objdump valgrind
	prepare cost
	old_code
	compile
	printf '%-14s %5s %5s %6s\n' path old new ratio
	for path in $("$out/cost"); do
		old=$(count old "$path")
		new=$(count new "$path")
		judge "$path" "$old" "$new"
	done
	[[ -e $out/failures ]] || return 0
	die "$(paste -sd ';' "$out/failures" | sed 's/;/; /g')"
}

main "$@"
