#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the program as such: how it is called, and where its output goes.  That
# "record" records is tested where there is a KVM to be sure of, in a booted host.

set -euo pipefail
# shellcheck source=tools/kvm/kvm_halt_poll/tests/engine.sh
. "$(dirname "${BASH_SOURCE[0]}")/engine.sh"

# into_closed_pipe <command>...: the reader is gone before the first byte.
into_closed_pipe()
{
	# shellcheck disable=SC2016 # the inner shell's
	bash -c '{ sleep 0.5; "$@"; } | true; exit "${PIPESTATUS[0]}"' - "$@"
}

into_full_disk()
{
	"$@" >/dev/full
}

# unprivileged <command>...
unprivileged()
{
	if [[ $(id -u) == 0 ]]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}
export -f into_closed_pipe into_full_disk unprivileged

# In front of a function, to make it a program.
# shellcheck disable=SC2016 # the inner shell's
IN_BASH=(bash -c '"$@"' -)

test_commands()
{
	local command

	check "no command" 2 "^usage: kvm_halt_poll COMMAND" "" "$TOOL"
	check "--help" 0 "^  record " "" "$TOOL" --help
	check "an unknown command" 2 "^kvm_halt_poll: no command 'tun'; there are record" "" "$TOOL" tun
	check "an option instead of a command" 2 "no command '--version'" "" "$TOOL" --version
	for command in record report replay verify tune; do
		check "$command --help" 0 "^usage: kvm_halt_poll $command " "" "$TOOL" $command --help
		check "$command: an unknown option" 2 "--none: no such option" "^usage" \
			"$TOOL" $command --none
	done
	check "record: an argument" 2 "record takes no argument 'x'" "" "$TOOL" record x
	check "record: an option without its value" 2 "-d: no such option, or it needs a value" "" \
		"$TOOL" record -d
	for command in "" 0 -1 1x nan 1e3; do
		check "record -d '$command'" 2 "'$command' is no number of seconds" "" \
			"$TOOL" record -d "$command"
	done
	for command in "" 0 -1 1x 123456789; do
		check "record -p '$command'" 2 "'$command' is no pid" "" "$TOOL" record -p "$command"
		check "record -b '$command'" 2 "'$command' is no number of KB" "" \
			"$TOOL" record -b "$command"
	done
}

test_output()
{
	local command

	refuses "--help into a full disk" "standard output: cannot be written: No space left" \
		"${IN_BASH[@]}" into_full_disk "$TOOL" --help
	for command in report replay verify tune; do
		refuses "$command --json into a full disk" \
			"standard output: cannot be written: No space left" \
			"${IN_BASH[@]}" into_full_disk "$TOOL" $command --json "$HERE/small.csv"
		verdict "$command --json into a full disk: nothing else" "$(sed 1d "$tmp/stderr")"
		refuses "$command into a full disk" "standard output: cannot be written: No space left" \
			"${IN_BASH[@]}" into_full_disk "$TOOL" $command "$HERE/small.csv"
		refuses "$command into a closed pipe" "standard output: cannot be written: Broken pipe" \
			"${IN_BASH[@]}" into_closed_pipe "$TOOL" $command "$HERE/small.csv"
		refuses "$command: no such file" "none: cannot be read: No such file or directory" \
			"$TOOL" $command "$tmp/none"
	done
}

test_record()
{
	local out=$tmp/record

	mkdir "$out"
	chmod 777 "$tmp" "$out"
	refuses "record: not as root" "(no tracefs: is this run as root|cannot be used: Permission denied)" \
		"${IN_BASH[@]}" unprivileged "$TOOL" record -d 1 -o "$out/x.csv"
	verdict "record: nothing is left" "$(ls "$out")"
}

main()
{
	echo "TAP version 13"
	test_commands
	test_output
	test_record
	done_testing
}

main "$@"
