# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How results are counted; sourced after an architecture's .conf.  A script begins,
# sets a lane for each line of tests that it runs, and ends with finish.

# begin <base> <name>: logs go to $out, build/<base>/<name>/.
begin()
{
	base=$1
	require_base "$base"
	dir=$BUILD/$base
	[[ $KARCH == x86 ]] || dir+=/$KARCH
	out=$dir/$2
	exec 8>"$dir/check.lock"
	flock -n 8 || die "another check runs on $base $KARCH"
	rm -rf "$out"
	mkdir -p "$out"
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
	# shellcheck disable=SC2154 # the script's
	printf '%s %d %s\n' "$1" "$2" "$3${4:+: $4}" >>"$out/$lane.results"
	say "$base $KARCH: $1 $3 ($2)${4:+: $4}"
	if [[ $1 == fail && -s $out/$3.log ]]; then
		tail -n 24 "$out/$3.log" | sed 's/^/    /' >&2
	fi
}

# tap <name> <file>: counts as many as the file has results.
tap()
{
	local counts pass fail skip

	counts=$("$ROOT/harness/judge.sh" "$BUILD/$base/linux" "$2" 2>"$out/$1.log") || true
	read -r pass fail skip <<<"${counts:-0 1 0}"
	record pass "$pass" "$1"
	record fail "$fail" "$1"
	record skip "$skip" "$1" "$(sed 1d <<<"$counts" | xargs -d '\n')"
}

# total pass|fail|skip [lane]
total()
{
	local files=("$out"/*.results)

	[[ $# == 1 ]] || files=("$out/$2.results")
	awk -v what="$1" '$1 == what { n += $2 } END { print n + 0 }' "${files[@]}"
}

# finish: what was skipped and what failed, the line that counts, and the verdict.
finish()
{
	sed -n 's/^skip [0-9]* /skipped: /p; s/^fail [0-9]* /failed: /p' "$out"/*.results
	printf '%d passed, %d failed, %d skipped\n' "$(total pass)" "$(total fail)" "$(total skip)"
	[[ $(total fail) == 0 ]]
}
