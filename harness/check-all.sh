#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tests on every base, on x86 and what boots of arm64, then the long ones of
# the arithmetic, and one count.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# on_base <base> <arch>
on_base()
{
	local count=$out/base-$1-$2.log

	say "checking $1 $2"
	make --no-print-directory -C "$ROOT" check BASE="$1" ARCH="$2" | tee "$count" || true
	sed -n "s/^failed: /failed: $1 $2: /p" "$count" >>"$out/failed"
	grep -E '^[0-9]+ passed, ' "$count" >>"$out/counts" || echo "0 passed, 1 failed, 0 skipped" >>"$out/counts"
}

# long <name> <command>...: counts as one.
long()
{
	local name=$1 log=$out/$1.log
	shift

	say "$name"
	if "$@" >"$log" 2>&1; then
		echo "$name: $(tail -n 1 "$log")"
		echo "1 passed, 0 failed, 0 skipped" >>"$out/counts"
	else
		tail -n 20 "$log"
		echo "failed: $name" >>"$out/failed"
		echo "0 passed, 1 failed, 0 skipped" >>"$out/counts"
	fi
}

main()
{
	local base script

	out=$BUILD/check-all
	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/failed"
	for base in $(bases); do
		on_base "$base" x86
	done
	# Not 6.1, whose selftest library lacks what the tests need on arm64.
	for base in 7.3 6.12; do
		on_base "$base" arm64
	done
	for script in mutants cost exhaustive fuzz; do
		long "$script" "$ROOT/harness/userspace/$script.sh"
	done
	long fuzz-tool "$ROOT/harness/fuzz-tool.sh" 6.12
	cat "$out/failed"
	awk '{ p += $1; f += $3; s += $5 }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$out/counts"
}

main "$@"
