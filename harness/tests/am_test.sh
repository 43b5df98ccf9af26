#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does somebody's own tree get the series, or stay as it was?

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"
# shellcheck source=harness/tests/project.sh
. "$here/project.sh"

am()
{
	"$project/harness/am.sh" "$@"
}

# untouched <regex> <what>: refused, and the tree is as before.
untouched()
{
	local before

	before=$(sum)
	refuses "$1" "$2" am "$tree"
	expect 0 "$2: the tree stays as it was" test "$before" = "$(sum)"
}

git_tree()
{
	make_tree
	make_git
	echo mine >"$tree/mine"
	echo '# mine' >>"$tree/Makefile"
	expect 0 "a git tree with work in other files gets the series" am "$tree"
	expect 0 "on a branch of its own, one commit a patch" test \
		"$(git -C "$tree" log --format=%s main..kvm-halt-poll | xargs)" = \
		"KVM: Add a header KVM: Return 2"
	expect 0 "and nothing else has changed" test \
		"$(git -C "$tree" status --porcelain -b | xargs)" = "## main M Makefile ?? mine"
	expect 0 "no work tree is left behind" test \
		"$(git -C "$tree" worktree list | wc -l)" = 1
	untouched 'has a branch kvm-halt-poll already' "a second time"
}

plain_tree()
{
	make_tree
	expect 0 "a tree without git gets the series" am "$tree"
	expect 0 "in its files" grep -q 'return 2' "$tree/virt/kvm/kvm_main.c"
	untouched 'rule twice matches nothing' "a second time"
}

misfits()
{
	make_tree
	sed -i 's/return 1/return 5/' "$tree/virt/kvm/kvm_main.c"
	untouched 'step 01-double: double.cocci: rule twice matches nothing' "a tree that does not fit"
	make_git
	untouched 'step 01-double: double.cocci: rule twice matches nothing' "a git tree that does not fit"
	echo '/* mine */' >>"$tree/virt/kvm/kvm_main.c"
	untouched 'uncommitted changes in files of the series: virt/kvm/kvm_main.c' "uncommitted changes in the way"
	rm "$tree/virt/kvm/kvm_main.c"
	untouched 'is not a kernel tree' "a tree that is no kernel's"
	refuses 'no such tree' "a tree that does not exist" am "$work/nowhere"
	rm "$tree/Makefile"
	untouched 'is not a kernel tree' "a tree without a Makefile"
	refuses 'which tree' "no tree at all" am ""
}

in_between()
{
	make_tree
	sed -i 's/12/6/' "$tree/Makefile"
	run am "$tree"
	expect 0 "a version in between is made by the next older rules" \
		grep -q 'by the rules for 6.1$' <(echo "$said")
}

make_project
git_tree
plain_tree
misfits
in_between
done_testing
