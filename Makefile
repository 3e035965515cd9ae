# SPDX-License-Identifier: GPL-2.0
#
# Everything is done by the scripts in workbench/; each makes what it needs.
#
# A target that writes build/ runs under workbench/locked: a second one in the
# same clone waits for it.

WB     := workbench
LOCKED := $(WB)/locked
JOBS   ?= $(shell nproc)
# The makefiles of the kernel and of perf would take ARCH for their own.
MAKEOVERRIDES :=
unexport ARCH
# As they stand: their $ are for the shell, and for a regular expression.
override COMMAND := $(value COMMAND)
override PARTS := $(value PARTS)
export JOBS COMMAND AGAIN RAISE PARTS

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run profile profile-bpf pictures check selftest check-quick check-host check-vm check-arm64 check-long check-base agree fuzz bench \
	bench-tables bench-waits results package deb try-deb tree refresh series kernel shell rootfs clean clean-cache

help: ## list the targets
	@echo 'Targets:'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18
	@echo 'Variables:'
	@sed -n 's/^# \([A-Z_]*\)= *\(.*\)/  \1\t\2/p' Makefile | expand -t 18

# KDIR=         a kernel tree of your own to put the series on; it is only read
# BASE=         the package whose kernel `check-base' takes (default: the newest)
# ARCH=         arm64: `run', `profile' and `selftest' do so on an emulated arm64 machine
# TEST=         the selftests that `selftest' runs, such as walk_test
# COMMAND=      the command of `profile', a line for bash
# ROOT=         the root directory of `profile' and `shell', / for this machine's own
# KERNEL=       bpf: the kernel of `shell' has BPF
# FREQUENCY=    the samples of `profile' per second (default: 999, or 199 without KVM)
# PROFILE_SECONDS= how long its command may take (default: 3600)
# CONFIG=       the configuration that `deb' takes (default: Debian's for clouds)
# BTF=          1: the kernel of `deb' has BTF, for BPF programs
# MIRROR=       a mirror of the Debian archive (default: the one of this host's apt)
# DISCARD=      1: `tree' drops edits in build/tree, `refresh' those in the repository
# UNWIND_CACHE= the directory for downloads (default: ~/.cache/linux-unwind-tables)
# FUZZ_SECONDS= how long `fuzz' takes for each of its targets (default: 60)
# RACE_SECONDS= how long tests provoke races, in `check' (default: 30)
# RANDOM_SECONDS= how long tests run random operations, in `check' (default: 30)
# AGAIN=        1: repeat also the checks that have passed with the same inputs
# RAISE=        1: `results' may raise the costs, which are the limits of `check'
# PARTS=        the parts of `results', or a regular expression for those of `check-long' (default: all)
# JOBS=         the number of jobs of a build (default: one per processor)

run profile shell selftest: export UNWIND_ARCH := $(ARCH)

run: ## build everything, profile two programs in a virtual machine, and show the stacks
	@$(LOCKED) $(WB)/demo/run

profile: ## draw a flame graph of a program of yours, run in a virtual machine: COMMAND='program argument...'
	@$(LOCKED) $(WB)/demo/profile "$$COMMAND"

profile-bpf: ## do so by a BPF program
	@$(LOCKED) $(WB)/bpf/demo "$$COMMAND"

pictures: ## draw README's flame graphs again, into pictures/
	@$(LOCKED) $(WB)/demo/pictures

check-quick: ## run what a change can break at once, on the edits in build/tree
	@$(LOCKED) $(WB)/check/run quick

selftest: ## run single selftests in a virtual machine, with the edits in build/tree: TEST='walk_test ...'
	@$(LOCKED) $(WB)/check/one $(TEST)

check: ## run all regular tests: check-host and check-vm
	@$(LOCKED) $(WB)/check/run host vm

check-host: ## run the tests that need no virtual machine
	@$(LOCKED) $(WB)/check/run host

check-vm: ## run the tests in a virtual machine
	@$(LOCKED) $(WB)/check/run vm

check-arm64: ## run the tests on an emulated arm64 machine, also those that take longer
	@$(LOCKED) $(WB)/check/run arm64

check-long: ## run the tests that take hours; a second run does not repeat what passed
	@$(LOCKED) $(WB)/check/run long

check-base: ## put the series on Debian's newest kernel, and run its tests there
	@BASE="$(BASE)" $(LOCKED) $(WB)/check/run base

agree: ## compare the parser with other readers of tables
	@$(LOCKED) $(WB)/parser/agree

fuzz: ## fuzz the parser
	@$(LOCKED) $(WB)/fuzz/run $(FUZZ_SECONDS)

bench: ## measure the cost of a stack, and of the worst stack that a program can make
	@$(LOCKED) $(WB)/measure/bench frame_pointer sframe eh_frame lookups sizes discovery hostile

bench-tables: ## measure the cost of registrations, and the cost for a program that has none
	@$(LOCKED) $(WB)/measure/bench lifetime

results: ## measure all that RESULTS.md says, and write it into results/, RESULTS.md and README
	@$(LOCKED) $(WB)/results/run $(PARTS)

bench-waits: ## count how often stacks of stock programs wait for a page of a table, or use a table at all
	@$(LOCKED) $(WB)/measure/waits

package: ## make a Debian package of tools/unwind-tables, in out/packages
	@$(LOCKED) $(WB)/rootfs/enter $(WB)/package/build

deb: ## make Debian packages of the kernel and of perf, for a real machine, in out/deb
	@$(LOCKED) $(WB)/package/deb

try-deb: ## install these packages into a disk image, boot it, and profile there
	@$(LOCKED) $(WB)/package/try_deb

tree: ## make or update build/tree: the base kernel and the series as commits
	@$(LOCKED) $(WB)/tree/assemble

refresh: ## bring edits and commits in build/tree back into the repository
	@$(LOCKED) $(WB)/tree/refresh

series: ## write each topic as patches for mailing, to out/series/TOPIC
	@$(LOCKED) $(WB)/tree/series

kernel: ## build the kernel with the series
	@$(LOCKED) $(WB)/vm/kernel series

shell: ## start a shell in a virtual machine with that kernel; ROOT= is its root directory
	@$(WB)/vm/shell

rootfs: ## build the root file system with the tool chain
	@$(WB)/rootfs/build

clean: ## remove the build products of this clone: build/ and out/
	@$(LOCKED) $(WB)/clean

clean-cache: ## remove downloads and root file systems, for all clones
	@$(WB)/clean --cache
