#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the program as such: how it is called, and where its output goes.  That
# "record" records and "top" shows is tested where there is a KVM to be sure of, in a
# booted host.

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
	for command in record top report replay verify tune; do
		check "$command --help" 0 "^usage: kvm_halt_poll $command " "" "$TOOL" $command --help
		check "$command: an unknown option" 2 "--none: no such option" "^usage" \
			"$TOOL" $command --none
	done
	for command in record top; do
		check "$command: an argument" 2 "$command takes no argument 'x'" "" "$TOOL" $command x
		refuses_value $command -p --pid "the pid of a process" "" 0 -1 1x 123456789
		refuses_value $command -b --buffer "a number of KB" "" 0 -1 1x 123456789
	done
	refuses_value record -d --duration "a number of seconds" "" 0 -1 1x nan 1e3 1000000001
	refuses_value record -o --output "the name of a file" ""
	refuses_value top -d --delay "a number of seconds from 0.1 on" "" 0 0.09 -1 1x inf 1000000001
	refuses_value top -n --count "a number from 0 to 4294967295" "" -1 1x 4294967296
	refuses_value top -s --sort "one of halts, hits, burned, wasted, interval" "" halt x
	check "top: an option of record" 2 "^kvm_halt_poll: -o: no such option, or not for it" "" \
		"$TOOL" top -o x
	check "help after another option" 0 "^usage: kvm_halt_poll top " "" "$TOOL" top -s hits -h
}

# refuses_value <command> <letter> <name> <what it takes> <bad value>...: by either
# name, and if there is none; nor is the name taken if it is abbreviated.
refuses_value()
{
	local command=$1 letter=$2 name=$3 takes=$4 option value
	shift 4

	for option in "$letter" "$name"; do
		check "$command $option, without a value" 2 "^kvm_halt_poll: $option needs a value$" "" \
			"$TOOL" "$command" "$option"
		for value; do
			check "$command $option '$value'" 2 \
				"^kvm_halt_poll: $name takes $takes, not '$value'$" "" \
				"$TOOL" "$command" "$option" "$value"
		done
	done
	check "$command ${name%?}" 2 "^kvm_halt_poll: ${name%?}: no such option" "" \
		"$TOOL" "$command" "${name%?}" 1
	check "$command ${name%?}=1" 2 "^kvm_halt_poll: ${name%?}=1: no such option" "" \
		"$TOOL" "$command" "${name%?}=1"
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

test_unprivileged()
{
	local out=$tmp/record

	mkdir "$out"
	chmod 777 "$tmp" "$out"
	refuses "record: not as root" "(no tracefs: is this run as root|cannot be used: Permission denied)" \
		"${IN_BASH[@]}" unprivileged "$TOOL" record -d 1 -o "$out/x.csv"
	verdict "record: nothing is left" "$(ls "$out")"
	refuses "top: not as root" "(no tracefs: is this run as root|cannot be used: Permission denied)" \
		"${IN_BASH[@]}" unprivileged "$TOOL" top -n 1
	verdict "top: nothing is shown" "$(cat "$tmp/stdout")"
}

main()
{
	echo "TAP version 13"
	test_commands
	test_output
	test_unprivileged
	done_testing
}

main "$@"
