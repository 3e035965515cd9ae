# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checks, for workbench/check/run.
# shellcheck disable=SC2034,SC2154 # which sets $logs, and reads $brief

# What is in the kernel: all but the rest.
mapfile -t KERNEL_FILES < <(cd "$TOP" && git ls-files -co --exclude-standard | cut -d / -f 1 | sort -u |
	grep -vxE 'workbench|results|pictures|(README|RESULTS|CONTRIBUTING)\.md|Makefile|\.ci|\.gitignore|COPYING')
# The parser, and what the crates here are made of.
CRATES=(kernel/unwind/tables include/linux tools/unwind-tables tools/unwind-jit workbench/cargo workbench/sources.sh
	workbench/versions ':!*.1' ':!*.3')
CRATES+=(workbench/{parser,fuzz,corpus,stacks/build} workbench/Cargo.toml workbench/Cargo.lock)
# What guests are run by.
GUEST=(workbench/{vm,rootfs,config,perf,stacks,demo,lib.sh,versions,sources.sh})

# What is ready is not built again in this run.
is_ready() { export UNWIND_READY="${UNWIND_READY-}:$1:"; }

# --- Without a virtual machine ---

part_host() {
	check "the series applies to the base" "$WORKBENCH/tree/assemble" || return
	is_ready "$TREE"
	beside host_sources
	kernel_builds || return
	beside host_objects
}

# What needs no kernel.
host_sources() {
	check "tools for the series" enter "$WORKBENCH/tree/selftest" &&
		count tap host "tree" "$logs/check-tools-for-the-series.log"
	check "judge and boot" enter "$WORKBENCH/check/selftest"
	count tap host "judge and boot" "$logs/check-judge-and-boot.log"
	check "mutants fit the sources" "$WORKBENCH/mutate/run" --check
	check "tools for limits" enter "$WORKBENCH/measure/selftest" &&
		count tap host "limits" "$logs/check-tools-for-limits.log"
	check "every file has a licence" every_file_has_a_licence
	check "README.md and RESULTS.md have the results" enter "$WORKBENCH/results/tables" --check
	check "git am gives the same tree" inside am_same_tree
	check "checkpatch" inside checkpatch "$(this_commit)" &&
		grep ' passed before' "$logs/check-checkpatch.log"
	check "spelling" inside spelling
	check "rustfmt" inside rustfmt_clean
	check "kernel-doc" inside kernel_doc
	check "documentation lists each reason" inside documented_reasons
	check "manual pages" enter mandoc -T lint -W warning "$TOP/tools/unwind-tables/unwind-tables.1" \
		"$TOP/tools/unwind-jit/unwind_jit.3"
	check "shellcheck" inside shellcheck_scripts
	check "ruff and mypy" inside python_scripts
	check "demonstration builds" enter "$WORKBENCH/stacks/build" static
	check "workspace: rustfmt" in_crates fmt --check
	unless_passed "the workspace's crates" "$(inputs "${CRATES[@]}")" workspace
	unless_passed "the parser beside other readers" "$(inputs "${CRATES[@]}")" part_tables
	unless_passed "unwind-jit" "$(inputs "${CRATES[@]}")" part_jit
}

workspace() {
	check "workspace: clippy" in_crates clippy --workspace --all-targets -- -D warnings
	# The seed is fixed, so each run has the same cases. A run by hand has others.
	PROPTEST_RNG_SEED=1 \
		check "parser and host tools" \
		in_crates test --workspace --exclude unwind-fuzz -- --nocapture
	count cargo "parser and host tools" "$logs/check-parser-and-host-tools.log"
}

# The kernel of the series, once in a run.
kernel_builds() {
	! ready "$(kernel_dir series)" || return 0
	check "kernel builds" "$WORKBENCH/vm/kernel" series || return
	is_ready "$TREE"
	is_ready "$(kernel_dir series)"
	check "no warnings in the kernel's build" no_warnings "$logs/build-series.log"
	return 0
}

# What is made of the kernel's objects, or in the same way.
host_objects() {
	check "tables of the vDSO" inside vdso_tables
	check "no way to a panic in the kernel's object" inside no_panic
	check "the kernel's stack in a walk" enter "$WORKBENCH/check/stack_use" "$(kernel_dir series)" "$TREE"
	unless_passed "warnings" "$(inputs "${KERNEL_FILES[@]}" workbench/config workbench/check/new_warnings)" \
		check "no warnings with W=1, clippy and sparse" inside lint
	# Tables are in Rust: without it, their sources do not matter.
	unless_passed "objects without Rust" "$(inputs "${KERNEL_FILES[@]}" workbench/{config,vm} ':!*.rs' ':!tools' ':!Documentation')" \
		objects_without_rust
	unless_passed "mappings" "$(inputs mm include lib kernel/unwind tools/testing/vma)" \
		check "tests of mappings outside of the kernel" inside vma_tests
}

objects_without_rust() {
	check "objects without Rust" inside without_rust
	check "no warnings in the build without Rust" no_warnings "$logs/build-off.log"
}

# A function of series.sh, inside the tool-chain root file system.
inside() { enter bash -c '. "$0"; "$@"' "$WORKBENCH/check/series.sh" "$@"; }

# The parser against other readers, as a tool, and on what a fuzzer has found.
part_tables() {
	# The kernel reads tables of no other machine.
	export CORPUS_ABIS=${CORPUS_ABIS-amd64}
	check "corpus of programs with tables" enter "$WORKBENCH/corpus/build" || return
	check "unwind-tables: rustfmt" in_crates -C tools/unwind-tables fmt --check
	check "unwind-tables: clippy" in_crates -C tools/unwind-tables clippy --all-targets -- -D warnings
	check "unwind-tables: tests" unwind_tables test
	count cargo "unwind-tables: tests" "$logs/check-unwind-tables--tests.log"
	check "agreement with other readers" all_readers_agree &&
		cat "$logs/check-agreement-with-other-readers.log"
	check "fuzz: inputs that were kept" "$WORKBENCH/fuzz/run" replay
}

# The library for JIT compilers: the tables that it writes, read by others.
part_jit() {
	check "unwind-jit: rustfmt" in_crates -C tools/unwind-jit/crate fmt --check
	check "unwind-jit: clippy" in_crates -C tools/unwind-jit/crate clippy --all-targets -- -D warnings
	PROPTEST_RNG_SEED=1 check "unwind-jit: tests" in_crates -C tools/unwind-jit/crate test
	count cargo "unwind-jit: tests" "$logs/check-unwind-jit--tests.log"
}

in_crates() { "$WORKBENCH/cargo" "$@"; } # [-C DIRECTORY] COMMAND [ARGUMENT...]

unwind_tables() { # TARGET-OF-MAKE
	enter make -C "$TOP/tools/unwind-tables" "OUTPUT=$BUILD/unwind-tables" "TARGET=$BUILD/cargo" V=1 "$1"
}

# It prints SKIP for a reader that is not installed, and for a file without .eh_frame.
all_readers_agree() {
	enter "$WORKBENCH/parser/agree" | tee "$BUILD/check/agree.log" &&
		! grep -n SKIP "$BUILD/check/agree.log"
}

every_file_has_a_licence() {
	local missing

	# A patch has the licence of its file; all other files name their own.
	missing=$(cd "$TOP" && git ls-files -co --exclude-standard -- ':!*.patch' ':!README.md' \
		':!RESULTS.md' ':!CONTRIBUTING.md' ':!COPYING' ':!workbench/series' ':!*.tar.xz' ':!*.lock' ':!*.json' ':!*/settings' ':!*/config' |
		while IFS= read -r file; do
			[ ! -f "$file" ] || head -n 4 "$file" | grep -q 'SPDX-License-Identifier: .*GPL-2.0' || echo "$file"
		done) || return
	[ -z "$missing" ] || { echo "no SPDX line: $missing"; return 1; }
}

no_warnings() { # LOG
	# A missing log must not pass as one without warnings.
	# make warns if the clock was set; that is no warning about the code.
	[ -s "$1" ] && ! grep -nE 'warning:|WARNING:' "$1" | grep -vE 'Clock skew detected|modification time .* in the future'
}

# --- In a virtual machine ---

part_vm() {
	kernel_builds || return
	check "kselftests build" inside install_selftests || return
	check "no warnings in the build of kselftests" no_warnings "$logs/check-kselftests-build.log"
	beside costs
	check "guest: KUnit and kselftests" selftests series 2400
	count_guest series
	check "doctests of the kernel crate" doctests
	check "perf builds" "$WORKBENCH/perf/build" || return
	is_ready "$PERF_BUILD"
	check "guest: a sample at a uprobe; perf, old and new" uprobe_and_perfs
	check "guest: the demonstration" demonstration 2 "$WORKBENCH/demo/run"
	check "guest: make profile" own_program
	ftrace_stacks
	cases
	stock python3 sort throw menhir
	stock_gdb 40 bash throw
	at_once python3
	unless_passed "LuaJIT" "$(kernel_hash) $(inputs "${GUEST[@]}" tools)" luajit
	libraries 60 musl-lua musl-busybox musl-zstd musl-xz
	arm64 "arm64" arm64_short
}

# The guest's clock counts instructions: what else the machine does has no influence.
costs() {
	unless_passed "costs" "$(kernel_hash) $(inputs "${GUEST[@]}" results/bench.json workbench/measure tools/include tools/testing/selftests/unwind_user)" \
		measure_costs
}

measure_costs() {
	check "guest: costs" "$WORKBENCH/measure/bench" --series &&
		within_limits
}

kernel_hash() { sha256sum <"$(kernel_dir series)/vmlinux"; }

within_limits() {
	check "costs within their limits" enter "$WORKBENCH/measure/limits"
	# A limit that is too high would hide a later increase.
	grep 'cheaper' "$logs/check-costs-within-their-limits.log"
}

# A check that prints TAP, in out/DIRECTORY/results.tap: count its results, too.
check_results() { # DIRECTORY SHORT-NAME NAME COMMAND...
	local results=$OUT/$1/results.tap short=$2

	rm -f "$results"
	check "${@:3}"
	[ ! -e "$results" ] || count tap host "$short" "$results"
}

# Compare the stacks of small programs, made after public reports, with their source.
cases() {
	check_results cases cases "guest: cases after public reports" "$WORKBENCH/cases/run"
}

# Count the complete stacks of stock programs: of all programs if none is named.
stock() { # [PROGRAM...]
	check_results stacks-clock stock "guest: stock programs" "$WORKBENCH/stacks/run" clock "$@"
}

# Compare their whole stacks with gdb's, at a number of stops in each.
stock_gdb() { # STOPS [PROGRAM...]
	check_results stacks-gdb-dwarf "stock stacks" "guest: whole stacks of stock programs" \
		"$WORKBENCH/stacks/run" --stops "$1" gdb,dwarf "${@:2}"
}

# Test the user stacks of ftrace, and compare them with perf's.
ftrace_stacks() {
	check_results ftrace ftrace "guest: stacks in ftrace" "$WORKBENCH/ftrace/run"
}

# Count the complete stacks that the distribution's perf takes at once.
at_once() { # [PROGRAM...]
	check_results once "at once" "guest: stacks taken at once" "$WORKBENCH/once/run" "$@"
}

# Test the user stacks of BPF programs, and compare them with perf's.
bpf_stacks() { # [PROGRAM...]
	check "kernel with BPF builds" "$WORKBENCH/vm/kernel" bpf || return
	check "no warnings in the build with BPF" no_warnings "$logs/build-bpf.log"
	check_results bpf bpf "guest: stacks in BPF programs" "$WORKBENCH/bpf/run" "$@"
	check_results bpftrace bpftrace "guest: stacks in bpftrace" "$WORKBENCH/once/bpftrace"
	check "guest: make profile-bpf" profile_in_bpf
}

# Profile a command as a user does.
profile_in_bpf() {
	"$WORKBENCH/bpf/demo" 'python3 workbench/stacks/programs/python.py 1 && echo end && exit 3' || return
	grep -q 'PyEval_EvalCode' "$OUT/profile-bpf.svg" && [ "$(tail -n 1 "$OUT/profile-bpf.out")" = end ] ||
		{ echo "the graph or the output is wrong"; return 1; }
}

# Check the stacks of LuaJIT, which registers its generated code.
luajit() {
	check_results stacks-calls luajit "guest: stacks of LuaJIT" "$WORKBENCH/stacks/run" calls luajit
}

# Compare whole stacks of programs that have SFrame tables with gdb's, at a number of stops in
# each, and with the source.
libraries() { # STOPS PROGRAM|GROUP...
	check_results stacks-clock-gdb-dwarf-source libraries "guest: whole stacks of programs with libraries" \
		"$WORKBENCH/stacks/run" --stops "$1" clock,gdb,dwarf,source "${@:2}"
}

# Page tables have five levels where the CPU has them. But identify_cpu() clears that
# feature bit for a moment, and KASAN reports an interrupt in that window as a bad access.
selftests() { # KERNEL TIMEOUT [GUEST-OPTION...]
	local guest=("$WORKBENCH/check/guest") options=() levels='' installed=$SELFTESTS
	local kunit="kunit.enable=1 kunit.autorun=1"

	case $1 in
	# There kmemleak finds what kunit_vm_mmap() of the base does not free. The counter's samples
	# come in NMIs.
	arm64-debug) kunit="kunit.enable=0 irqchip.gicv3_pseudo_nmi=1" ;;&
	arm64*) options=(--arch arm64) installed+=-arm64 ;;
	debug) levels=no5lvl options=(--known "$BASE_WARNING") ;;
	kcsan) guest=("$WORKBENCH/check/kcsan" "$(kernel_dir kcsan)" "${guest[@]}") ;;
	esac
	# Those of the last run do not count.
	rm -rf "$OUT/selftests-$1" "$logs/selftests-$1.console"
	enter "$WORKBENCH/vm/boot" --timeout "$2" "${options[@]}" \
		--append "$levels $kunit" \
		"selftests-$1" "$(kernel_dir "$1")" \
		env "RACE_SECONDS=${RACE_SECONDS-30}" "RANDOM_SECONDS=${RANDOM_SECONDS-30}" \
		RANDOM_SYSCTLS=1 \
		"${guest[@]}" "$installed" "$OUT/selftests-$1" "${@:3}"
}

# Linux 7.3 itself does not expect what a child has after mremap(), MADV_WIPEONFORK and fork(),
# when it unmaps a part of it. wiped.c does just that, on the base. A compiler may put the assertion
# of vma_add_pgoff() into its caller.
BASE_WARNING='WARNING: mm/vma\.h:[0-9]+ at (vma_add_pgoff|__split_vma)\+'

base_warns() {
	enter gcc -O2 -Wall -Wextra -Werror -static -o "$BUILD/check/wiped" "$WORKBENCH/check/wiped.c" &&
		enter "$WORKBENCH/vm/boot" --known "$BASE_WARNING" --expect "$BASE_WARNING" base-debug \
			"$(kernel_dir base-debug)" "$BUILD/check/wiped"
}

# The doctests of the abstractions that the series adds must be among those that ran.
doctests() {
	local tests

	for tests in maple_tree_rcu_rs sync_rcu_counted_rs; do
		grep -E "^ +ok [0-9]+ rust_doctest_kernel_${tests}_0\b" "$logs/selftests-series.console" || return
	done
}

# The KUnit suites in the sources of the series.
kunit_suites() {
	{
		grep -rhoE '^#\[kunit_tests\(\w+\)\]' --include='*.rs' "$TREE/kernel/unwind" | sed -E 's/.*\((.*)\).*/\1/'
		grep -rlw kunit_test_suite --include='*.c' "$TREE/kernel/unwind" |
			xargs -r sed -nE '/struct kunit_suite/,/^}/s/.*\.name = "(.*)".*/\1/p'
	} | grep .
}

# Set the caller's $suites.
find_suites() {
	mapfile -t suites < <(kunit_suites)
	[ ${#suites[@]} != 0 ] || result FAILED "KUnit: no suite in the sources"
}

# The kernel's log has the results of KUnit's suites, if the kernel has any: those of the
# series must have run, and each that ran is judged.
count_guest() { # KERNEL
	local suites=()

	case $1 in series | debug)
		find_suites ;;
	esac
	count guest "$1" "$OUT/selftests-$1" "$logs/selftests-$1.console" "${suites[@]}"
}

# A sample with the arguments, registers and stack of a call, and then the perfs of the
# series and of the distribution.
uprobe_and_perfs() {
	enter "$WORKBENCH/stacks/build" static &&
		enter "$WORKBENCH/vm/boot" perf-series "$(kernel_dir series)" \
			bash -c '"$1/uprobe" "$2" "$3" && "$1/perf" "$2" 90' perfs "$WORKBENCH/check" "$BUILD/musl/static/lua" "$OUT"
}

both_perfs() { # KERNEL PERCENT
	enter "$WORKBENCH/stacks/build" static &&
		enter "$WORKBENCH/vm/boot" "perf-$1" "$(kernel_dir "$1")" \
			"$WORKBENCH/check/perf" "$BUILD/musl/static/lua" "$2"
}

# In each of its programs at least 99 % of the stacks are complete, and below 10 % without tables. The
# programs' work is fixed, so a faster machine takes fewer samples: ask for what gives a share a
# meaning, a quarter of those seen.
demonstration() { # NUMBER-OF-PROGRAMS COMMAND...
	"${@:2}" | tee "$logs/demo.report" || return
	awk -v number="$1" '/^complete before:/ {
		n++
		bad += !(NF == 9 && $8 == "samples:" && $3 < 10 && $6 >= 99 && $9 >= 500)
		print "judged: " $0
	} END { exit !(n == number && !bad) }' "$logs/demo.report" || { echo "the shares of complete stacks are wrong"; return 1; }
}

# What is left of a profiled Python program that prints the machine's name, and fails.
graph_and_output() { # MACHINE
	grep -q 'PyEval_EvalCode' "$OUT/profile.svg" && [ "$(tail -n 1 "$OUT/profile.out")" = "$1" ] &&
		[ "$(cat "$OUT/profile.status")" = 3 ] || { echo "the graph, the output or the status is wrong"; return 1; }
}

# Profile a command as a user does: it has a graph, and so does a command that fails. Then profile
# one in this machine's root directory: it has that one's files, and names from them.
own_program() {
	local message

	"$WORKBENCH/demo/profile" 'python3 workbench/stacks/programs/python.py 1 && uname -m && exit 3' || return
	graph_and_output x86_64 || return
	# shellcheck disable=SC2016 # the guest's shell expands it
	ROOT=/ "$WORKBENCH/demo/profile" \
		'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; cat /etc/os-release; : >/etc/lost; : >out/kept' || return
	cmp /etc/os-release "$OUT/profile.out" && [ -e "$OUT/kept" ] && [ ! -e /etc/lost ] &&
		grep -q '__libc_start' "$OUT/profile.svg" || { echo "the other root directory's graph, output or files are wrong"; return 1; }
	rm "$OUT/kept"
	message=$(ROOT=$WORKBENCH "$WORKBENCH/demo/profile" true 2>&1) &&
		{ echo "a directory without a shell was taken for a root directory"; return 1; }
	grep 'has no /bin/sh' <<<"$message"
}

# --- After each change ---

# The selftests that take long, and shorter times for the others.
SLOW="race_test random_test fault_test jit_test"
QUICK=(RACE_SECONDS=2 RANDOM_SECONDS=2)

# What a change of the series can break at once, with the edits in build/tree.
part_quick() {
	brief=yes
	check "the series applies" "$WORKBENCH/tree/assemble" --or-keep || return
	is_ready "$TREE"
	beside quick_sources
	kernel_builds || return
	beside quick_clippy
	check "kselftests build" inside install_selftests changed || return
	# What gave a warning is built again in the next run, or that would not show it.
	check "no warnings in the build of kselftests" no_warnings "$logs/check-kselftests-build.log" ||
		rm -rf "$(kernel_dir series)/kselftest/unwind_user"
	check "guest: KUnit and the fast kselftests" quick_selftests
	count_guest series
}

quick_sources() {
	check "checkpatch" inside checkpatch "$(this_commit)" edits &&
		grep ' passed before' "$logs/check-checkpatch.log"
	check "spelling" inside spelling
	check "kernel-doc" inside kernel_doc
	check "rustfmt" inside rustfmt_clean
	check "parser: rustfmt" in_crates fmt --check
	check "parser: clippy" of_the_tree clippy --package unwind-parser --all-targets -- -D warnings
	PROPTEST_RNG_SEED=1 PROPTEST_CASES=16 \
		check "parser: tests, with few cases" of_the_tree test --package unwind-parser
	count cargo "parser: tests" "$logs/check-parser--tests--with-few-cases.log"
}

# The crates read the parser of build/tree: that of the repository does not have its edits.
of_the_tree() { # COMMAND [ARGUMENT...]
	UNWIND_CARGO=$BUILD/cargo-quick enter bash -euc '
		for path in kernel/unwind/tables include/linux/unwind_tables.h; do
			mount --bind "$1/$path" "$2/$path"
		done
		exec "$2/workbench/cargo" "${@:3}"' cargo "$TREE" "$TOP" "$@"
}

quick_clippy() { check "no warnings by clippy in the crate" inside lint_crate; }

quick_selftests() {
	local test options=()

	for test in $SLOW; do options+=(--skip "unwind_user:$test"); done
	local "${QUICK[@]}"
	selftests series 600 "${options[@]}"
}

# --- On another base ---

OTHER=$BUILD/base-other

# Get its source: a clone that shows only the files at the top.
other_source() { # PACKAGE
	local repository

	repository=$("$WORKBENCH/tree/fetch" "$1") || return
	rm -rf "$OTHER"
	git -c safe.directory='*' clone --quiet --shared --sparse "$repository" "$OTHER"
}

# Put the series on Debian's newest kernel, or on that of the package BASE, build it, and run
# its tests there.
part_base() {
	local package=${BASE:-$NEWEST_PACKAGE} version

	check "source of $package" other_source "$package" || return
	version=$(git -C "$OTHER" log -1 --format=%s)
	version=${version#Linux }
	if [ -z "${BASE-}" ] && [ "$(printf '%s\n' "$version" "$BASE_VERSION" | sort -V | tail -n 1)" = "$BASE_VERSION" ]; then
		result SKIP "series on a newer kernel" "there is none: the newest is $version, the base $BASE_VERSION"
		return
	fi
	KDIR=$OTHER UNWIND_OUT=$OUT/$package check "series on $version" "$WORKBENCH/check/run" other
	tail -n 1 "$logs/check-series-on-${version//[^A-Za-z0-9]/-}.log"
}

# The checks on the base that KDIR names.
part_other() {
	check "the series applies" "$WORKBENCH/tree/assemble" || return
	check "kernel builds" "$WORKBENCH/vm/kernel" series || return
	check "no warnings in the kernel's build" no_warnings "$logs/build-series.log"
	check "perf builds" "$WORKBENCH/perf/build"
	check "kselftests build" inside install_selftests || return
	check "guest: KUnit and kselftests" selftests series 2400
	count_guest series
}

# --- On arm64 ---

part_arm64() {
	check "the series applies to the base" "$WORKBENCH/tree/assemble" || return
	is_ready "$TREE"
	arm64 "arm64" arm64_short
	arm64 "arm64, all programs" arm64_long
}

# Whether to run the part of a name. All run, but for check-long with PARTS, a regular expression.
only=''
is_wanted() { [[ $1 =~ $only ]]; }

# A part that also depends on the files in that guest.
arm64() { # NAME FUNCTION
	is_wanted "$1" || return 0
	check "arm64: root file system" enter "$WORKBENCH/rootfs/build_arm64" || return
	unless_passed "$1" "$(sha256sum <"$ARM64_PACKAGES") $(inputs "${KERNEL_FILES[@]}" ':!Documentation' "${GUEST[@]}" \
		workbench/stacks workbench/arm64 Makefile)" "$2"
}

arm64_kernel() {
	! ready "$(kernel_dir arm64)" || return 0
	check "arm64: kernel builds" "$WORKBENCH/vm/kernel" arm64 || return
	is_ready "$(kernel_dir arm64)"
	check "arm64: no warnings in the kernel's build" no_warnings "$logs/build-arm64.log"
	return 0
}

arm64_short() {
	arm64_kernel || return
	arm64_stock python3 sort bash throw
}

arm64_selftests() {
	check "arm64: kselftests build" inside install_selftests_for arm64 "$SELFTESTS-arm64" || return
	check "arm64: no warnings in the build of kselftests" no_warnings "$logs/check-arm64--kselftests-build.log"
	RACE_SECONDS=5 RANDOM_SECONDS=5 check "arm64 guest: kselftests" selftests arm64 1200
	count guest arm64 "$OUT/selftests-arm64" "$logs/selftests-arm64.console"
}

# One boot: KUnit, and complete stacks of stock programs, of all if none is named.
arm64_stock() { # [PROGRAM...]
	local suites

	check "arm64: perf builds" "$WORKBENCH/perf/build" || return
	# The log of the last boot does not count.
	rm -f "$logs/stacks-clock-arm64.console"
	GUEST_APPEND="kunit.enable=1 kunit.autorun=1" UNWIND_ARCH=arm64 \
		check_results stacks-clock-arm64 "arm64 stock" "arm64 guest: KUnit and stock programs" \
			"$WORKBENCH/stacks/run" clock "$@"
	find_suites
	# The names of all that passed are in the x86 guest's part.
	brief=yes count kunit "$logs/stacks-clock-arm64.console" "${suites[@]}"
}

arm64_long() {
	arm64_kernel || return
	arm64_selftests
	check "arm64 guest: make run" demonstration 1 make -C "$TOP" run ARCH=arm64
	check "arm64 guest: make profile" arm64_profile
	arm64_stock
	UNWIND_ARCH=arm64 check_results stacks-gdb-arm64 "arm64 stacks" "arm64 guest: whole stacks of stock programs" \
		"$WORKBENCH/stacks/run" gdb
	UNWIND_ARCH=arm64 check_results once-arm64 "arm64 at once" "arm64 guest: stacks taken at once" \
		"$WORKBENCH/once/run"
	UNWIND_ARCH=arm64 check_results once-nmi-arm64 "arm64 NMI" "arm64 guest: stacks taken at once in NMIs" \
		"$WORKBENCH/once/run" --nmi python3 perl
	check_results once-places "arm64 places" "arm64 guest: stacks taken at once at each place of the kernel" \
		"$WORKBENCH/once/places"
	check "arm64 guest: stacks equal the shadow stack" "$WORKBENCH/arm64/gcs"
	check "arm64 guest: tags, and a program of 32 bits" "$WORKBENCH/arm64/abi"
	check "arm64 guest: samples in NMIs, and other processors" "$WORKBENCH/arm64/variants" nmi a57 qarma5
}

# KASAN, lockdep and kmemleak, with what does most at random for ten minutes.
arm64_debug() {
	check "arm64: debug kernel builds" "$WORKBENCH/vm/kernel" arm64-debug || return
	check "arm64: kselftests build" inside install_selftests_for arm64 "$SELFTESTS-arm64" || return
	RANDOM_SECONDS=600 check "arm64 debug guest, with NMIs: kselftests" \
		selftests arm64-debug 7200 --override-timeout 3600
	count guest arm64 "$OUT/selftests-arm64-debug" "$logs/selftests-arm64-debug.console"
}

# The shadow stack again, with pages of 16 and 64 KiB.
arm64_pages() {
	local kernel

	for kernel in arm64-16k arm64-64k; do
		check "$kernel: kernel builds" "$WORKBENCH/vm/kernel" "$kernel" || return
		check "$kernel guest: stacks equal the shadow stack" \
			env "ARM64_KERNEL=$(kernel_dir "$kernel")" "$WORKBENCH/arm64/gcs"
	done
}

arm64_profile() {
	make -C "$TOP" profile ARCH=arm64 COMMAND='python3 workbench/stacks/programs/python.py 1 && uname -m && exit 3' || return
	graph_and_output aarch64
}

# --- With a defect ---

# The tests that workbench/mutate/run asks for, on a copy with a mutant or without one. A check whose
# name ends with `build' or `builds' shows whether the mutant compiles.
part_mutant() {
	brief=yes
	case $MUTANT_TESTS in
	host) mutant_host PROPTEST_CASES=16 ;;
	host-full) mutant_host ;;
	quick) mutant_guest && check "guest: KUnit and the fast kselftests" quick_selftests; count_guest series ;;
	full) mutant_guest && check "guest: KUnit and kselftests" selftests series 2400; count_guest series ;;
	once) at_once python3 ;;
	ftrace) ftrace_stacks ;;
	bpf) check "kernel with BPF builds" "$WORKBENCH/vm/kernel" bpf &&
		check_results bpf bpf "guest: stacks in BPF programs" "$WORKBENCH/bpf/run" python3 ;;
	arm64) mutant_arm64 && arm64_selftests ;;
	arm64-stock) mutant_arm64 && arm64_stock python3 sort ;;
	arm64-abi) mutant_arm64 && check "arm64 guest: tags, and a program of 32 bits" "$WORKBENCH/arm64/abi" ;;
	*) die "mutant: there are no tests $MUTANT_TESTS" ;;
	esac
}

mutant_host() { # [VARIABLE=VALUE]
	# What is left of a build that was killed would be taken for good.
	local -x CARGO_INCREMENTAL=0

	check "parser builds" in_crates test --no-run --package unwind-parser &&
		check "parser: tests" up_to_a_failure env PROPTEST_RNG_SEED=1 "$@" \
			timeout 1800 "$WORKBENCH/cargo" test --package unwind-parser
}

# Run a command of cargo until a test has failed.
up_to_a_failure() { "$@" | awk '{ print } / \.\.\. FAILED$/ { failed = 1; exit } END { exit failed }'; }

mutant_guest() {
	check "kernel builds" "$WORKBENCH/vm/kernel" series &&
		check "kselftests build" inside install_selftests changed
}

mutant_arm64() { check "arm64: kernel builds" "$WORKBENCH/vm/kernel" arm64; }

# --- Long checks ---

# Each part is remembered, so a run that is stopped, or in which a part fails, goes on there when
# it is started again.
part_long() {
	local only=${PARTS-} recording=yes topic

	check "the series applies to the base" "$WORKBENCH/tree/assemble" || return
	is_ready "$TREE"
	kernel_builds || return
	# What finds most comes first.
	long "without tables" long_off
	long "the base" long_base
	long "the base's own warning" long_base_debug
	long "KASAN, lockdep and kmemleak" long_debug
	long "BPF" bpf_stacks workbench/bpf workbench/stacks workbench/once
	long "stacks pending while all comes and goes" long_stress workbench/bpf
	long "KCSAN" long_kcsan
	long "KUnit by its documented commands" long_kunit
	long "HTML documentation" check "htmldocs" inside htmldocs
	long "maple tree" check "maple tree tests outside of the kernel" inside maple_tests
	long "parser beside other readers, both machines" long_readers workbench
	long "all files of a system" long_files workbench
	long "Debian package" check "unwind-tables: Debian package" enter "$WORKBENCH/package/build" workbench/package
	long "packages for a real machine" long_packages workbench/package
	long "guessed callers" check "guessed callers beside the real ones" "$WORKBENCH/callsite/run" \
		workbench/callsite workbench/parser
	long "fuzzing" check "fuzzing" "$WORKBENCH/fuzz/run" "${FUZZ_SECONDS:=180}" workbench
	for topic in $(long_topics); do
		every_commit_of "$topic"
	done
	long "fewer options" check "the series builds with fewer options" inside builds_without_options workbench/tree
	long "every topic, i386 and arm64" \
		check "every topic's files build for i386 and arm64" inside every_topic_builds_elsewhere workbench/series workbench/tree
	# Which kernel is the newest changes, too.
	long "a newer kernel" part_base "$(date +%G-%V)" "${BASE-}" workbench/series workbench/tree
	long "mutants" check_results mutants mutants "tests notice mutants" "$WORKBENCH/mutate/run" --random 5 \
		workbench
	long "costs, also of the base" long_costs workbench/measure results/bench.json
	long "stock programs" stock workbench/stacks
	long "stacks taken at once" at_once workbench/stacks workbench/once
	arm64 "arm64" arm64_short
	arm64 "arm64, all programs" arm64_long
	arm64 "arm64, larger pages" arm64_pages
	arm64 "arm64, KASAN, lockdep and kmemleak" arm64_debug
	long "stock programs and gdb" stock_gdb 300 workbench/stacks
	long "libraries" libraries 550 musl workbench
}

# A directory that is empty is left of a topic of an earlier commit.
long_topics() { find "$WORKBENCH/series" -mindepth 2 -maxdepth 2 -printf '%h\n' | sed 's|.*/||' | sort -u; }

# These take hours, so each topic is a part. What comes behind a topic does not matter to it.
every_commit_of() { # TOPIC
	is_wanted "every commit of $1" || return 0
	unless_passed "every commit of $1" \
		"$(git -C "$TREE" log --format=%T "refs/topics/$1") $(inputs "${GUEST[@]}" workbench/check ':!workbench/check/long.txt')" \
		check "every commit of $1 compiles what it touches" inside every_commit_compiles "$1"
}

long_packages() {
	check "packages of the kernel and of perf" "$WORKBENCH/package/deb" || return
	check "packages in a disk image" "$WORKBENCH/package/try_deb"
}

# `long NAME FUNCTION [ARGUMENT...] [PATH...]`: a part that depends on the kernel, on what
# builds and boots it, on the checks, and on these paths.
long() {
	local name=$1 key words=() paths=()
	shift

	is_wanted "$name" || return 0
	for key; do
		if [[ $key == workbench || $key == workbench/* || $key == results/* ]]; then paths+=("$key"); else words+=("$key"); fi
	done
	key=$(inputs "${KERNEL_FILES[@]}" "${GUEST[@]}" workbench/check ':!workbench/check/long.txt' "${paths[@]}")
	unless_passed "$name" "$key" "${words[@]}"
}

# The parser's suite is in another configuration than the others.
long_kunit() {
	local suites

	mapfile -t suites < <(kunit_suites | grep '^unwind_tables' | grep -vx unwind_tables_parse)
	check "KUnit in User Mode Linux" inside kunit um &&
		count kunit "$logs/check-KUnit-in-User-Mode-Linux.log" unwind_tables_parse
	check "KUnit in an emulator" inside kunit x86_64 &&
		count kunit "$logs/check-KUnit-in-an-emulator.log" "${suites[@]}"
}

long_readers() {
	CORPUS_ABIS='amd64 aarch64' check "agreement with other readers, both machines" all_readers_agree
}

long_files() {
	UNWIND_TEST_FILES=all \
		check "unwind-tables: all files of a system" unwind_tables test &&
		count cargo "unwind-tables: tests" "$logs/check-unwind-tables--all-files-of-a-system.log"
}

long_costs() {
	check "bench" "$WORKBENCH/measure/bench" &&
		within_limits
}

# Frame pointers work as before, and stacks are taken at the right moment.
long_off() {
	check "kselftests build" inside install_selftests || return
	check "kernel without Rust builds" "$WORKBENCH/vm/kernel" off
	check "no warnings in the build without Rust" no_warnings "$logs/build-off.log"
	check "guest without tables: kselftests" selftests off 1200
	count_guest off
}

base_kernel() { # KERNEL
	"$WORKBENCH/tree/base" && "$WORKBENCH/vm/kernel" "$1"
}

long_base() {
	check "kselftests build" inside install_selftests || return
	check "kernel of the base builds" base_kernel base || return
	check "guest of the base: kselftests" selftests base 1200 \
		--test unwind_user:frame_pointer_test --test unwind_user:moment_test \
		--test unwind_user:moment_signal_test
	count_guest base
	check "guest: perf, old and new, on the base" both_perfs base 0
}

long_base_debug() {
	check "kernel of the base with its assertions builds" base_kernel base-debug || return
	check "guest: the base's own warning" base_warns
}

long_debug() {
	check "kselftests build" inside install_selftests || return
	check "debug kernel builds" "$WORKBENCH/vm/kernel" debug || return
	RACE_SECONDS=60 RANDOM_SECONDS=600 \
		check "debug guest: KUnit and kselftests" selftests debug 7200 --override-timeout 3600
	check "debug guest: kmemleak has scanned" grep "kmemleak has scanned" "$logs/selftests-debug.console"
	count_guest debug
}

# BPF programs, instances of ftrace and tasks go while stacks are pending.
long_stress() {
	check "debug kernel builds" "$WORKBENCH/vm/kernel" debug || return
	check "BPF programs build" "$WORKBENCH/bpf/build" || return
	check "debug guest: stress" enter "$WORKBENCH/vm/boot" --timeout 3600 --known "$BASE_WARNING" --append no5lvl \
		stress-debug "$(kernel_dir debug)" "$WORKBENCH/bpf/stress" "$BUILD/bpf" "${STRESS_SECONDS:-600}"
	check "debug guest: kmemleak has scanned after it" grep "kmemleak has scanned" "$logs/stress-debug.console"
}

# Data races, in C.
long_kcsan() {
	check "kselftests build" inside install_selftests || return
	check "KCSAN kernel builds" "$WORKBENCH/vm/kernel" kcsan || return
	RACE_SECONDS=120 RANDOM_SECONDS=120 \
		check "KCSAN guest: races" selftests kcsan 1800 --override-timeout 900 \
		--test unwind_user:race_test --test unwind_user:random_test
	count_guest kcsan
}

# --- When the long checks last passed ---

LONG=$WORKBENCH/check/long.txt

# Keep in the repository when each part has passed: a line for each, with the commit. This run's
# lines replace those before, and a part that failed keeps the line of its last pass.
long_record() {
	local lines

	lines=$({
		grep -vE '[1-9][0-9]* failed | 0 passed ' <<<"${parts%$'\n'}"
		grep -v '^#' "$LONG"
	} 2>/dev/null | awk '!seen[substr($0, 1, 46)]++' | sort)
	{
		echo "# SPDX-License-Identifier: GPL-2.0"
		echo "# Written by \`make check-long': how each part has last passed, and at which commit."
		echo "$lines"
	} >"$LONG.new" && mv "$LONG.new" "$LONG"
}

long_summary() {
	printf '\nThe parts:\n%s' "$parts"
	[ -n "$parts" ] || result FAILED "parts" "none has a name with '${PARTS-}' in it"
	[ "$failed" = 0 ] || echo "Start it again: what passed is not repeated."
	long_last
}

# Print when all parts have passed, and which ones have not yet.
long_last() {
	local names name line number most=-1 oldest='' never=''

	mapfile -t names < <(
		long_topics | sed 's/^/every commit of /'
		declare -f part_long | sed -nE 's/^ *(long|arm64) "([^"]*)".*/\2/p')
	for name in "${names[@]}"; do
		if line=$(grep -F "$(printf '%-46s ' "$name")" "$LONG" 2>/dev/null); then
			read -r name line <<<"$(awk '{ print $(NF - 1), $NF }' <<<"$line")"
			number=$(git -C "$TOP" rev-list --count "${name%+edits}..HEAD" 2>/dev/null) || number=99999
			[ "$number" -le "$most" ] || { most=$number oldest="commit $name on $line, $number commits ago"; }
		else
			never+=${never:+; }$name
		fi
	done
	echo "check-long: ${oldest:+the oldest result is of $oldest; }not passed yet: ${never:-none}"
}
