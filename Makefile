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

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help bench check check-all mutants cost exhaustive fuzz kunit kunit-all bisect series am fetch kernel tool fuzz-tool bench-tool trace predict clean distclean

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

## make tool            build the tool kvm_halt_poll and run its tests
## make fuzz-tool       60 s of a fuzzer on what it reads
## make bench-tool      how fast it reads, replays and tunes
tool fuzz-tool bench-tool: $(B)/paths
	@harness/$@.sh $(BASE)

## make trace           record the patched kernel, booted: verify, report, tune
trace: $(B)/kselftest/run_kselftest.sh
	@harness/trace.sh $(BASE)

## make predict         what "tune" predicts, and what a fresh boot then measures
predict: $(B)/kselftest/run_kselftest.sh
	@harness/predict.sh $(BASE)

## make clean           delete what was built, but not the sources
clean:
	rm -rf $(BUILD)/copy $(wildcard $(BASES:%=$(BUILD)/%/kunit-*)) $(foreach d,obj stock patched kselftest initramfs.cpio run bench check bisect tool trace predict,$(BASES:%=$(BUILD)/%/$(d)))

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

$(B)/kselftest/run_kselftest.sh: $(B)/patched/vmlinux harness/selftests.sh
	@harness/selftests.sh $(B)/linux $(B)/obj $(B)/kselftest
	@touch $@

$(B)/initramfs.cpio: $(B)/kselftest/run_kselftest.sh harness/initramfs.sh harness/init harness/guest-timeout
	@harness/initramfs.sh $@ $(B)/kselftest
