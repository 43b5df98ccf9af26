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

# copy_base <base>: a copy of the base, of hard links, in build/copy/, for tests
# that change what is checked out while others build from build/<base>/linux.
# The caller has it to itself until it exits.
copy_base()
{
	local from=$BUILD/$1 to=$BUILD/copy/$1 id

	[[ -e $from/paths ]] || die "$1 is not fetched: make fetch BASE=$1"
	mkdir -p "$BUILD/copy"
	exec 8>"$BUILD/copy/$1.lock"
	flock -n 8 || { say "$1: waiting for another test on its copy"; flock 8; }
	id=$(cat "$from/version" "$from/paths")
	[[ $id != "$(cat "$to/id" 2>/dev/null)" ]] || return 0
	say "$1: copying the tree"
	rm -rf "$to"
	mkdir -p "$to"
	# git replaces files and builds write elsewhere: no link's other end changes.
	mkdir "$to/linux"
	find "$from/linux" -mindepth 1 -maxdepth 1 ! -name .git -print0 |
		xargs -0 cp -al -t "$to/linux" || die "$1: copying failed"
	git clone -q -n -b base --single-branch "$from/linux" "$to/clone"
	mv "$to/clone/.git" "$to/linux/.git"
	rmdir "$to/clone"
	echo '*' >"$to/linux/.git/info/exclude"
	(cd "$to/linux" && xargs -d '\n' rm -f --) <"$from/paths"
	git -C "$to/linux" checkout -qf base
	cp "$from/paths" "$to/paths"
	echo "$id" >"$to/id"
}

# tiny_config <obj> <option=value>...: tinyconfig with these on top; the array
# kmake is the make command.  An option that gets lost is an error.
tiny_config()
{
	local obj=$1 option lost=()

	shift
	# shellcheck disable=SC2154 # the caller's
	"${kmake[@]}" tinyconfig
	printf 'CONFIG_%s\n' "$@" >>"$obj/.config"
	"${kmake[@]}" olddefconfig
	for option; do
		case $option in
		*=n)
			! grep -q "^CONFIG_${option%=n}=" "$obj/.config" || lost+=("$option")
			;;
		*)
			grep -qx "CONFIG_$option" "$obj/.config" || lost+=("$option")
			;;
		esac
	done
	[[ ! ${lost[*]} ]] || die "options that did not survive olddefconfig: ${lost[*]}"
}

# checkpatch <tree> <patch>: checkpatch cannot look up commits without the
# kernel's history; the section in MAINTAINERS comes last; whoever submits the
# series signs it off.  A program has long texts, and names that C gives it; no
# TRACE_EVENT() is laid out as it wants.
checkpatch()
{
	local ignore=UNKNOWN_COMMIT_ID,FILE_PATH_CHANGES

	[[ $2 != *-KVM-tools-* ]] ||
		ignore+=,SPLIT_STRING,EMBEDDED_FUNCTION_NAME,VOLATILE,CAMELCASE
	! grep -q '^+TRACE_EVENT(' "$2" || ignore+=,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
	perl "$1/scripts/checkpatch.pl" --no-tree --strict -q --no-signoff --ignore "$ignore" "$2"
}
