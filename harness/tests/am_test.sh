#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Does somebody's own tree get the series, or stay as it was?
set -euo pipefail
# shellcheck source=harness/tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# shellcheck source=harness/tests/project.sh
. "$(dirname "${BASH_SOURCE[0]}")/project.sh"

am()
{
	try "$project/harness/am.sh" "$@"
}

# untouched <regex> <name>: refused, and the tree is as before.
untouched()
{
	local before

	before=$(sum)
	am "$tree"
	refused "$1" "$2"
	try test "$before" = "$(sum)"
	worked "$2: the tree stays as it was"
}

make_project

make_tree
make_git
echo mine >"$tree/mine"
echo '# mine' >>"$tree/Makefile"
am "$tree"
worked "a git tree with work in other files gets the series"
try test "$(git -C "$tree" log --format=%s main..kvm-halt-poll | xargs)" = \
	"KVM: Add a header KVM: Return 2"
worked "on a branch of its own, one commit a patch"
try test "$(git -C "$tree" status --porcelain -b | xargs)" = "## main M Makefile ?? mine"
worked "and nothing else has changed"
try test "$(git -C "$tree" worktree list | wc -l)" = 1
worked "no work tree is left behind"
untouched 'has a branch kvm-halt-poll already' "a second time"

make_tree
am "$tree"
worked "a tree without git gets the series"
try grep -q 'return 2' "$tree/virt/kvm/kvm_main.c"
worked "in its files"

make_tree
make_git
echo '/* mine */' >>"$tree/virt/kvm/kvm_main.c"
untouched 'uncommitted changes in files of the series: virt/kvm/kvm_main.c' "uncommitted changes in the way"

make_tree
sed -i 's/return 1/return 5/' "$tree/virt/kvm/kvm_main.c"
untouched 'step 01-double: double.cocci: rule twice matches nothing' "a tree that does not fit"
make_git
untouched 'step 01-double: double.cocci: rule twice matches nothing' "a git tree that does not fit"

make_tree
sed -i 's/12/6/' "$tree/Makefile"
am "$tree"
ok "$(grep -q 'by the rules for 6.1$' <<<"$said"; echo $?)" "a version in between is made by the next older rules"

make_tree
rm "$tree/virt/kvm/kvm_main.c"
untouched 'is not a kernel tree' "a tree that is no kernel's"
am "$work/nowhere"
refused 'no such tree' "a tree that does not exist"
am ""
refused 'usage' "no tree at all"
done_testing
