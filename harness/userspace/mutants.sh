#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Does the KUnit suite notice when the header is wrong?
set -euo pipefail
# shellcheck source=harness/userspace/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

HEADER=$INCLUDE/linux/kvm_halt_poll.h
# Cases with this in their name are left out: what tells a mutant from the header
# is to be what somebody worked out by hand.
WITHOUT=reference
# For one mutant's run, in seconds; it takes a tenth of a second.
PATIENCE=20

usage()
{
	cat >&2 <<-END
	usage: mutants.sh [list]
	Makes each change of the list, by default $HERE/mutants, to the header
	and runs the KUnit suite with it, in userspace and without the comparison
	with the reference.  Fails if a mutant survives that should not, or does not
	that should, or if a line of code has none.
	END
	exit 2
}

# parse: the list as arrays, of which the index is a mutant's number.
parse()
{
	local line rest

	names=() before=() after=() reasons=()
	while IFS= read -r line; do
		[[ -n $line && $line != '#'* ]] || continue
		[[ $line =~ ^([a-z0-9-]+):\ (.+)\ '=> '(.+)$ && $line != *' => '*' => '* ]] ||
			die "$list: not 'name: before => after': $line"
		names+=("${BASH_REMATCH[1]}")
		before+=("$(printf %b "${BASH_REMATCH[2]}")")
		rest=${BASH_REMATCH[3]}
		after+=("$(printf %b "${rest%% ## *}")")
		reasons+=("")
		[[ $rest != *' ## '* ]] || reasons[-1]=${rest#* ## }
	done <"$list"
	[[ ${names[*]-} ]] || die "$list: no mutants"
	rest=$(printf '%s\n' "${names[@]}" | sort | uniq -d | xargs)
	[[ -z $rest ]] || die "$list: several mutants are called $rest"
}

# build <dir>: the suite, with the header in that folder, into it.
build()
{
	gcc "${CFLAGS[@]}" -w -O1 -I"$1" -I"$HERE/shim" -I"$TOOLS" -o "$1/kunit" "$KUNIT" \
		>"$1/log" 2>&1
}

# mutate <number>: writes the header with that one change.
mutate()
{
	local name=${names[$1]} old=${before[$1]} rest

	rest=${text/"$old"/}
	[[ $rest != "$text" ]] || die "$name: not in the header: $old"
	[[ ${rest/"$old"/} == "$rest" && $((${#text} - ${#rest})) == "${#old}" ]] ||
		die "$name: more than once in the header: $old"
	mkdir -p "$out/$name/linux"
	printf '%s\n' "${text/"$old"/"${after[$1]}"}" >"$out/$name/linux/kvm_halt_poll.h"
	touched "${text%%"$old"*}" "$old" >>"$out/touched"
}

# touched <text before> <text>: the numbers of the lines that the text is on.
touched()
{
	local first last

	first=$(wc -l <<<"$1")
	last=$((first + $(wc -l <<<"$2") - 1))
	seq "$first" "$last"
}

# untouched: the lines of function bodies that no mutant changes.
untouched()
{
	awk 'NR == FNR { touched[$1] = 1; next }
		/^}/ { body = 0 }
		body && /[a-z]/ && !/^\t*(\/\*| \*)/ && !(FNR in touched) { print FNR ":" $0 }
		/^{/ { body = 1 }' "$out/touched" "$HEADER"
}

# verdict <name>: killed, survived or broken, into the file "verdict".  Bash may
# have to say how the mutant died: not here.
verdict()
{
	local dir=$out/$1

	if ! build "$dir"; then
		echo broken
	elif timeout $PATIENCE "$dir/kunit" "$WITHOUT" >"$dir/log" 2>&1; then
		echo survived
	else
		echo killed
	fi >"$dir/verdict" 2>/dev/null
}

run_all()
{
	local name

	for name; do
		while (($(jobs -rp | wc -l) >= $(nproc))); do
			wait -n || true
		done
		verdict "$name" &
	done
	wait
}

# judge <number>: counts the mutant, and says what is wrong with it.
judge()
{
	local name=${names[$1]} verdict expected=killed

	verdict=$(cat "$out/$name/verdict")
	[[ -z ${reasons[$1]} ]] || expected=survived
	[[ $verdict != killed ]] || killed=$((killed + 1))
	if [[ $verdict == broken ]]; then
		die "$name: does not compile: $(grep -m1 error "$out/$name/log")"
	elif [[ $verdict != "$expected" ]]; then
		printf '%s: wrong: %s, %s in %s\n' "$name" "$verdict" \
			"${reasons[$1]:-no reason given}" "$out/$name" >&2
		wrong=$((wrong + 1))
	elif [[ $verdict == survived ]]; then
		printf '%s survives: %s\n' "$name" "${reasons[$1]}"
		equivalent=$((equivalent + 1))
	fi
}

main()
{
	local i lines

	[[ $# -le 1 && ${1:-} != -* ]] || usage
	list=${1:-$HERE/mutants}
	[[ -f $list ]] || die "no list of mutants: $list"
	need gcc
	prepare mutants
	text=$(cat "$HEADER")
	parse
	mkdir -p "$out/original/linux"
	cp "$HEADER" "$out/original/linux/"
	verdict original
	[[ $(cat "$out/original/verdict") == survived ]] ||
		die "the suite fails without any change: $(tail -n 1 "$out/original/log")"
	for i in "${!names[@]}"; do
		mutate "$i"
	done
	lines=$(untouched)
	run_all "${names[@]}"
	killed=0 equivalent=0 wrong=0
	for i in "${!names[@]}"; do
		judge "$i"
	done
	printf 'killed %d of %d, equivalent %d\n' "$killed" "${#names[@]}" "$equivalent"
	[[ -z $lines ]] || die "lines without a mutant:"$'\n'"$lines"
	[[ $wrong == 0 ]]
}

main "$@"
