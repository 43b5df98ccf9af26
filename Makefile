# SPDX-License-Identifier: GPL-2.0
# The front door: every job is a target, every product lies under build/.

BASE	?= 6.12
BUILD	?= $(CURDIR)/build
BASES	:= $(shell awk '!/^\#/ && NF { print $$1 }' harness/bases)
export BUILD

ifeq ($(filter $(BASE),$(BASES)),)
$(error no base '$(BASE)'; there are: $(BASES))
endif

X86_ONLY := bench check-debug guest guest-traces experiment experiments
# What is booted: x86, or another that ARCH names.  KUnit by itself runs on more.
BOOTED	:= $(or $(ARCH),x86)
ARCHS	:= $(filter-out kunit,$(patsubst harness/%.conf,%,$(wildcard harness/*.conf)))
ifneq ($(filter-out kunit,$(or $(MAKECMDGOALS),help)),)
ifeq ($(filter $(BOOTED),$(ARCHS)),)
$(error no ARCH=$(ARCH) but for kunit; there are: $(ARCHS))
endif
ifeq ($(BOOTED)-$(BASE),arm64-6.1)
$(error no arm64 on 6.1: its selftest library lacks what the tests need)
endif
ifneq ($(and $(filter $(X86_ONLY),$(MAKECMDGOALS)),$(filter-out x86,$(BOOTED))),)
$(error $(filter $(X86_ONLY),$(MAKECMDGOALS)): for x86 alone)
endif
endif

B	:= $(BUILD)/$(BASE)
# x86 has no directory of its own.
D	:= $(B)$(addprefix /,$(filter-out x86,$(BOOTED)))
IMAGE	:= $(notdir $(shell sed -n 's/^IMAGE=//p' harness/$(BOOTED).conf 2>/dev/null))
BUSYBOX	:= $(patsubst %,$(BUILD)/foreign/%/bin/busybox,$(filter-out x86,$(BOOTED)))
STEPS	:= $(wildcard $(addprefix series/*/,files bases *.cocci *.diff))
KERNEL	:= harness/kernel.sh harness/lib.sh harness/$(BOOTED).conf $(wildcard harness/$(BOOTED)*.config)
GUEST	:= $(addprefix harness/,guest-image.sh initramfs.sh init guest-agent vmm) \
	$(addprefix experiments/,measure work.c spent.c)
TOOL	:= harness/tool.sh include/linux/kvm_halt_poll.h $(wildcard tools/kvm/kvm_halt_poll/*.[ch])
DEBUG	:= lockdep kasan kcsan

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help bench check check-all check-wakes check-debug latency-here mutants cost exhaustive fuzz kunit kunit-all
.PHONY: bisect series am fetch kernel tool fuzz-tool bench-tool trace predict guest guest-traces
.PHONY: experiment experiments clean distclean

help:
	@echo 'BASE=<$(subst $() ,|,$(BASES))> selects the kernel, $(BASE) as it stands;'
	@echo 'ARCH=<$(subst $() ,|,$(ARCHS))> what to build it for and boot, x86 unless told:'
	@sed -n 's/^## /  /p' Makefile

## make bench           wakeup latency and CPU cost by setting, patched beside stock
bench: $(B)/stock/vmlinux $(B)/patched/vmlinux $(B)/initramfs.cpio
	@harness/bench.sh $(BASE)

## make check           all tests on this base
check: $(D)/patched/$(IMAGE) $(D)/initramfs.cpio $(BASES:%=$(BUILD)/%/paths)
	@harness/check.sh $(BASE)

## make check-all       all tests on every base, and on arm64
check-all: $(BUILD)/.installed
	@harness/check-all.sh

## make check-wakes     100,000 halts for each wake source, then a minute under fire: hours
check-wakes: $(D)/patched/$(IMAGE) $(D)/initramfs.cpio
	@status=0; harness/boot.sh -m single -t 36000 -k $(D)/patched/$(IMAGE) -i $(D)/initramfs.cpio \
		-j harness/wakes.job -o $(D)/run/wakes -c kunit.enable=0 || status=$$?; \
	cat $(D)/run/wakes/result.*; exit $$status

## make latency-here    wakeup latency on this machine's own /dev/kvm; ARGS=<its options>
latency-here: $(B)/paths
	@harness/here.sh $(BASE) $(ARGS)

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
check-debug: $(B)/debug-kcsan/stock $(DEBUG:%=$(B)/debug-%/patched) $(B)/debug-kcsan/mixed $(B)/debug.cpio
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
kernel: $(D)/patched/$(IMAGE)

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

## make guest           a Linux guest in the booted host, under a real VMM
guest: $(B)/patched/vmlinux $(B)/guest/host.cpio
	@harness/guest.sh $(BASE)

## make guest-traces    records some of its workloads, in build/<base>/guest/traces/
guest-traces: $(B)/patched/vmlinux $(B)/guest/traces.cpio
	@harness/guest.sh $(BASE) traces

## make experiments     what known settings do to such a guest: tables and pictures
## make experiment NAME=<n>  one of them; RUNS=<n> repetitions, 11 unless told;
##                      SEED=<n> of the first, 1 unless told: to see how far it repeats
experiments experiment: $(B)/patched/vmlinux $(B)/guest/host.cpio
	@experiments/experiment.sh $(BASE) $(if $(filter experiment,$@),'$(NAME)')

## make clean           delete what was built, but not the sources
clean:
	rm -rf $(BUILD)/copy $(BUILD)/experiments $(wildcard $(BASES:%=$(BUILD)/%/kunit-*)) $(foreach d,arm64 obj stock patched kselftest here initramfs.cpio run bench check bisect tool trace predict guest,$(BASES:%=$(BUILD)/%/$(d)))
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

$(BUILD)/.installed-$(BOOTED): harness/$(BOOTED).conf | $(BUILD)/.installed
	@bash -c '. $<; harness/deps.sh "$${PACKAGES[@]}"'
	@touch $@

$(BUILD)/foreign/%/bin/busybox: harness/foreign.sh | $(BUILD)/.installed
	@harness/foreign.sh $*
	@touch $@

# One object directory, stock first: the patched kernel then takes seconds.
$(D)/stock/$(IMAGE): $(KERNEL) | $(B)/paths $(BUILD)/.installed-$(BOOTED)
	@harness/tree.sh $(BASE) stock
	@image=$$(harness/kernel.sh $(B)/linux $(D)/obj) && mkdir -p $(@D) && cp $$image $@

# Nothing needs the stock kernel of other architectures.
$(D)/patched/$(IMAGE): $(if $(filter x86,$(BOOTED)),$(D)/stock/$(IMAGE))
$(D)/patched/$(IMAGE): $(KERNEL) $(wildcard patches/$(BASE)/*.patch) | $(B)/paths $(BUILD)/.installed-$(BOOTED)
	@harness/tree.sh $(BASE) patched
	@image=$$(harness/kernel.sh $(B)/linux $(D)/obj virt/kvm/tests/.kunitconfig) && \
		mkdir -p $(@D) && cp $$image $@

$(D)/kselftest/run_kselftest.sh: $(D)/patched/$(IMAGE) harness/selftests.sh
	@harness/selftests.sh $(B)/linux $(D)/obj $(D)/kselftest
	@touch $@

$(D)/initramfs.cpio: $(D)/kselftest/run_kselftest.sh harness/initramfs.sh harness/init harness/guest-timeout $(BUSYBOX)
	@harness/initramfs.sh $@ $(D)/kselftest

# A guest's kernel and the host's image with all that it takes; no part of the
# series is in it, but building it must not switch the tree.
$(B)/guest/vmlinux: $(KERNEL) harness/guest.config | $(B)/patched/vmlinux
	@harness/kernel.sh $(B)/linux $(@D)/obj harness/guest.config >/dev/null
	@cp $(@D)/obj/vmlinux $@

$(B)/guest/host.cpio: $(B)/guest/vmlinux $(GUEST)
	@harness/guest-image.sh $< $@

# Of its own, so that no change of the tool changes what is measured.
$(B)/guest/traces.cpio: $(B)/guest/vmlinux $(GUEST) $(TOOL) harness/recording
	@tool=$$(harness/tool.sh -b $(BASE)) && harness/guest-image.sh $< $@ $$tool harness/recording

# The same for debug kernels; of the stock ones, only KCSAN's is of use.
$(B)/debug-kcsan/stock: $(KERNEL) harness/debug.config harness/debug-kcsan.config | $(B)/paths
	@harness/tree.sh $(BASE) stock
	@harness/kernel.sh $(B)/linux $(@D)/obj $(filter harness/debug%,$^) >/dev/null
	@cp $(@D)/obj/vmlinux $@

$(B)/debug-%/patched: $(KERNEL) harness/debug.config harness/debug-%.config $(wildcard patches/$(BASE)/*.patch) | $(B)/debug-kcsan/stock
	@harness/tree.sh $(BASE) patched
	@harness/kernel.sh $(B)/linux $(@D)/obj $(filter harness/debug%,$^) virt/kvm/tests/.kunitconfig >/dev/null
	@cp $(@D)/obj/vmlinux $@

# With what must not be, which KCSAN is to find.
$(B)/debug-kcsan/mixed: harness/mixed.diff harness/debug.config harness/debug-kcsan.config $(B)/debug-kcsan/patched
	@harness/tree.sh $(BASE) patched
	@trap 'git -C $(B)/linux checkout -q .' EXIT; trap 'exit 1' INT TERM; \
		git -C $(B)/linux apply --recount $(CURDIR)/$< && \
		harness/kernel.sh $(B)/linux $(@D)/obj $(filter harness/debug%,$^) \
			virt/kvm/tests/.kunitconfig >/dev/null
	@cp $(@D)/obj/vmlinux $@

$(B)/halt_race: harness/halt_race.c | $(B)/paths
	@gcc -O2 -Wall -static -pthread -o $@ $<

# An image of its own, so that the other's does not change with what is for this.
$(B)/debug.cpio: $(B)/initramfs.cpio $(B)/halt_race
	@harness/initramfs.sh $@ $(B)/kselftest $(B)/halt_race
