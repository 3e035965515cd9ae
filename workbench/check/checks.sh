# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checks, for workbench/check/run.
# shellcheck disable=SC2154 # which sets $logs

# --- Without a virtual machine ---

part_host() {
	check "the series applies to the base" "$WORKBENCH/tree/assemble" || return
	check "tools for the series" enter "$WORKBENCH/tree/selftest" &&
		count tap host "tree" "$logs/check-tools-for-the-series.log"
	check "every file has a licence" every_file_has_a_licence
	check "git am gives the same tree" inside am_same_tree
	check "checkpatch" inside checkpatch
	check "spelling" inside spelling
	check "rustfmt" inside rustfmt_clean
	check "kernel-doc" inside kernel_doc
	check "documentation lists each reason" inside documented_reasons
	check "manual pages" enter mandoc -T lint -W warning "$TOP/tools/unwind-tables/unwind-tables.1" \
		"$TOP/tools/unwind-jit/unwind_jit.3" "$TOP/tools/unwind-register/unwind-register.7"
	check "shellcheck" inside shellcheck_scripts
	check "ruff and mypy" inside python_scripts
	check "demonstration builds" enter "$WORKBENCH/demo/build"
	check "workspace: rustfmt" in_crates fmt --check
	check "workspace: clippy" in_crates clippy --workspace --all-targets -- -D warnings
	# The seed is fixed, so each run has the same cases. A run by hand has others.
	PROPTEST_RNG_SEED=1 \
		check "parser, readers and host tools" \
		in_crates test --workspace --exclude unwind-fuzz -- --nocapture
	count cargo "parser, readers and host tools" "$logs/check-parser--readers-and-host-tools.log"
	part_tables
	part_jit
	check "kernel builds" "$WORKBENCH/vm/kernel" series || return
	check "no warnings in the kernel's build" no_warnings "$logs/build-series.log"
	check "tables of the vDSO" inside vdso_tables
	check "no way to a panic in the kernel's object" inside no_panic
	check "no warnings with W=1, clippy and sparse" inside lint
	check "objects without Rust" inside without_rust
	check "no warnings in the build without Rust" no_warnings "$logs/build-off.log"
	check "tests of mappings outside of the kernel" inside vma_tests
}

# A function of series.sh, inside the tool-chain root file system.
inside() { enter bash -c '. "$0"; "$@"' "$WORKBENCH/check/series.sh" "$@"; }

# The parser against other readers, as a tool, and on what a fuzzer has found.
part_tables() {
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
	check "unwind-register: test" enter make -s -C "$TOP/tools/unwind-register" "O=$BUILD/unwind-register" test
	check "unwind-jit: rustfmt" in_crates -C tools/unwind-jit/crate fmt --check
	check "unwind-jit: clippy" in_crates -C tools/unwind-jit/crate clippy --all-targets -- -D warnings
	PROPTEST_RNG_SEED=1 check "unwind-jit: tests" in_crates -C tools/unwind-jit/crate test
	count cargo "unwind-jit: tests" "$logs/check-unwind-jit--tests.log"
}

in_crates() { "$WORKBENCH/cargo" "$@"; } # [-C DIRECTORY] COMMAND [ARGUMENT...]

unwind_tables() { # TARGET-OF-MAKE
	enter make -C "$TOP/tools/unwind-tables" "OUTPUT=$BUILD/unwind-tables" V=1 "$1"
}

# It prints SKIP for a reader that is not installed, and for a file without .eh_frame.
all_readers_agree() {
	enter "$WORKBENCH/readers/agree" | tee "$BUILD/check/agree.log" &&
		! grep -n SKIP "$BUILD/check/agree.log"
}

every_file_has_a_licence() {
	local missing

	# A patch has the licence of its file; all other files name their own.
	missing=$(cd "$TOP" && git ls-files -co --exclude-standard -- ':!*.patch' ':!README.md' \
		':!COPYING' ':!workbench/series' ':!*.lock' ':!*.json' ':!*/settings' ':!*/config' |
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
	check "kernel" "$WORKBENCH/vm/kernel" series || return
	check "kselftests build" inside install_selftests || return
	check "no warnings in the build of kselftests" no_warnings "$logs/check-kselftests-build.log"
	check "guest: doctests of the kernel crate" doctests
	check "guest: KUnit and kselftests" selftests series 2400
	count_guest series
	check "perf builds" "$WORKBENCH/perf/build" || return
	check "guest: arguments, registers and stack at a uprobe" uprobe_sample
	check "guest: perf, old and new" both_perfs series 90
	check "guest: the demonstration" demonstration
	check "guest: make profile" own_program
	stock python3 sort throw menhir
	stock_gdb 40 bash throw
	luajit
	loaders musl
	walks 60
	check "guest: costs" "$WORKBENCH/measure/bench" --series &&
		within_limits
}

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

# Compare whole stacks of real programs with gdb's, at a number of stops in each.
walks() { # STOPS
	check_results walks stacks "guest: whole stacks of real programs" "$WORKBENCH/walks/run" "$1"
}

# Count the complete stacks of stock programs: of all programs if none is named.
stock() { # [PROGRAM...]
	check_results stock stock "guest: stock programs" "$WORKBENCH/stock/run" "$@"
}

# Compare their whole stacks with gdb's, at a number of stops in each.
stock_gdb() { # STOPS [PROGRAM...]
	check_results stock-gdb "stock stacks" "guest: whole stacks of stock programs" \
		"$WORKBENCH/stock/compare-run" "$@"
}

# Check the stacks of LuaJIT, which registers its generated code.
luajit() {
	check_results luajit luajit "guest: stacks of LuaJIT" "$WORKBENCH/luajit/run"
}

# Check those of programs whose dynamic loader registers tables: musl or glibc.
loaders() { # C-LIBRARY
	check_results "loaders-$1" "loaders: $1" "guest: a loader that registers: $1" "$WORKBENCH/loaders/run" "$1"
}

# Check those of programs whose tables an auditor of the loader registers.
registrar() {
	check_results registrar registrar "guest: stacks by unwind-register" "$WORKBENCH/registrar/run"
}

# Check those of programs with libraries whose tables the kernel finds.
libraries() { # STOPS
	check_results libraries libraries "guest: whole stacks of programs with libraries" \
		"$WORKBENCH/libraries/run" "$1"
}

# Page tables have five levels where the CPU has them. But identify_cpu() clears that
# feature bit for a moment, and KASAN reports an interrupt in that window as a bad access.
selftests() { # KERNEL TIMEOUT [GUEST-OPTION...]
	local guest=("$WORKBENCH/check/guest") levels=

	[ "$1" != debug ] || levels=no5lvl
	[ "$1" != kcsan ] || guest=("$WORKBENCH/check/kcsan" "$(kernel_dir kcsan)" "${guest[@]}")
	# Those of the last run do not count.
	rm -rf "$OUT/selftests-$1" "$logs/selftests-$1.console"
	enter "$WORKBENCH/vm/boot" --timeout "$2" \
		--append "$levels kunit.enable=1 kunit.autorun=1 kunit.filter_glob=unwind_tables*" \
		"selftests-$1" "$(kernel_dir "$1")" \
		env "DAMAGE_STEP=${DAMAGE_STEP-5}" "RACE_SECONDS=${RACE_SECONDS-30}" "RANDOM_SECONDS=${RANDOM_SECONDS-30}" \
		"${guest[@]}" "$SELFTESTS" "$OUT/selftests-$1" "${@:3}"
}

# The doctests of the abstractions that the series adds must be among them.
doctests() {
	local tests

	enter "$WORKBENCH/vm/boot" --timeout 600 --expect '^ok 1 rust_doctests_kernel\b' \
		--append "no5lvl kunit.enable=1 kunit.autorun=1 kunit.filter_glob=rust_doctests_kernel" \
		doctests "$(kernel_dir series)" true &&
		for tests in maple_tree_rcu_rs maple_tree_rcu_writer_rs sync_rcu_rs sync_rcu_counted_rs sync_rcu_pointer_rs workqueue_rs; do
			grep -E "^ +ok [0-9]+ rust_doctest_kernel_${tests}_0\b" "$logs/doctests.console" || return
		done
}

# The kernel's log has the results of KUnit's suites, if the kernel has any.
count_guest() { # KERNEL
	local suites

	suites=(unwind_tables_parse unwind_tables unwind_tables_discovery unwind_tables_formats
		unwind_tables_user_memory)

	case $1 in off | base | kcsan) suites=() ;; esac
	count guest "$1" "$OUT/selftests-$1" "$logs/selftests-$1.console" "${suites[@]}"
}

uprobe_sample() {
	enter "$WORKBENCH/demo/build" &&
		enter "$WORKBENCH/vm/boot" uprobe "$(kernel_dir series)" \
			"$WORKBENCH/check/uprobe" "$BUILD/demo/lua" "$OUT"
}

both_perfs() { # KERNEL PERCENT
	enter "$WORKBENCH/demo/build" &&
		enter "$WORKBENCH/vm/boot" "perf-$1" "$(kernel_dir "$1")" \
			"$WORKBENCH/check/perf" "$BUILD/demo/lua" "$2"
}

# In both programs at least 99 % of the stacks are complete, and below 10 % without tables.
demonstration() {
	"$WORKBENCH/demo/run" | tee "$logs/demo.report" || return
	awk '/^complete before:/ {
		n++
		bad += !(NF == 9 && $8 == "samples:" && $3 < 10 && $6 >= 99 && $9 >= 2000)
		print "judged: " $0
	} END { exit !(n == 2 && !bad) }' "$logs/demo.report" || { echo "the shares of complete stacks are wrong"; return 1; }
}

# Profile a command as a user does: it has a graph, and so does a command that fails.
own_program() {
	"$WORKBENCH/demo/profile" 'python3 workbench/stock/python.py 1 && echo end && exit 3' || return
	grep -q '_PyEval_EvalFrame' "$OUT/profile.svg" && [ "$(tail -n 1 "$OUT/profile.out")" = end ] &&
		[ "$(cat "$OUT/profile.status")" = 3 ] || { echo "the graph, the output or the status is wrong"; return 1; }
}

# --- On other bases ---

# Put the series on the kernels of other packages, build it, and run its tests there.
part_base() {
	local package version log

	for package in ${BASE:-$OTHER_BASES}; do
		log=$logs/check-series-on-${package//[^A-Za-z0-9]/-}.log
		if ! "$WORKBENCH/tree/other" "$package" 2>"$log" >"$BUILD/check/other"; then
			result FAILED "series on $package" "see $log"
			sed 's/^/        | /' "$log"
			continue
		fi
		version=$(git -C "$(<"$BUILD/check/other")" log --reverse --format=%s | head -n 1)
		if [ -z "${BASE-}" ] && [ "$version" = "Linux $BASE_VERSION" ]; then
			result SKIP "series on $package" "the newest is $version, the base of the other checks"
			continue
		fi
		KDIR=$(<"$BUILD/check/other") UNWIND_OUT=$OUT/$package \
			check "series on $package" "$WORKBENCH/check/run" other
		printf '        %s: %s\n' "$version" "$(tail -n 1 "$log")"
	done
}

# The same for one of them, which KDIR names.
part_other() {
	check "the series applies" "$WORKBENCH/tree/assemble" || return
	check "kernel builds" "$WORKBENCH/vm/kernel" series || return
	check "no warnings in the kernel's build" no_warnings "$logs/build-series.log"
	check "perf builds" "$WORKBENCH/perf/build"
	check "kselftests build" inside install_selftests || return
	check "guest: KUnit and kselftests" selftests series 2400
	count_guest series
}

# --- Long checks ---

base_kernel() {
	"$WORKBENCH/tree/base" && "$WORKBENCH/vm/kernel" base
}

part_long() {
	check "KUnit in User Mode Linux" inside kunit um &&
		count kunit unwind_tables_parse "$logs/check-KUnit-in-User-Mode-Linux.log"
	check "KUnit in an emulator" inside kunit x86_64 &&
		count kunit unwind_tables "$logs/check-KUnit-in-an-emulator.log" &&
		count kunit unwind_tables_discovery "$logs/check-KUnit-in-an-emulator.log" &&
		count kunit unwind_tables_formats "$logs/check-KUnit-in-an-emulator.log" &&
		count kunit unwind_tables_user_memory "$logs/check-KUnit-in-an-emulator.log"
	check "htmldocs" inside htmldocs
	check "maple tree tests outside of the kernel" inside maple_tests
	UNWIND_TEST_FILES=all \
		check "unwind-tables: all files of a system" unwind_tables test &&
		count cargo "unwind-tables: tests" "$logs/check-unwind-tables--all-files-of-a-system.log"
	check "unwind-tables: Debian package" enter "$WORKBENCH/package/build"
	check "fuzzing" "$WORKBENCH/fuzz/run" "${FUZZ_SECONDS:-180}"
	check "every commit builds" inside every_commit_builds
	check "every commit's files build for i386 and arm64" inside every_commit_builds_elsewhere
	part_base
	check "bench" "$WORKBENCH/measure/bench" &&
		within_limits
	check "kselftests build" inside install_selftests || return
	DAMAGE_STEP=1 check "guest: each byte of a table damaged" selftests series 3600 \
		--override-timeout 3600 --test unwind_user:sframe_test
	count_guest series
	check "kernel without Rust builds" "$WORKBENCH/vm/kernel" off
	check "no warnings in the build without Rust" no_warnings "$logs/build-off.log"
	# Frame pointers work as before, and stacks are taken at the right moment. Tests
	# that need tables are skipped, or fail: this shows that they can fail.
	DAMAGE_STEP=100 check "guest without tables: kselftests" selftests off 1200
	count_guest off
	check "kernel of the base builds" base_kernel || return
	DAMAGE_STEP=100 check "guest of the base: kselftests" selftests base 1200 \
		--test unwind_user:frame_pointer_test --test unwind_user:moment_test \
		--test unwind_user:moment_wait_test --test unwind_user:moment_signal_test
	count_guest base
	check "guest: perf, old and new, on the base" both_perfs base 0
	stock
	stock_gdb 300
	walks 550
	libraries 100
	loaders glibc
	check "guest: costs of loaders that register" "$WORKBENCH/loaders/run" cost
	registrar
	check "debug kernel builds" "$WORKBENCH/vm/kernel" debug || return
	DAMAGE_STEP=8 RACE_SECONDS=300 RANDOM_SECONDS=1200 \
		check "debug guest: KUnit and kselftests" selftests debug 7200 --override-timeout 3600
	check "debug guest: kmemleak has scanned" grep "kmemleak has scanned" "$logs/selftests-debug.console"
	count_guest debug
	# Data races, in C.
	check "KCSAN kernel builds" "$WORKBENCH/vm/kernel" kcsan || return
	RACE_SECONDS=300 RANDOM_SECONDS=300 \
		check "KCSAN guest: races" selftests kcsan 1800 --override-timeout 900 \
		--test unwind_user:race_test --test unwind_user:random_test
	count_guest kcsan
}
