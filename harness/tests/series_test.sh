#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does a series come out, always the same, and does a misfit stop it?

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=harness/tests/tap.sh
. "$here/tap.sh"
# shellcheck source=harness/tests/project.sh
. "$here/project.sh"

# generate <outdir> [base]
generate()
{
	"$project/harness/series.sh" "${2:-6.12}" "$tree" "" "a test" "$1"
}

# misfit <regex> <what>: generation must fail and leave what was there before.
misfit()
{
	mkdir -p "$work/out"
	echo old >"$work/out/0000-cover-letter.patch"
	refuses "$1" "$2" generate "$work/out"
	expect 0 "$2: the patches of before are left alone" \
		grep -qx old "$work/out/0000-cover-letter.patch"
	make_project
}

# step <path below series/>
step()
{
	echo "$project/series/$1"
}

good_series()
{
	make_project
	make_tree
	expect 0 "a series is made" generate "$work/one"
	expect 0 "again" generate "$work/two"
	expect 0 "and is the same to the bit" diff -r "$work/one" "$work/two"
	make_git
	expect 0 "git am takes all of it, the cover letter too" \
		git -C "$tree" am -q "$work"/one/*.patch
	expect 0 "and makes one commit a patch" \
		test "$(git -C "$tree" rev-list --count main)" = 3
}

misfits()
{
	local kvm_main='// files: virt/kvm/kvm_main.c'

	make_tree
	printf '%s\n@ no_match @\n@@\n- return 3;\n+ return 4;\n' "$kvm_main" >"$(step 01-double/no.cocci)"
	misfit 'step 01-double: no.cocci: rule no_match matches nothing' "a rule that matches nothing"
	printf '%s\n@ broken @\n@@\n- return (;\n' "$kvm_main" >"$(step 01-double/broken.cocci)"
	misfit 'step 01-double: broken.cocci: spatch: .*parse error' "a rule that does not parse"
	printf '%s\n@@\n@@\n- return 1;\n' "$kvm_main" >"$(step 01-double/nameless.cocci)"
	misfit 'step 01-double: nameless.cocci: a rule has no name' "a rule without a name"
	sed -i 1d "$(step 01-double/double.cocci)"
	misfit 'double.cocci: its first line names no files' "a rule for no file"
	sed -i 's/kvm_main/kvm_none/' "$(step 01-double/double.cocci)"
	misfit 'double.cocci: the tree has no virt/kvm/kvm_none.c' "a rule for a file that is not there"
	sed -i 's/lib/library/' "$(step 02-header/wire.diff)"
	misfit 'step 02-header: wire.diff: .*virt/Makefile' "a diff that does not apply"
	echo include/linux/none.h >>"$(step 02-header/files)"
	misfit 'step 02-header: files: we have no include/linux/none.h' "a file that we do not have"
	rm "$(step 01-double/message)"
	misfit 'step 01-double: message: missing' "a step without a message"
	mkdir -p "$tree/include/linux"
	echo theirs >"$tree/include/linux/ours.h"
	misfit 'step 02-header: files: the tree has .*ours.h already' "a file that the tree has already"
}

maintainers()
{
	make_project
	make_tree
	printf 'How to\n\nMaintainers List\n----\n\nALPHA\nF:\ta\n\nLATE\nF:\te\n\nKERNEL A\nF:\tb\n\nKERNFS\nF:\tc\n' \
		>"$tree/MAINTAINERS"
	printf 'KERNEL B\nF:\td\n' >"$project/MAINTAINERS"
	echo MAINTAINERS >"$(step 02-header/files)"
	make_git
	expect 0 "a section for MAINTAINERS" generate "$work/six"
	git -C "$tree" am -q "$work"/six/*.patch
	expect 0 "goes to its place in the alphabet" test \
		"$(grep -E '^(ALPHA|LATE|KERN|Main)' "$tree/MAINTAINERS" | xargs)" = \
		"Maintainers List ALPHA LATE KERNEL A KERNEL B KERNFS"
	expect 0 "with a blank line on either side" grep -qzP '\n\nKERNEL B\nF:\td\n\nKERNFS' "$tree/MAINTAINERS"
}

other_bases()
{
	make_tree
	echo 7.3 >"$(step 02-header/bases)"
	expect 0 "a step for another base" generate "$work/three"
	expect 1 "leaves no patch" test -e "$work/three/0002-KVM-Add-a-header.patch"
	make_project
	mv "$(step 02-header/wire.diff)" "$(step 02-header/wire.6.1.diff)"
	expect 0 "a diff for another base" generate "$work/four"
	expect 1 "leaves no trace" grep -q virt/Makefile "$work/four/0002-KVM-Add-a-header.patch"
	refuses "no base '5.10'; there are:" "a base that is not known" generate "$work/five" 5.10
}

good_series
misfits
maintainers
make_project
other_bases
done_testing
