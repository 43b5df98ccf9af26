#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a Linux guest in the booted host, under a real VMM, and say what it saw.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# On QEMU's SVM a guest now and then hangs: another seed of random numbers is tried
# then, and that is told.  A boot takes some 20 s.
SEEDS=(1 2 3 4)
TIMEOUT=60

usage()
{
	cat >&2 <<-END
	usage: guest.sh <base>
	Boots build/<base>/patched in virtual time, and in it the guest of
	build/<base>/guest.
	END
	exit 2
}

# boot <seed>
boot()
{
	"$ROOT/harness/boot.sh" -m virtual -S "$1" -M 2G -t $TIMEOUT -c kunit.enable=0 \
		-k "$dir/patched/vmlinux" -i "$dir/guest/host.cpio" \
		-j "$ROOT/harness/guest.job" -o "$out" 2>"$out.err"
}

main()
{
	local seed

	[[ $# == 1 && $1 != -* ]] || usage
	require_base "$1"
	dir=$BUILD/$1
	out=$dir/run/guest
	mkdir -p "$dir/run"
	for seed in "${SEEDS[@]}"; do
		say "guest: booting host and guest, seed $seed"
		if boot "$seed"; then
			cat "$out/result.txt"
			return
		fi
		grep -qE '^guest: no word|^boot.sh: no status: not done' "$out.err" "$out"/result.* || break
		say "guest: hangs at seed $seed"
	done
	cat "$out.err" "$out"/result.* >&2
	die "the guest does not boot"
}

main "$@"
