# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts of the harness share; sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$ROOT/build}
export LC_ALL=C

# die <text>: one line on stderr, and out.
die()
{
	printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# say <text>: progress, on stderr so that stdout stays for results.
say()
{
	printf '[%s] %s\n' "$(date +%T)" "$*" >&2
}

# bases: those that harness/bases lists, newest first.
bases()
{
	awk '!/^#/ && NF { print $1 }' "$ROOT/harness/bases"
}

# require_base <base>
require_base()
{
	bases | grep -qxF -- "$1" || die "no base '$1'; there are: $(bases | xargs)"
}

# steps <base>: the folders of series/ that are for this base, in order.
steps()
{
	local dir

	for dir in "$ROOT"/series/[0-9]*/; do
		if [[ ! -e $dir/bases ]] || grep -qxF -- "$1" "$dir/bases"; then
			printf '%s\n' "${dir%/}"
		fi
	done
}

# edits <step> <base> <suffix>: its files of that kind, those of other bases left out.
edits()
{
	local file name other

	for file in "$1"/*."$3"; do
		[[ -e $file ]] || continue
		name=${file%."$3"}
		for other in $(bases); do
			[[ $other == "$2" || $name != *."$other" ]] || continue 2
		done
		printf '%s\n' "$file"
	done
}

# cocci_targets <file.cocci>: the files it is for, named in its first line.
cocci_targets()
{
	sed -n '1s,^// files: *,,p' "$1" | tr ' ' '\n'
}

# step_paths <step> <base>: every file of the kernel tree that the step touches.
step_paths()
{
	local file

	[[ ! -e $1/files ]] || cat "$1/files"
	edits "$1" "$2" cocci | while read -r file; do
		cocci_targets "$file"
	done
	edits "$1" "$2" diff | while read -r file; do
		sed -n 's,^[-+][-+][-+] [ab]/,,p' "$file"
	done
}

# series_paths <base>: the same for the whole series.
series_paths()
{
	local step

	steps "$1" | while read -r step; do
		step_paths "$step" "$1"
	done | sort -u
}

# existing <tree>: of the paths on stdin, those that the tree has.
existing()
{
	local path

	while read -r path; do
		[[ ! -e $1/$path ]] || printf '%s\n' "$path"
	done
}
