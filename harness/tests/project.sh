# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A project and kernel trees so small that a series takes no time; sourced.
# Everything lies in $work, which goes away at exit.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project=$work/project
export BUILD=$work/build
export GIT_CONFIG_GLOBAL=$work/gitconfig
git config --global user.name Tester
git config --global user.email tester@localhost

# make_project: two steps, one by Coccinelle and one by a diff and a new file.
make_project()
{
	rm -rf "$project"
	mkdir -p "$project/include/linux" "$project"/series/{01-double,02-header}
	cp -r "$(dirname "${BASH_SOURCE[0]}")/.." "$project/harness"
	git -C "$project" init -q
	printf 'KVM: Test\n\nA series.\n' >"$project/series/cover"
	cat >"$project/series/01-double/double.cocci" <<-'END'
	// files: virt/kvm/kvm_main.c
	@ twice @
	@@
	- return 1;
	+ return 2;
	END
	printf 'KVM: Return 2\n\nTwice as good.\n' >"$project/series/01-double/message"
	cat >"$project/series/02-header/wire.diff" <<-'END'
	--- a/virt/Makefile
	+++ b/virt/Makefile
	@@ -1 +1,2 @@
	 obj-y += lib/
	+obj-y += kvm/
	END
	printf 'KVM: Add a header\n\nIt is of use.\n' >"$project/series/02-header/message"
	echo include/linux/ours.h >"$project/series/02-header/files"
	echo '#define OURS 1' >"$project/include/linux/ours.h"
}

# make_tree: a kernel tree of version 6.12 that the series fits, not yet git.
make_tree()
{
	tree=$work/tree
	rm -rf "$tree"
	mkdir -p "$tree/virt/kvm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$tree/Makefile"
	printf 'int halt(void)\n{\n\treturn 1;\n}\n' >"$tree/virt/kvm/kvm_main.c"
	echo 'obj-y += lib/' >"$tree/virt/Makefile"
}

make_git()
{
	git -C "$tree" init -q -b main
	git -C "$tree" add -A
	git -C "$tree" commit -qm base
}

# sum: a checksum of the tree's files and of where its git is.
sum()
{
	(cd "$tree" && find . -path ./.git -prune -o -type f -print0 | sort -z |
		xargs -0 sha256sum
	git status --porcelain -b 2>/dev/null && git branch) | sha256sum || true
}
