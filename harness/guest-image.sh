#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make the image of a host that has a VMM and a Linux guest in it.
set -euo pipefail
# shellcheck source=harness/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

VMM=${VMM:-qemu-system-x86_64}
# Where Debian's QEMU has the firmware that microvm needs.
FIRMWARE=${FIRMWARE:-/usr/share/qemu}
ROMS=(qboot.rom kvmvapic.bin pvh.bin linuxboot_dma.bin)

usage()
{
	cat >&2 <<-END
	usage: [VMM=$VMM] [FIRMWARE=$FIRMWARE] guest-image.sh GUEST-VMLINUX OUT [PATH...]

	Writes the initramfs OUT: the VMM, its firmware, the guest's kernel, the
	guest's own initramfs with its workloads, and each further PATH, all in /opt.
	END
	exit 2
}

# program <name>: linked statically, so that it runs in host and guest.
program()
{
	gcc -O2 -Wall -Wextra -static -o "$work/$1" "$ROOT/experiments/$1.c" ||
		die "$1.c does not compile"
}

main()
{
	local vmm file

	[[ $# -ge 2 && -n $2 ]] || usage
	[[ -r $1 ]] || die "guest's kernel '$1' cannot be read"
	vmm=$(command -v "$VMM") || die "no VMM '$VMM'; install qemu-system-x86"
	for file in "${ROMS[@]}"; do
		[[ -r $FIRMWARE/$file ]] || die "no $FIRMWARE/$file; install qemu-system-data"
	done

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	program work
	program spent
	"$ROOT/harness/initramfs.sh" "$work/guest.cpio" '' "$work/work" "$ROOT/harness/guest-agent"
	strip -o "$work/guest-vmlinux" "$1"
	mkdir "$work/firmware"
	cp -L "${ROMS[@]/#/$FIRMWARE/}" "$work/firmware"
	cp -L "$vmm" "$work/qemu-system-x86_64"
	"$ROOT/harness/initramfs.sh" "$2" '' "$work"/{qemu-system-x86_64,firmware,guest-vmlinux,guest.cpio,spent} \
		"$ROOT/harness/vmm" "$ROOT/experiments/measure" "${@:3}"
}

main "$@"
