#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every patch of a series by itself: does it build, and without new warnings?
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The second is for bases that refuse Debian 12's own.
readonly CLANGS=(clang clang-19)
readonly PACKAGES=("${CLANGS[@]}" python3-sphinx sparse
	gcc-powerpc64-linux-gnu gcc-powerpc64le-linux-gnu)

# What differs between the compilations: make's arguments, the objects.
readonly X86_OBJECTS=(arch/x86/kvm/../../../virt/kvm/kvm_main.o)
readonly PPC_OBJECTS=(arch/powerpc/kvm/book3s_hv.o
	arch/powerpc/kvm/../../../virt/kvm/kvm_main.o)
readonly KUNIT_OBJECT=virt/kvm/tests/halt_poll_kunit.o

usage()
{
	cat >&2 <<-END
	usage: bisect.sh <base>
	Goes through patches/<base>, one patch after the other, in a copy of the tree.
	For each patch, if it touches what the check reads:
	  build             KVM's objects for x86 with -Werror; the kernel is linked
	                    if KVM wants a symbol that it did not want before
	  W=1, sparse       no warning that the base does not have
	  powerpc-be, -le   book3s_hv.c with W=1, likewise
	  checkpatch, kernel-doc
	  kunit             the suite under UML, from where it exists
	and for the whole series: clang, htmldocs.
	The last line counts results; logs are in build/<base>/bisect/.
	END
	exit 2
}

# record passed|failed|skipped <check> [reason]
record()
{
	printf '%s %-12s %s%s\n' "$patch" "$2" "$1" "${3:+: $3}" | tee -a "$out/results"
	if [[ $1 == failed && -s $out/$patch.$2 ]]; then
		tail -n 20 "$out/$patch.$2" | sed 's/^/    /' >&2
	fi
}

# reason <log>: the first error that a compiler or make tells of, or the last line.
reason()
{
	grep -m1 -E '(error|Error|\*\*\*)[: ]' "$1" || tail -n 1 "$1"
}

# check <name> <command>...: its output is the check's log.
check()
{
	local name=$1

	shift
	# In a subshell of its own: within an "if", set -e would not hold.
	set +e
	(set -e; "$@") >"$out/$patch.$name" 2>&1
	case $? in
	0) record passed "$name" ;;
	*) record failed "$name" "$(reason "$out/$patch.$name")" ;;
	esac
	set -e
}

# sparse_all <argument>... <file>: stands for sparse in make's CHECK.  sparse
# exits with 0 when it gives up half-way, so a mistake is planted behind the
# file's last line: if it is not found, the file was not checked.
sparse_all()
{
	local file=${*: -1} canary found

	canary=$(mktemp --suffix=-canary.c)
	printf '#include "%s"\nvoid *harness_canary = 0;\n' "$(realpath "$file")" >"$canary"
	# sparse 0.6.4 does not know what 7.3 is written with: an operator, and that
	# a string's length is constant.  After an error it warns of nothing more.
	found=$(sparse -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s)-1)' \
		"${@:1:$#-1}" "$canary" 2>&1) || true
	rm -f "$canary"
	if grep -q 'canary\.c:.*Using plain integer as NULL' <<<"$found"; then
		echo "sparse: has read $(basename "$file")"
	fi
	sed '/canary\.c:/d; s/^/sparse: /' <<<"$found"
}

# set_kmake x86|clang|be|le: the make command for one of the object directories.
set_kmake()
{
	local arch=x86 cross='' cc=()

	case $1 in
	clang) cc=(CC="$clang" HOSTCC="$clang") ;;
	be) arch=powerpc cross=powerpc64-linux-gnu- ;;
	le) arch=powerpc cross=powerpc64le-linux-gnu- ;;
	esac
	obj=$dir/$1
	mkdir -p "$obj"
	kmake=(make -j2 -C "$tree" O="$obj" ARCH="$arch" CROSS_COMPILE="$cross"
		LOCALVERSION= "${cc[@]}")
}

# x86_options: as in the kernels that are booted, and KVM with -Werror.
x86_options()
{
	local file

	for file in "$ROOT/harness/x86.config" "$ROOT/harness/x86.$base.config"; do
		[[ ! -e $file ]] ||
			sed -n 's/^CONFIG_//p; s/^# CONFIG_\([A-Z0-9_]*\) is not set/\1=n/p' "$file"
	done
	echo KVM_WERROR=y
	[[ ! -d $tree/virt/kvm/tests ]] || echo KVM_HALT_POLL_KUNIT_TEST=y
}

powerpc_options()
{
	printf '%s\n' PPC64=y PPC_BOOK3S_64=y PPC_POWERNV=y VIRTUALIZATION=y \
		KVM_BOOK3S_64=y KVM_BOOK3S_64_HV=y
	case $1 in
	be) echo CPU_BIG_ENDIAN=y ;;
	le) echo CPU_LITTLE_ENDIAN=y ;;
	esac
}

# configure <kind>
configure()
{
	local -a options

	set_kmake "$1"
	case $1 in
	x86 | clang) mapfile -t options < <(x86_options) ;;
	*) mapfile -t options < <(powerpc_options "$1") ;;
	esac
	(tiny_config "$obj" "${options[@]}") >"$out/$patch.config-$1" 2>&1 || {
		record failed "config-$1" "$(tail -n 1 "$out/$patch.config-$1")"
		return 1
	}
}

# kvm_wants: the symbols that KVM on x86 takes from the rest of the kernel.
kvm_wants()
{
	nm "$obj"/arch/x86/kvm/*.o "$obj"/virt/kvm/*.o 2>/dev/null |
		awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u
}

# build: all of KVM; -Werror comes with the configuration.
build()
{
	set_kmake x86
	"${kmake[@]}" arch/x86/kvm/
	kvm_wants >"$dir/wants.new"
	[[ -e $dir/wants ]] || cp "$dir/wants.new" "$dir/wants"
	if [[ $(comm -13 "$dir/wants" "$dir/wants.new") ]]; then
		echo "new symbols: $(comm -13 "$dir/wants" "$dir/wants.new" | xargs)"
		"${kmake[@]}" vmlinux
	fi
}

# compile <object>...: with W=1, where warnings are for us to compare.
compile()
{
	(cd "$obj" && rm -f -- "$@")
	"${kmake[@]}" W=1 CONFIG_WERROR= CONFIG_KVM_WERROR= "$@"
}

# objects <object>...: with the suite where it exists.
objects()
{
	printf '%s\n' "$@"
	[[ ! -d $tree/virt/kvm/tests ]] || echo "$KUNIT_OBJECT"
}

# warnings <log>: sorted, without what differs from run to run or by a moved line.
warnings()
{
	grep -E '(warning|error|WARNING|ERROR): ' "$1" |
		sed -E -e "s,$tree/,,g" -e 's,(\.\./)+,,g' \
			-e 's/:[0-9]+(:[0-9]+)?:/:/g' | sort || true
}

# no_news <kind> <log>: the log has no warning that the base's has not.
no_news()
{
	local news

	warnings "$2" >"$2.warnings"
	if [[ $patch == base ]]; then
		cp "$2.warnings" "$out/baseline.$1"
		echo "$(wc -l <"$2.warnings") warnings on the base"
		return
	fi
	news=$(comm -13 "$out/baseline.$1" "$2.warnings")
	if [[ $news ]]; then
		echo "$news"
		echo "$(wc -l <<<"$news") new warnings, the first: ${news%%$'\n'*}"
		return 1
	fi
}

# x86: one run of make serves the compiler and sparse.
run_w1()
{
	local -a objects

	mapfile -t objects < <(objects "${X86_OBJECTS[@]}")
	set_kmake x86
	compile C=2 CHECK="bash $ROOT/harness/bisect.sh --sparse" "${objects[@]}" \
		>"$out/$patch.make" 2>&1 || { cat "$out/$patch.make"; return 1; }
	grep -v '^sparse: ' "$out/$patch.make" >"$out/$patch.make-w1"
	no_news w1 "$out/$patch.make-w1"
}

run_sparse()
{
	local object

	grep '^sparse: ' "$out/$patch.make" >"$out/$patch.make-sparse" || true
	for object in $(objects "${X86_OBJECTS[@]}"); do
		grep -qxF "sparse: has read $(basename "$object" .o).c" "$out/$patch.make-sparse" || {
			grep -m 3 'error:' "$out/$patch.make-sparse" || true
			echo "sparse has not read $(basename "$object" .o).c to its end"
			return 1
		}
	done
	no_news sparse "$out/$patch.make-sparse"
}

# run_other clang|be|le
run_other()
{
	local -a objects=("${PPC_OBJECTS[@]}")

	[[ $1 != clang ]] || mapfile -t objects < <(objects "${X86_OBJECTS[@]}")
	set_kmake "$1"
	compile "${objects[@]}" >"$out/$patch.make-$1" 2>&1 ||
		{ cat "$out/$patch.make-$1"; return 1; }
	no_news "$1" "$out/$patch.make-$1"
}

# sphinx exits with 0 whatever it finds, and finds less in what it has read before.
run_htmldocs()
{
	rm -rf "$dir/docs"
	mkdir -p "$dir/docs"
	make -C "$tree" O="$dir/docs" SPHINXDIRS=virt/kvm htmldocs >"$out/$patch.make-docs" 2>&1 ||
		{ cat "$out/$patch.make-docs"; return 1; }
	[[ $(find "$dir/docs" -name 'halt-polling.html') ]] ||
		{ echo "no halt-polling.html was made"; return 1; }
	no_news docs "$out/$patch.make-docs"
}

run_kernel_doc()
{
	local log=$out/$patch.make-kernel-doc

	"$tree/scripts/kernel-doc" -none "$tree/include/linux/kvm_halt_poll.h" >"$log" 2>&1 ||
		{ cat "$log"; return 1; }
	cat "$log"
	[[ ! -s $log ]]
}

# In kunit.sh's own object directory, which saves building UML once more.
run_kunit()
{
	"$ROOT/harness/kunit.sh" -t "$tree" "$base" um
}

# pick_clang: the first that is new enough for this base.
pick_clang()
{
	local want

	want=$("$tree/scripts/min-tool-version.sh" llvm)
	for clang in "${CLANGS[@]}"; do
		! printf '%s\n' "$want" "$("$clang" -dumpversion)" | sort -VC || return 0
	done
	refused="$clang is $("$clang" -dumpversion), this base wants $want"
	return 1
}

# touches <regex>: does the patch touch such a file?
touches()
{
	[[ $patch == base ]] || grep -qE "$1" "$out/$patch.files"
}

checkout()
{
	git -C "$tree" checkout -q --detach "$1"
	[[ $patch == base ]] ||
		git -C "$tree" diff-tree -r --no-commit-id --name-only "$1" >"$out/$patch.files"
}

# each: what is checked after every patch, and of the base before the first.
each()
{
	local kind

	if touches '(^|/)Kconfig'; then
		configure x86 || return 0
	fi
	if touches '^(arch/x86|include|virt|lib)/'; then
		check build build
		check w1 run_w1
		check sparse run_sparse
	fi
	if touches '^(arch/powerpc|include)/'; then
		for kind in be le; do
			if [[ $patch == base ]]; then
				configure $kind || continue
			fi
			check powerpc-$kind run_other $kind
		done
	fi
}

# whole: what is checked of the base and of the whole series only.
whole()
{
	local clang refused

	if ! pick_clang; then
		[[ $patch == base ]] || record skipped clang "$refused"
	elif configure clang; then
		check clang run_other clang
	fi
	check htmldocs run_htmldocs
}

# walk: the series' commits are the base's patches, in order.
walk()
{
	local commit file
	local -a files=("$out"/patches/*.patch)

	files=("${files[@]:1}")
	[[ $(git -C "$tree" rev-list --count base..series) == "${#files[@]}" ]] ||
		die "$base: patches/ has changed meanwhile"
	for commit in $(git -C "$tree" rev-list --reverse base..series); do
		file=${files[0]}
		files=("${files[@]:1}")
		patch=$(basename "$file" | cut -c1-4)
		checkout "$commit"
		say "$base: $(basename "$file")"
		check checkpatch checkpatch "$tree" "$file"
		each
		if touches '^include/linux/kvm_halt_poll.h'; then
			check kernel-doc run_kernel_doc
		fi
		if [[ -d $tree/virt/kvm/tests ]]; then
			check kunit run_kunit
		fi
	done
}

# nothing_written: the copy's links lead into a tree that others build from.
nothing_written()
{
	local files

	files=$(find "$tree" -path "$tree/.git" -prune -o -type f -links +1 \
		-newer "$out/start" -print)
	[[ ! $files ]] || { echo "written in place: $files"; return 1; }
}

count()
{
	grep -cE "^[^ ]+ +[^ ]+ +$1" "$out/results" || true
}

main()
{
	if [[ ${1:-} == --sparse ]]; then
		shift
		sparse_all "$@"
		return
	fi
	[[ $# == 1 && $1 != -* ]] || usage
	base=$1
	require_base "$base"
	"$ROOT/harness/deps.sh" "${PACKAGES[@]}"
	copy_base "$base"
	BUILD=$BUILD/copy "$ROOT/harness/tree.sh" "$base" patched
	tree=$BUILD/copy/$base/linux
	dir=$BUILD/$base/bisect
	out=$dir/log
	rm -rf "$out" "$dir/wants"
	mkdir -p "$out"
	cp -r "$ROOT/patches/$base" "$out/patches"
	touch "$out/start"
	# Left on a branch, tree.sh has nothing to do next time.
	trap 'git -C "$tree" checkout -qf series' EXIT

	SECONDS=0
	patch=base
	checkout base
	say "$base: the base, to compare with"
	each
	whole
	walk
	patch=all
	whole
	check links nothing_written
	say "$base: $SECONDS s"
	sed -n 's/^\([^ ]*\) *\([^ ]*\) *skipped: /skipped: \1 \2: /p' "$out/results"
	printf '%d passed, %d failed, %d skipped\n' "$(count passed)" "$(count failed)" "$(count skipped)"
	[[ $(count failed) == 0 ]]
}

main "$@"
