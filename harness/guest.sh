#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a Linux guest in the booted host, under a real VMM, and say what it saw.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# On QEMU's SVM a guest now and then hangs, which its job sees: another seed of random
# numbers is tried then, once, and that is told.  A boot takes some 10 s.
SEEDS=(1 2)
TIMEOUT=180

usage()
{
	cat >&2 <<-END
	usage: guest.sh <base> [traces]
	Boots build/<base>/patched in virtual time, and in it the guest of
	build/<base>/guest, and says what it saw; or records what some workloads do,
	leaves that in build/<base>/guest/traces/, and has it verified.
	END
	exit 2
}

# boot <seed>
boot()
{
	"$ROOT/harness/boot.sh" -m virtual -S "$1" -M 2G -t $TIMEOUT -c kunit.enable=0 \
		-k "$dir/patched/vmlinux" -i "$dir/guest/$image.cpio" \
		-j "$ROOT/harness/$job.job" -o "$out" 2>"$out.err"
}

# traces: out of the archive, and whether the patched kernel did as its rule says.
traces()
{
	local trace to=$dir/guest/traces

	rm -rf "$to"
	mkdir "$to"
	tar -C "$to" -xzf "$out/result.txt" || die "what was recorded does not come out whole, see $out"
	for trace in "$to"/*.csv; do
		echo "${trace##*/}:"
		"$dir/tool/plain/kvm_halt_poll" verify "$trace"
	done
}

main()
{
	local seed job=guest${2:+-$2} image=host

	[[ $# -ge 1 && $# -le 2 && $1 != -* && ${2:-traces} == traces ]] || usage
	require_base "$1"
	dir=$BUILD/$1
	out=$dir/run/$job
	[[ $job == guest ]] || image=traces
	mkdir -p "$dir/run"
	for seed in "${SEEDS[@]}"; do
		say "guest: booting host and guest, seed $seed"
		if boot "$seed"; then
			if [[ $job == guest ]]; then cat "$out/result.txt"; else traces; fi
			return
		fi
		# To the console, where the result is an archive.
		grep -qs '^guest: no word' "$out"/result.* "$out/console.log" || break
		say "guest: hangs at seed $seed"
	done
	cat "$out.err" "$out"/result.* >&2
	die "the guest does not boot"
}

main "$@"
