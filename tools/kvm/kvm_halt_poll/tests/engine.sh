# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the tests share; sourced, never run.  They speak TAP.
#
# From the environment: KVM_HALT_POLL and KVM_HALT_POLL_DUMP, the programs.
# shellcheck disable=SC2034 # used by the tests

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOOL=${KVM_HALT_POLL:-$HERE/../kvm_halt_poll}
DUMP=${KVM_HALT_POLL_DUMP:-$HERE/dump}
tests=0
failed=0

# A sanitizer's finding has an exit status of its own, that no test wants.
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99 LC_ALL=C

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

[[ -x $TOOL && -x $DUMP ]] || {
	echo "Bail out! no programs $TOOL and $DUMP: run make all tests"
	exit 1
}

# verdict <what> <why it failed, or nothing>
verdict()
{
	tests=$((tests + 1))
	if [[ ! $2 ]]; then
		echo "ok $tests - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $tests - $1"
	sed 's/^/# /' <<<"$2"
	head -c 2000 "$tmp/stdout" "$tmp/stderr" | tr -d '\0' | sed 's/^/# /'
}

# check <what> <status> <wanted> <forbidden> <command>...: it must exit with that
# status, and say what the one regular expression matches and nothing that the
# other does, on either output; an empty one is not looked for.
check()
{
	local what=$1 status=$2 wanted=$3 forbidden=$4 got=0 why=
	shift 4

	timeout 60 "$@" >"$tmp/stdout" 2>"$tmp/stderr" || got=$?
	cat "$tmp/stdout" "$tmp/stderr" >"$tmp/said"
	if [[ $got != "$status" ]]; then
		why="exit status $got, not $status"
	elif [[ $wanted ]] && ! grep -qaE -- "$wanted" "$tmp/said"; then
		why="does not say /$wanted/"
	elif [[ $forbidden ]] && grep -qaE -- "$forbidden" "$tmp/said"; then
		why="says /$forbidden/"
	fi
	verdict "$what" "$why"
}

# refuses <what> <wanted> <command>...: it must fail with that one line of an error.
refuses()
{
	local what=$1 wanted=$2
	shift 2

	check "$what" 1 "^kvm_halt_poll: .*$wanted" "" "$@"
	[[ $(grep -c '^kvm_halt_poll: ' "$tmp/stderr") == 1 ]] ||
		verdict "$what: one line" "not one line of an error"
}

# same <what> <file> <file>
same()
{
	verdict "$1" "$(diff -u "$2" "$3" 2>&1 | head -n 20)"
}

# done_testing: the plan, and the exit status of the whole.
done_testing()
{
	echo "1..$tests"
	exit $((failed > 0))
}
