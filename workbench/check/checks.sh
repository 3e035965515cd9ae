# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The checks, for workbench/check/run.

# --- Without a virtual machine ---

part_host() {
	check "the series applies to the base" "$WORKBENCH/tree/assemble" || return
	check "tools for the series" enter "$WORKBENCH/tree/selftest" &&
		count_tap "tree" "$logs/check-tools-for-the-series.log"
	check "every file has a licence" every_file_has_a_licence
	check "git am gives the same tree" enter bash -c ". $WORKBENCH/check/series.sh; am_same_tree"
	check "checkpatch" enter bash -c ". $WORKBENCH/check/series.sh; checkpatch"
	check "rustfmt" enter bash -c ". $WORKBENCH/check/series.sh; rustfmt_clean"
	check "kernel-doc" enter bash -c ". $WORKBENCH/check/series.sh; kernel_doc"
	check "documentation lists each reason" enter bash -c ". $WORKBENCH/check/series.sh; documented_reasons"
	check "manual page" enter mandoc -T lint -W warning "$TOP/tools/sframe/sframe.1"
	check "demonstration builds" enter "$WORKBENCH/demo/build"
	check "host tools: rustfmt" enter "$WORKBENCH/host/build" fmt --check
	check "host tools: clippy" enter "$WORKBENCH/host/build" clippy --all-targets -- -D warnings
	# The cases are the same each time; who runs them alone has others.
	UNWIND_DEMO_LUA=$BUILD/demo/lua PROPTEST_RNG_SEED=1 \
		check "parser and host tools" enter "$WORKBENCH/host/build" test -- --nocapture
	count_cargo "$logs/check-parser-and-host-tools.log"
	part_tables
	check "kernel builds" "$WORKBENCH/vm/kernel" series || return
	check "no warnings in that build" no_warnings "$logs/build-series.log"
	check "tables of the vDSO" enter bash -c ". $WORKBENCH/check/series.sh; vdso_tables"
	check "no warnings with W=1 and clippy" lint
	check "no way to a panic in the kernel's object" enter bash -c ". $WORKBENCH/check/series.sh; no_panic"
	check "KUnit in User Mode Linux" enter bash -c ". $WORKBENCH/check/series.sh; kunit_um" &&
		count_kunit unwind_tables_parse "$logs/check-KUnit-in-User-Mode-Linux.log"
	check "kernel builds without Rust" "$WORKBENCH/vm/kernel" off
	check "no warnings in that build" no_warnings "$logs/build-off.log"
}

# The parser against other readers, as a tool, and on what a fuzzer has found.
part_tables() {
	check "corpus of programs with tables" enter "$WORKBENCH/corpus/build" || return
	check "sframe: rustfmt" enter "$WORKBENCH/readers/sframe" fmt --check
	check "sframe: clippy" enter "$WORKBENCH/readers/sframe" clippy --all-targets -- -D warnings
	check "sframe: tests" enter "$WORKBENCH/readers/sframe" test
	count_cargo "$logs/check-sframe--tests.log"
	check "readers: rustfmt" enter "$WORKBENCH/readers/build" fmt --check
	check "readers: clippy" enter "$WORKBENCH/readers/build" clippy --all-targets -- -D warnings
	check "readers: tests" enter "$WORKBENCH/readers/build" test
	count_cargo "$logs/check-readers--tests.log"
	check "agreement with other readers" enter "$WORKBENCH/readers/agree" &&
		cat "$logs/check-agreement-with-other-readers.log"
	check "fuzz: rustfmt" enter cargo fmt --check --manifest-path "$WORKBENCH/fuzz/Cargo.toml"
	check "fuzz: clippy" "$WORKBENCH/fuzz/run" clippy
	check "fuzz: inputs that were kept" "$WORKBENCH/fuzz/run" replay
}

every_file_has_a_licence() {
	local missing

	# A patch has the licence of its file; the others say it themselves.
	missing=$(cd "$TOP" && git ls-files -co --exclude-standard -- ':!*.patch' ':!README.md' \
		':!COPYING' ':!workbench/series' ':!*.lock' ':!*/settings' ':!*/config' |
		while IFS= read -r file; do
			[ ! -f "$file" ] || head -n 4 "$file" | grep -q 'SPDX-License-Identifier: .*GPL-2.0' || echo "$file"
		done)
	[ -z "$missing" ] || { echo "no SPDX line: $missing"; return 1; }
}

no_warnings() { # LOG
	# A log that is not there holds none either.
	# A clock that was set meanwhile is not in what was built.
	[ -s "$1" ] && ! grep -nE 'warning:|WARNING:' "$1" | grep -vE 'Clock skew detected|modification time .* in the future'
}

# The objects of the series once more, with all that compilers have to say.
lint() {
	enter bash -c ". $WORKBENCH/check/series.sh; lint" && no_warnings "$logs/build-lint.log"
}

# --- In a virtual machine ---

part_vm() {
	check "kernel" "$WORKBENCH/vm/kernel" series || return
	check "kernel without Rust" "$WORKBENCH/vm/kernel" off || return
	check "kselftests build" enter bash -c ". $WORKBENCH/check/series.sh; build_selftests" || return

	check "guest: KUnit and kselftests" selftests series series 1500 1 60
	count_kunit unwind_tables_parse "$logs/selftests-series.console"
	count_kunit unwind_tables "$logs/selftests-series.console"
	count_selftests series
	check "guest without tables: kselftests" selftests off off 600 100
	count_frame_pointers
	check "perf builds" "$WORKBENCH/perf/build" || return
	check "guest: all that is to be known at a uprobe" uprobe_sample
	check "guest: perf, old and new" both_perfs series 90
	check "guest: the demonstration" demonstration
	walks 100
}

# Whole stacks of real programs, with gdb's at so many stops in each.
walks() { # STOPS
	rm -f "$OUT/walks/results.tap"
	check "guest: whole stacks of real programs" "$WORKBENCH/walks/run" "$1"
	[ ! -e "$OUT/walks/results.tap" ] || count_tap "stacks" "$OUT/walks/results.tap"
}

# With five levels of page tables KASAN takes any interrupt in identify_cpu(),
# which forgets that there are five for a moment, for a wild access.
selftests() { # NAME KERNEL TIMEOUT DAMAGE-STEP [SECONDS-OF-RACES]
	enter "$WORKBENCH/vm/boot" --timeout "$3" \
		--append "no5lvl kunit.enable=1 kunit.autorun=1 kunit.filter_glob=unwind_tables*" \
		"selftests-$1" "$(kernel_dir "$2")" "$WORKBENCH/check/guest" "$BUILD/selftests" "$OUT/selftests-$1" "${@:4}"
}

# A suite's tests stand in the kernel's log.
count_kunit() { # SUITE LOG
	local tests=$BUILD/check/kunit-$1.tap

	tr -d '\r' <"$2" | sed -n "/# Subtest: $1\$/,/^\(not \)\?ok [0-9]* $1\>/p" |
		grep -E '^ +(1\.\.|(not )?ok )' >"$tests"
	count_tap "KUnit" "$tests"
}

# Those that compare stacks.
stacks="frame_pointer_test sframe_test walk_test frame_pointer_uprobe_test sframe_uprobe_test
	moment_test compat_test"
# Those that register tables themselves.
registration="register_test lifetime_test fork_test exec_test verdict_test observe_test
	fault_test race_test rules_test reads_test hostile_test end_test example"

# Those that sample the vDSO, which is built without a table if not with GNU tools.
vdso="vdso_frame_pointer_test vdso_sframe_test"

count_selftests() { # NAME
	local program

	for program in $stacks $vdso $registration; do
		count_tap "$program" "$OUT/selftests-$1/$program.tap"
	done
}

# Without tables frame pointers work as ever, and the moment is right; the other
# programs' stacks are lost, or their tests could not fail.
count_frame_pointers() {
	local results=$OUT/selftests-off program

	for program in frame_pointer_test frame_pointer_uprobe_test moment_test compat_test; do
		count_tap "without tables: $program" "$results/$program.tap"
	done
	for program in sframe_test walk_test sframe_uprobe_test; do
		if grep -q '^not ok 1 ' "$results/$program.tap" && ! grep -q 'SKIP' "$results/$program.tap"; then
			result ok "without tables: $program fails"
		else
			result FAILED "without tables: $program does not fail" "see $results/$program.tap"
		fi
	done
	for program in $vdso $registration; do
		if grep -q '# SKIP' "$results/$program.tap" && ! grep -q '^not ok' "$results/$program.tap"; then
			result ok "without tables: $program is skipped"
		else
			result FAILED "without tables: $program is not skipped" "see $results/$program.tap"
		fi
	done
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

# At least 99 % of the stacks are complete, and below 10 % were before.
demonstration() {
	local last

	"$WORKBENCH/demo/run" | tee "$logs/demo.report"
	last=$(tail -n 1 "$logs/demo.report")
	awk -v line="$last" 'BEGIN {
		if (split(line, w, " ") != 9 || w[1] != "complete" || w[8] != "samples:")
			exit 1
		exit !(w[3] < 10 && w[6] >= 99 && w[9] >= 2000)
	}' || { echo "not as it should be: $last"; return 1; }
}

# --- What takes long ---

part_long() {
	check "every commit builds" enter bash -c ". $WORKBENCH/check/series.sh; every_commit_builds"
	check "bench, first run" "$WORKBENCH/measure/bench"
	cp "$OUT/bench.json" "$BUILD/check/bench-first.json"
	check "bench, second run" "$WORKBENCH/measure/bench"
	check "two runs agree within 1 %" enter "$WORKBENCH/measure/agree" "$BUILD/check/bench-first.json" "$OUT/bench.json"
	check "kselftests on the base" base_selftests
	check "guest: perf, old and new, on the base" both_perfs base 0
	walks 550
	check "debug kernel builds" "$WORKBENCH/vm/kernel" debug || return
	check "debug guest: KUnit and kselftests" selftests debug debug 5400 8 300
	check "debug guest: leaks were looked for" grep "kmemleak has scanned" "$logs/selftests-debug.console"
	count_kunit unwind_tables_parse "$logs/selftests-debug.console"
	count_kunit unwind_tables "$logs/selftests-debug.console"
	count_selftests debug
}

base_selftests() {
	selftests base base 600 100 || return
	# Nothing of this series is needed for these.
	! grep '^not ok' "$OUT/selftests-base/frame_pointer_test.tap" &&
		grep -q '^ok' "$OUT/selftests-base/frame_pointer_test.tap" || return
	# Each of these can fail.
	! grep '^ok' "$OUT/selftests-base/moment_test.tap" &&
		grep -q '^not ok' "$OUT/selftests-base/moment_test.tap"
}
