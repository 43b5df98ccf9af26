# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the harness' own tests share: they speak TAP; sourced, never run.

tests=0
failed=0

# result <verdict> <what>: one test, passed if the verdict is "ok"; else what
# the command said is shown.
result()
{
	tests=$((tests + 1))
	echo "$1 $tests - $2"
	if [ "$1" != ok ]; then
		failed=$((failed + 1))
		echo "# exit status $status"
		[ -z "$said" ] || sed 's/^/# /' <<<"$said"
	fi
}

# run <command>...: leaves its exit status and what it said.
run()
{
	status=0
	said=$("$@" 2>&1 </dev/null) || status=$?
}

# expect <status> <what> <command>...: the command must exit with that status.
expect()
{
	local want=$1 what=$2
	shift 2

	run "$@"
	if [ "$status" -eq "$want" ]; then
		result ok "$what"
	else
		result 'not ok' "$what (wanted exit status $want)"
	fi
}

# refuses <regex> <what> <command>...: it must fail, and say why in one line.
refuses()
{
	local want=$1 what=$2
	shift 2

	run "$@"
	if [ "$status" -ne 0 ] && grep -qE -- "$want" <<<"$said"; then
		result ok "$what"
	else
		result 'not ok' "$what (wanted a failure with /$want/)"
	fi
}

# done_testing: the plan, and the exit status of the whole.
done_testing()
{
	echo "1..$tests"
	exit $((failed > 0))
}
