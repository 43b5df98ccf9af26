#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make the patch series from series/ and our own files, against a kernel tree.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
	cat >&2 <<-END
	usage: series.sh <base> <tree> <revision> <version> <outdir>
	Writes <outdir>/0000-cover-letter.patch, 0001-...: the series for <base>,
	against the files of <tree> (a git tree at <revision>; "" takes them as they
	stand).  <version> is what the cover letter says the series was made against.
	END
	exit 2
}

# The same inputs make the same bytes, so all commits carry one fixed date.
identity()
{
	local name email

	name=$(git -C "$ROOT" config user.name || git -C "$ROOT" log -1 --format=%an) ||
		die "no git identity: set user.name and user.email"
	email=$(git -C "$ROOT" config user.email || git -C "$ROOT" log -1 --format=%ae)
	export GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email
	export GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email
	export GIT_AUTHOR_DATE='2026-01-01T00:00:00+0000'
	export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

# A small git tree that holds, of the kernel's, only what the series touches.
make_slice()
{
	local -a paths

	mkdir -p "$slice"
	if [[ $revision ]]; then
		mapfile -t paths < <(series_paths "$base" |
			xargs -d '\n' git -C "$tree" ls-tree -r --name-only "$revision" --)
		[[ ! ${paths[*]} ]] ||
			git -C "$tree" archive "$revision" -- "${paths[@]}" | tar -x -C "$slice"
	else
		mapfile -t paths < <(series_paths "$base" | existing "$tree")
		[[ ! ${paths[*]} ]] ||
			(cd "$tree" && cp --parents -t "$slice" -- "${paths[@]}")
	fi
	git -C "$slice" init -q -b base
	git -C "$slice" add -A -f
	git -C "$slice" commit -q --allow-empty -m base
}

# refuse <step> <file> <what went wrong>
refuse()
{
	die "$base: step $(basename "$1"): $(basename "$2"): $3"
}

# Our MAINTAINERS holds our sections only.  Each goes behind the one whose title
# comes next before it in the alphabet, for the kernel's are not all in order.
merge_maintainers()
{
	local theirs=$slice/MAINTAINERS

	awk 'function is_title() { return /^[A-Z0-9]/ && !/^[A-Z]:/ }
	FNR == 1 { file++; list = 0 }
	file == 1 {
		if (is_title()) names[++n] = $0
		if (n) text[n] = text[n] $0 "\n"
		next
	}
	file == 2 && is_title() && list {
		for (i = 1; i <= n; i++)
			if ($0 < names[i] && $0 > before[i]) before[i] = $0
	}
	file == 3 && is_title() {
		for (i = 1; i <= n; i++)
			if (last == before[i] && before[i] != "") { print text[i]; done++ }
		last = $0
	}
	file == 3 { print }
	/^Maintainers List/ { list = 1 }
	END { exit done != n }' "$ROOT/MAINTAINERS" "$theirs" "$theirs" >"$work/merged" ||
		return 1
	mv "$work/merged" "$theirs"
}

copy_files()
{
	local path

	[[ -e $1/files ]] || return 0
	while read -r path; do
		[[ -f $ROOT/$path ]] || refuse "$1" files "we have no $path"
		if [[ $path == MAINTAINERS ]]; then
			merge_maintainers || refuse "$1" files "no place for a section of MAINTAINERS"
			continue
		fi
		[[ ! -e $slice/$path ]] || refuse "$1" files "the tree has a $path already"
		mkdir -p "$slice/$(dirname "$path")"
		cp "$ROOT/$path" "$slice/$path"
	done <"$1/files"
}

# rule_names <file.cocci>
rule_names()
{
	sed -n 's/^@ *\([A-Za-z_][A-Za-z0-9_]*\).*@$/\1/p' "$1"
}

# with_witnesses <file.cocci>: spatch does not tell which of the rules matched,
# so behind each a script says so.
with_witnesses()
{
	local name

	cat "$1"
	for name in $(rule_names "$1"); do
		printf '\n@ script:python depends on %s @\n@@\nprint("matched: %s")\n' "$name" "$name"
	done
}

apply_cocci()
{
	local step=$1 file=$2 target name log=$work/log
	local -a targets

	mapfile -t targets < <(cocci_targets "$file")
	[[ ${targets[*]} ]] || refuse "$step" "$file" "its first line names no files"
	for target in "${targets[@]}"; do
		[[ -f $slice/$target ]] || refuse "$step" "$file" "the tree has no $target"
	done
	[[ $(rule_names "$file" | wc -l) == $(grep -c '^@@$' "$file") ]] ||
		refuse "$step" "$file" "a rule has no name"
	with_witnesses "$file" >"$work/rules.cocci"
	(cd "$slice" && spatch --very-quiet --sp-file "$work/rules.cocci" --in-place "${targets[@]}") \
		>"$log" 2>&1 ||
		refuse "$step" "$file" "spatch: $(grep -v -e '^$' -e '^warning:' "$log" | head -n 2 | xargs -d '\n')"
	for name in $(rule_names "$file"); do
		grep -qxF "matched: $name" "$log" ||
			refuse "$step" "$file" "rule $name matches nothing in ${targets[*]}"
	done
}

apply_diff()
{
	git -C "$slice" apply --whitespace=nowarn "$2" 2>"$work/log" ||
		refuse "$1" "$2" "$(head -n 1 "$work/log")"
}

# A step that is for no file of this base leaves no commit.
apply_step()
{
	local step=$1 file

	[[ -s $step/message ]] || refuse "$step" message "missing or empty"
	copy_files "$step"
	while read -r file; do
		apply_cocci "$step" "$file"
	done < <(edits "$step" "$base" cocci)
	while read -r file; do
		apply_diff "$step" "$file"
	done < <(edits "$step" "$base" diff)
	git -C "$slice" add -A -f
	! git -C "$slice" diff --cached --quiet || return 0
	git -C "$slice" commit -q -F "$step/message"
}

# The first paragraph of series/cover is the subject, the rest the text.  The
# second From: is the one by which git am knows mail that holds no patch, and
# passes over it: without it the letter would stop git am patches/<base>/*.patch.
cover_letter()
{
	local subject count

	subject=$(sed '/^$/q' "$ROOT/series/cover" | xargs)
	count=$(git -C "$slice" rev-list --count base..series)
	printf 'From %040d Mon Sep 17 00:00:00 2001\n' 0
	printf 'From: %s <%s>\n' "$GIT_AUTHOR_NAME" "$GIT_AUTHOR_EMAIL"
	printf 'From: Mail System Internal Data <git-am-skips-this@localhost>\n'
	printf 'Date: %s\n' "$(git -C "$slice" log -1 --format=%aD base)"
	printf 'Subject: [PATCH 0/%d] %s\n\n' "$count" "$subject"
	sed '1,/^$/d' "$ROOT/series/cover"
	printf '\nMade against: %s\n\n' "$version"
	git -C "$slice" shortlog -w74,2,4 base..series
	git -C "$slice" diff --stat=74 --summary base series
}

format_series()
{
	git -C "$slice" format-patch -q --zero-commit --no-signature -N --abbrev=12 \
		--subject-prefix=PATCH -n -o "$work/out" base..series
	cover_letter >"$work/out/0000-cover-letter.patch"
	rm -rf "$outdir.old"
	mkdir -p "$outdir"
	mv "$outdir" "$outdir.old"
	mv "$work/out" "$outdir"
	rm -rf "$outdir.old"
}

main()
{
	local step

	[[ $# == 5 ]] || usage
	base=$1 tree=$2 revision=$3 version=$4 outdir=$5
	require_base "$base"
	command -v spatch >/dev/null || die "no spatch: install coccinelle"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	slice=$work/slice
	identity
	make_slice
	git -C "$slice" checkout -q -b series
	while read -r step; do
		apply_step "$step"
	done < <(steps "$base")
	format_series
}

main "$@"
