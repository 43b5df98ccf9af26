# SPDX-License-Identifier: GPL-2.0
# What the harness' own tests share: they speak TAP; sourced, never run.

# expect <status> <what> <command>...: one test, passed if the command exits
# with that status; what it said is shown otherwise.
expect()
{
	local got=0 said want=$1 what=$2
	shift 2

	said=$("$@" 2>&1 </dev/null) || got=$?
	tests=$((${tests:-0} + 1))
	if [ "$got" -eq "$want" ]; then
		echo "ok $tests - $what"
	else
		failed=$((${failed:-0} + 1))
		echo "not ok $tests - $what"
		echo "# exit status $got, not $want"
		[ -z "$said" ] || sed 's/^/# /' <<<"$said"
	fi
}

# done_testing: the plan, and the exit status of the whole.
done_testing()
{
	echo "1..$tests"
	exit $((${failed:-0} > 0))
}
