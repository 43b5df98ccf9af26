# SPDX-License-Identifier: GPL-2.0
# The front door: every job is a target, every product lies under build/.

BASE	?= 6.12
BUILD	?= $(CURDIR)/build
BASES	:= $(shell awk '!/^\#/ && NF { print $$1 }' harness/bases)
export BUILD

ifeq ($(filter $(BASE),$(BASES)),)
$(error no base '$(BASE)'; there are: $(BASES))
endif

B	:= $(BUILD)/$(BASE)
STEPS	:= $(wildcard $(addprefix series/*/,files bases *.cocci *.diff))
KERNEL	:= harness/kernel.sh harness/lib.sh harness/x86.conf $(wildcard harness/x86*.config)
DEBUG	:= lockdep kasan kcsan

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help bench check check-all mutants cost exhaustive fuzz kunit kunit-all bisect series am fetch kernel clean distclean

help:
	@echo 'BASE=<$(subst $() ,|,$(BASES))> selects the kernel, $(BASE) as it stands:'
	@sed -n 's/^## /  /p' Makefile

## make bench           wakeup latency and CPU cost by setting, patched beside stock
bench: $(B)/stock/vmlinux $(B)/patched/vmlinux $(B)/initramfs.cpio
	@harness/bench.sh $(BASE)

## make check           all tests on this base
check: $(B)/patched/vmlinux $(B)/initramfs.cpio $(BASES:%=$(BUILD)/%/paths)
	@harness/check.sh $(BASE)

## make check-all       all tests on every base
check-all: $(BUILD)/.installed
	@harness/check-all.sh

## make mutants         does a wrong header fail the KUnit suite?
## make cost            instructions per call of the header, beside the old code
## make exhaustive      the header against the reference, 8 * 10^9 inputs
## make fuzz            the same for 60 s of a coverage-guided fuzzer
mutants cost exhaustive fuzz: $(B)/paths
	@BASE=$(BASE) harness/userspace/$@.sh

## make kunit ARCH=<a>  the KUnit suite on one architecture: um, x86_64, s390, ...
kunit: $(B)/paths
	@harness/kunit.sh $(BASE) $(or $(ARCH),um)

## make kunit-all       the KUnit suite on all architectures and as a module
kunit-all: $(BASES:%=$(BUILD)/%/paths)
	@harness/kunit-all.sh $(BASE)

## make bisect          each patch by itself: builds, warnings, KUnit
bisect: $(B)/paths
	@harness/bisect.sh $(BASE)

## make check-debug     our tests on debug kernels: lockdep and UBSAN, KASAN, KCSAN
.PHONY: check-debug
check-debug: $(B)/debug-kcsan/stock $(DEBUG:%=$(B)/debug-%/patched) $(B)/debug.cpio
	@harness/check-debug.sh $(BASE)

## make series          write patches/ from series/ and our own files
series: $(BASES:%=$(BUILD)/%/paths)
	@harness/regenerate.sh patches

## make am KDIR=<tree>  make the series against your kernel tree, and apply it
am: $(BUILD)/.installed
	@harness/am.sh '$(KDIR)'

## make fetch           get this base's sources
fetch: $(B)/paths

## make kernel          build this base's kernel, stock and patched
kernel: $(B)/patched/vmlinux

## make clean           delete what was built, but not the sources
clean:
	rm -rf $(BUILD)/copy $(wildcard $(BASES:%=$(BUILD)/%/kunit-*)) $(foreach d,obj stock patched kselftest initramfs.cpio run bench check bisect,$(BASES:%=$(BUILD)/%/$(d)))
	rm -rf $(wildcard $(BASES:%=$(BUILD)/%/debug*)) $(foreach d,check-debug halt_race,$(BASES:%=$(BUILD)/%/$(d)))

## make distclean       delete build/
distclean:
	rm -rf $(BUILD)

$(BUILD)/.installed: harness/deps.sh
	@harness/deps.sh
	@mkdir -p $(@D) && touch $@

$(BASES:%=$(BUILD)/%/paths): $(BUILD)/%/paths: $(STEPS) harness/bases | $(BUILD)/.installed
	@harness/fetch.sh $* >/dev/null
	@touch $@

# One object directory, stock first: the patched kernel then takes seconds.
$(B)/stock/vmlinux: $(KERNEL) | $(B)/paths
	@harness/tree.sh $(BASE) stock
	@harness/kernel.sh $(B)/linux $(B)/obj >/dev/null
	@mkdir -p $(@D) && cp $(B)/obj/vmlinux $@

$(B)/patched/vmlinux: $(B)/stock/vmlinux $(wildcard patches/$(BASE)/*.patch)
	@harness/tree.sh $(BASE) patched
	@harness/kernel.sh $(B)/linux $(B)/obj virt/kvm/tests/.kunitconfig >/dev/null
	@mkdir -p $(@D) && cp $(B)/obj/vmlinux $@

# The same for debug kernels; of the stock ones, only KCSAN's is of use.
$(B)/debug-kcsan/stock: $(KERNEL) harness/debug.config harness/debug-kcsan.config | $(B)/paths
	@harness/tree.sh $(BASE) stock
	@harness/kernel.sh $(B)/linux $(@D)/obj $(filter harness/debug%,$^) >/dev/null
	@cp $(@D)/obj/vmlinux $@

$(B)/debug-%/patched: $(KERNEL) harness/debug.config harness/debug-%.config $(wildcard patches/$(BASE)/*.patch) | $(B)/debug-kcsan/stock
	@harness/tree.sh $(BASE) patched
	@harness/kernel.sh $(B)/linux $(@D)/obj $(filter harness/debug%,$^) virt/kvm/tests/.kunitconfig >/dev/null
	@cp $(@D)/obj/vmlinux $@

$(B)/kselftest/run_kselftest.sh: $(B)/patched/vmlinux harness/selftests.sh
	@harness/selftests.sh $(B)/linux $(B)/obj $(B)/kselftest
	@touch $@

$(B)/initramfs.cpio: $(B)/kselftest/run_kselftest.sh harness/initramfs.sh harness/init harness/guest-timeout
	@harness/initramfs.sh $@ $(B)/kselftest

$(B)/halt_race: harness/halt_race.c | $(B)/paths
	@gcc -O2 -Wall -static -pthread -o $@ $<

# An image of its own, so that the other's does not change with what is for this.
$(B)/debug.cpio: $(B)/initramfs.cpio $(B)/halt_race
	@harness/initramfs.sh $@ $(B)/kselftest $(B)/halt_race
