#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make the series against somebody's own kernel tree, and apply it there.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BRANCH=kvm-halt-poll

usage()
{
	cat >&2 <<-END
	usage: am.sh <kernel tree>
	A git tree gets the series by git am on a new branch, $BRANCH, made from
	its HEAD; what is checked out stays as it is.  Any other tree gets its
	files changed.  The patches are left in build/am/.
	END
	exit 2
}

# The tree's version as its Makefile says, e.g. 6.12.
tree_version()
{
	awk '$1 == "VERSION" { v = $3 } $1 == "PATCHLEVEL" { print v "." $3; exit }' \
		"$tree/Makefile" 2>/dev/null
}

# The base of that version, else the next older one, else the oldest.
nearest_base()
{
	local candidate

	for candidate in $(bases); do
		printf '%s\n%s\n' "$candidate" "$1" | sort -CV || continue
		echo "$candidate"
		return
	done
	bases | tail -n 1
}

is_git()
{
	[[ $(git -C "$tree" rev-parse --show-toplevel 2>/dev/null) == "$tree" ]]
}

check_git()
{
	local changed

	git -C "$tree" rev-parse -q --verify HEAD >/dev/null || die "$tree: no commit yet"
	changed=$(series_paths "$base" | xargs -d '\n' git -C "$tree" status --porcelain --)
	[[ ! $changed ]] ||
		die "$tree: uncommitted changes in files of the series: $(awk '{ print $2 }' <<<"$changed" | xargs)"
	! git -C "$tree" rev-parse -q --verify "refs/heads/$BRANCH" >/dev/null ||
		die "$tree: has a branch $BRANCH already: rename or delete it"
}

# In a work tree of its own, so that nothing of the user's is touched.  It holds
# no file: git am takes what it needs from the index.
apply_git()
{
	local -a git=(git -C "$work/tree")

	git -C "$tree" worktree add -q --no-checkout -b "$BRANCH" "$work/tree" HEAD
	"${git[@]}" reset -q
	git -C "$tree" var GIT_COMMITTER_IDENT >/dev/null 2>&1 ||
		git+=(-c user.name=am.sh -c user.email=am.sh@localhost)
	if ! "${git[@]}" am -q "${patches[@]}" >"$work/log" 2>&1; then
		git -C "$tree" worktree remove --force "$work/tree"
		git -C "$tree" branch -qD "$BRANCH"
		die "$tree: git am: $(grep -m1 -E '^(error|fatal):' "$work/log")"
	fi
	git -C "$tree" worktree remove --force "$work/tree"
	say "done: ${#patches[@]} patches on branch $BRANCH of $tree"
}

# All patches or none: git apply checks them together before it writes.
apply_plain()
{
	(cd "$tree" && GIT_CEILING_DIRECTORIES=$(dirname "$tree") git apply "${patches[@]}") 2>"$work/log" ||
		die "$tree: git apply: $(head -n 1 "$work/log")"
	say "done: ${#patches[@]} patches applied to the files of $tree"
}

main()
{
	local version revision=''

	[[ $# == 1 && $1 != -* ]] || usage
	[[ $1 ]] || die "which tree? make am KDIR=<kernel tree>"
	tree=$(realpath -e -- "$1" 2>/dev/null) || die "no such tree: $1"
	version=$(tree_version) || true
	[[ $version && -f $tree/virt/kvm/kvm_main.c ]] || die "$tree is not a kernel tree"
	base=$(nearest_base "$version")
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	if is_git; then
		check_git
		revision=HEAD
	fi
	say "$tree is $version: making the series by the rules for $base"
	out=$BUILD/am
	"$ROOT/harness/series.sh" "$base" "$tree" "$revision" "Linux $version" "$out"
	patches=("$out"/*.patch)
	patches=("${patches[@]:1}")	# the cover letter
	if [[ $revision ]]; then
		apply_git
	else
		apply_plain
	fi
}

main "$@"
