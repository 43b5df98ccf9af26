#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a Linux guest in the booted host, under a real VMM, and say what it saw.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: guest.sh <base>
	Boots build/<base>/patched in virtual time, and in it the guest of
	build/<base>/guest.
	END
	exit 2
}

main()
{
	local dir

	[[ $# == 1 && $1 != -* ]] || usage
	require_base "$1"
	dir=$BUILD/$1
	"$ROOT/harness/boot.sh" -m virtual -M 2G -t 600 -c kunit.enable=0 \
		-k "$dir/patched/vmlinux" -i "$dir/guest/host.cpio" \
		-j "$ROOT/harness/guest.job" -o "$dir/run/guest" || {
		cat "$dir/run/guest"/result.* >&2
		exit 1
	}
	cat "$dir/run/guest/result.txt"
}

main "$@"
