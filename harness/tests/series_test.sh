#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Does a series come out, always the same, and does a misfit stop it?
set -euo pipefail
# shellcheck source=harness/tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# shellcheck source=harness/tests/project.sh
. "$(dirname "${BASH_SOURCE[0]}")/project.sh"

generate()
{
	try "$project/harness/series.sh" 6.12 "$tree" "" "a test" "$1"
}

# misfit <regex> <name>: generation must fail and leave what was there.
misfit()
{
	mkdir -p "$work/out"
	echo old >"$work/out/0000-cover-letter.patch"
	generate "$work/out"
	refused "$1" "$2"
	try grep -qx old "$work/out/0000-cover-letter.patch"
	worked "$2: the patches of before are left alone"
	make_project
}

series()
{
	echo "$project/series/$1"
}

make_project
make_tree
generate "$work/one"
worked "a series is made"
generate "$work/two"
try diff -r "$work/one" "$work/two"
worked "made twice it is the same to the bit"

make_git
try git -C "$tree" am -q "$work"/one/*.patch
worked "git am takes all of it, the cover letter too"
try test "$(git -C "$tree" rev-list --count main)" = 3
worked "and makes one commit a patch"
make_tree

printf '// files: virt/kvm/kvm_main.c\n@ no_match @\n@@\n- return 3;\n+ return 4;\n' >"$(series 01-double)/never.cocci"
misfit 'step 01-double: never.cocci: rule no_match matches nothing' "a rule that matches nothing"
printf '// files: virt/kvm/kvm_main.c\n@ broken @\n@@\n- return (;\n' >"$(series 01-double)/broken.cocci"
misfit 'step 01-double: broken.cocci: rule broken' "a rule that does not parse"
sed -i 1d "$(series 01-double)/double.cocci"
misfit 'double.cocci: its first line names no files' "a rule for no file"
sed -i 's/kvm_main/kvm_none/' "$(series 01-double)/double.cocci"
misfit 'double.cocci: the tree has no virt/kvm/kvm_none.c' "a rule for a file that is not there"
sed -i 's/lib/library/' "$(series 02-header)/wire.diff"
misfit 'step 02-header: wire.diff: .*virt/Makefile' "a diff that does not apply"
echo include/linux/none.h >>"$(series 02-header)/files"
misfit 'step 02-header: files: we have no include/linux/none.h' "a file that we do not have"
mkdir -p "$tree/include/linux"
echo theirs >"$tree/include/linux/ours.h"
misfit 'step 02-header: files: the tree has a include/linux/ours.h already' "a file that the tree has already"
rm -r "$tree/include"
rm "$(series 01-double)/message"
misfit 'step 01-double: message: missing' "a step without a message"

echo 7.3 >"$(series 02-header)/bases"
generate "$work/three"
try test ! -e "$work/three/0002-KVM-Add-a-header.patch" -a -e "$work/three/0001-KVM-Return-2.patch"
worked "a step for another base leaves no patch"
make_project
mv "$(series 02-header)/wire.diff" "$(series 02-header)/wire.6.1.diff"
generate "$work/four"
try grep virt/Makefile "$work/four/0002-KVM-Add-a-header.patch"
ok $((status != 1)) "nor does a diff for another base"
try "$project/harness/series.sh" 5.10 "$tree" "" "a test" "$work/five"
refused "no base '5.10'; there are:" "a base that is not known"
done_testing
