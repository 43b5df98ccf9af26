# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts that test the header in userspace share; sourced, never run.
# What is set here is used there.
# shellcheck disable=SC2034

# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

HERE=$ROOT/harness/userspace
BASE=${BASE:-6.12}
# Where linux/kvm_halt_poll.h is; another one can be tested by setting this.
INCLUDE=${INCLUDE:-$ROOT/include}
# The kernel's own stand-ins for its headers.
TOOLS=$BUILD/$BASE/linux/tools/include
KUNIT=$ROOT/virt/kvm/tests/halt_poll_kunit.c
# As the kernel is compiled, or the static functions of a header would warn.
CFLAGS=(-std=gnu11 -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare
	-Wno-missing-field-initializers
	-Wdeclaration-after-statement -Werror)

# need <command>...
need()
{
	local command

	for command; do
		command -v "$command" >/dev/null || die "no $command: run harness/deps.sh"
	done
}

# prepare <name>: an empty folder build/userspace/<name>, left in $out.
prepare()
{
	require_base "$BASE"
	[[ -d $TOOLS ]] || die "no $TOOLS: run make fetch BASE=$BASE"
	[[ -f $INCLUDE/linux/kvm_halt_poll.h ]] || die "no linux/kvm_halt_poll.h in $INCLUDE"
	out=$BUILD/userspace/$1
	rm -rf "$out"
	mkdir -p "$out"
}

# number <text> <least> <most> <what>: dies unless the text is such a number.
number()
{
	[[ $1 =~ ^[1-9][0-9]{0,8}$|^0$ && $1 -ge $2 && $1 -le $3 ]] ||
		die "$4 must be a number from $2 to $3, not '$1'"
}
