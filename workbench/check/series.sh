# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checks of the series that run inside the tool-chain root file system.

set -euo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../lib.sh"

base() { git -C "$TREE" rev-list --max-parents=0 HEAD; }

# The mailed patches give the same tree as the built one. Only the files of the series are
# written: git would look at each other file after each patch.
am_same_tree() {
	local try=$BUILD/check/am

	rm -rf "$try" "$BUILD/check/series"
	"$WORKBENCH/tree/series" --no-signoff
	git clone --quiet --shared --no-checkout "$TREE" "$try"
	git -C "$try" config index.skipHash true
	git -C "$TREE" diff --name-only "$(base)" HEAD | sed 's,^,/,' |
		git -C "$try" sparse-checkout set --no-cone --no-sparse-index --stdin
	git -C "$try" checkout --quiet --detach "$(base)"
	find "$OUT/series" -name '*.patch' ! -name 0000-cover-letter.patch | sort |
		xargs git -C "$try" -c user.name=series -c user.email=series@localhost am --quiet
	git -C "$TREE" rev-parse 'HEAD^{tree}'
	git -C "$try" rev-parse 'HEAD^{tree}'
	[ "$(git -C "$TREE" rev-parse 'HEAD^{tree}')" = "$(git -C "$try" rev-parse 'HEAD^{tree}')" ]
	rm -rf "$try"
}

# checkpatch takes minutes for the whole series. So the cache remembers the patches that have
# passed, by all that it reads of them: message, lines and names, and by checkpatch itself with its
# options. The number of a commit and those of its lines do not matter.
checkpatch() { # COMMIT-OF-THE-REPOSITORY [edits]
	local passed new=$BUILD/check/checkpatch.new known=$BUILD/check/checkpatch.known commit id

	cd "$TREE"
	passed=$CACHE/passed/checkpatch-$({
		cat scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch}
		declare -f checkpatch_commit checkpatch_ignores
	} | sha256sum | cut -c 1-32)
	mkdir -p "$passed"
	: >"$new" && : >"$known"
	for commit in $(git rev-list "$(base)..HEAD"); do
		id=$({ git log -1 --format=%B "$commit"; git diff-tree -p "$commit" | git patch-id --verbatim | cut -d ' ' -f 1; } |
			sha256sum | cut -c 1-40)
		if [ -z "${AGAIN-}" ] && [ -s "$passed/$id" ]; then
			cat "$passed/$id" >>"$known"
		else
			echo "$commit $passed/$id $1" >>"$new"
		fi
	done
	echo "$(wc -l <"$new") patches to look at"
	sort "$known" | uniq -c | while read -r number commit; do
		echo "$number patches passed before, at commit $commit"
	done
	[ -s "$new" ] || [ -s "$known" ] || return
	export -f checkpatch_commit checkpatch_ignores
	xargs -r -P "${JOBS:-$(nproc)}" -L 1 bash -c 'checkpatch_commit "$1" && echo "$3" >"$2" || exit 1' checkpatch <"$new"
	[ -z "${2-}" ] || checkpatch_edits
}

# The classes that are ignored for a patch of the files on standard input.
checkpatch_ignores() {
	# One commit, near the end, changes MAINTAINERS.
	local ignore=FILE_PATH_CHANGES,GIT_COMMIT_ID files

	files=$(cat)
	touches() { grep -qE "^($1)" <<<"$files"; }
	# Trace events have a layout of their own.
	! touches include/trace/ || ignore+=,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE,COMPLEX_MACRO
	! touches 'kernel/trace/trace_entries\.h$' || ignore+=,SPACING
	# BIT() is not available in a header for user space.
	! touches 'include/uapi/|tools/include/uapi/' || ignore+=,BIT_MACRO
	# uprobes use RCU Tasks Trace, which checkpatch does not know.
	! touches 'kernel/events/uprobes\.c$' || ignore+=,RCU_TASKS_TRACE
	# for_each_user_frame() is the base's, and ARCH_INIT_USER_FP_FRAME() as on x86.
	! touches 'kernel/unwind/user\.c$|arch/arm64/include/asm/unwind_user\.h$' || ignore+=,MACRO_ARG_REUSE
	# It takes FIXTURE_DATA(name) *self for a product.
	! touches tools/testing/selftests/unwind_user/ || ignore+=,SPACING
	# The architecture's name of a field.
	! touches 'arch/arm64/kernel/unwind_user\.c$' || ignore+=,CAMELCASE
	# Lists for initialisers.
	! touches 'tools/testing/selftests/unwind_user/(x86|arm64)/machine\.h$' || ignore+=,COMPLEX_MACRO
	# That test uses BUG_ON() by design; and the base has no history.
	! touches 'lib/test_maple_tree\.c$' || ignore+=,AVOID_BUG,UNKNOWN_COMMIT_ID
	echo "$ignore"
}

checkpatch_commit() { # COMMIT
	local ignore report

	ignore=$(git diff --name-only "$1^" "$1" | checkpatch_ignores)
	# The sender signs off the series.
	report=$(scripts/checkpatch.pl --strict --quiet --no-signoff --ignore "$ignore" --git "$1" 2>&1) && return
	printf '%s\n%s\n' "$(git log -1 --format=%s "$1")" "$report"
	return 1
}

# What is not yet a commit.
checkpatch_edits() {
	local edits=$BUILD/check/edits.patch file ignore

	git diff HEAD >"$edits"
	git ls-files -o --exclude-standard | while IFS= read -r file; do
		git diff --no-index /dev/null "$file" >>"$edits" || [ $? = 1 ]
	done
	[ -s "$edits" ] || return 0
	echo "the edits in build/tree: $(wc -l <"$edits") lines"
	ignore=$({ git diff --name-only HEAD; git ls-files -o --exclude-standard; } | checkpatch_ignores)
	scripts/checkpatch.pl --strict --quiet --no-signoff --ignore "$ignore" "$edits"
}

# codespell on all lines that the series adds, and on its messages. checkpatch
# can ask it too, but takes minutes for a large commit.
spelling() {
	local lines=$BUILD/check/spelling dictionary=$BUILD/check/codespell

	rm -rf "$lines"
	mkdir -p "$lines"
	git -C "$TREE" diff -U0 --no-color "$(base)" | awk -v directory="$lines" '
		/^\+\+\+ b\// { file = substr($0, 7); gsub("/", "!", file); next }
		/^\+/ { print substr($0, 2) >(directory "/" file) }'
	git -C "$TREE" log --format=%B "$(base)..HEAD" >"$lines/messages"
	[ "$(find "$lines" -type f | wc -l)" -ge 100 ]
	# Manual pages have a macro Nd, which is not a typing error.
	python3 -c 'import codespell_lib as c; print(c.__path__[0] + "/data/dictionary.txt")' |
		xargs grep -v '^nd->' >"$dictionary"
	codespell --dictionary "$dictionary" "$lines"
}

rustfmt_clean() {
	cd "$TREE"
	# Those of tools/ have their own edition, and cargo fmt checks them.
	git diff --name-only "$(base)..HEAD" -- '*.rs' ':!tools' |
		xargs rustfmt --edition 2021 --config-path .rustfmt.toml --check
}

kernel_doc() {
	local was=$BUILD/check/kernel-doc file new

	mkdir -p "$was"
	cd "$TREE"
	git diff --name-only --diff-filter=A "$(base)..HEAD" -- '*.[ch]' |
		xargs scripts/kernel-doc -none -Wall -Werror
	# Ignore warnings that the base already has.
	for file in $(git diff --name-only --diff-filter=M "$(base)..HEAD" -- '*.[ch]'); do
		git show "$(base):$file" >"$was/${file##*/}"
		new=$(comm -13 <(doc_warnings "$was/${file##*/}") <(doc_warnings "$file"))
		[ -z "$new" ] || { echo "$file: $new"; return 1; }
	done
}

# Print the warnings about a file's comments, without line numbers.
doc_warnings() {
	scripts/kernel-doc -none -Wall "$1" 2>&1 | sed -E 's/^Warning: [^ ]+ //' | sort
}

# The objects of the files that the series changes, in a kernel's build directory.
touched_objects() { # KERNEL-BUILD-DIRECTORY
	git -C "$TREE" diff --name-only --diff-filter=d "$(base)" -- '*.c' '*.S' '*.rs' ':!tools' ':!rust' |
		sed "s,^,$TREE/," >"$BUILD/check/touched"
	(cd "$1" && grep -rlF --include='.*.o.cmd' -f "$BUILD/check/touched" .) |
		sed -E 's,^\./,,; s,/\.([^/]*)\.cmd$,/\1,'
}

# Copy the series' build directory to that of another kernel, without these
# objects; list them in build/check/objects.
copy_for_touched() { # NAME
	local series copy

	series=$(kernel_dir series) copy=$(kernel_dir "$1")
	touched_objects "$series" >"$BUILD/check/objects"
	[ "$(wc -l <"$BUILD/check/objects")" -ge 20 ]
	rm -rf "$copy"
	mkdir "$copy"
	# Another check may be building the selftests there.
	tar -C "$series" --exclude=./kselftest -c . | tar -C "$copy" -x
	(cd "$copy" && xargs rm -f <"$BUILD/check/objects")
}

# Build the objects again, with all warnings of compilers, clippy and sparse.
# Warnings about lines of the base do not count.
lint() {
	local log=$OUT/logs/build-lint.log

	copy_for_touched lint
	# shellcheck disable=SC2046 # names without spaces
	make_in_place_of_series lint W=1 C=1 CLIPPY=1 $(<"$BUILD/check/objects") >"$log" 2>&1 ||
		{ grep -nE -A9 'error(\[|:)|Error [0-9]' "$log" | tail -n 60; return 1; }
	"$WORKBENCH/check/new_warnings" "$TREE" "$(base)" "$log"
	# sparse and clippy have looked at the objects.
	[ "$(grep -c '^  CHECK ' "$log")" -ge 15 ]
	[ "$(grep -c '^  CLIPPY .* kernel/unwind/tables/' "$log")" -ge 2 ]
}

# The same with clippy alone, for the crate, in a copy that stays: the first run builds all of
# Rust again.
lint_crate() {
	local log=$OUT/logs/build-clippy.log series copy objects

	series=$(kernel_dir series) copy=$(kernel_dir clippy)
	[ -d "$copy" ] || cp -a --reflink=auto "$series" "$copy"
	cmp -s "$series/.config" "$copy/.config" || cp -p "$series/.config" "$copy/.config"
	objects=$(cd "$copy" && grep -lE '^savedcmd.*(rustc|clippy-driver)' kernel/unwind/tables/.*.o.cmd |
		sed -E 's,/\.([^/]*)\.cmd$,/\1,')
	# Those of which nothing changed would print no warnings.
	(cd "$copy" && xargs rm -f <<<"$objects")
	# shellcheck disable=SC2086 # names without spaces
	make_in_place_of_series clippy CLIPPY=1 $objects >"$log" 2>&1 ||
		{ grep -nE -A9 'error(\[|:)|Error [0-9]' "$log" | tail -n 60; return 1; }
	"$WORKBENCH/check/new_warnings" "$TREE" "$(base)" "$log"
	[ "$(grep -c '^  CLIPPY .* kernel/unwind/tables/' "$log")" -ge 2 ]
}

# Commands contain the directory's name: in another one, all of Rust would be rebuilt.
make_in_place_of_series() { # KERNEL MAKE-ARGUMENT...
	TREE=$TREE unshare --mount --propagation unchanged bash -euc '
		mount --bind "$1" "$2"
		objects=$2
		shift 2
		make -C "$TREE" "O=$objects" "$@"' lint "$(kernel_dir "$1")" "$(kernel_dir series)" \
		"-j${JOBS:-2}" "${@:2}"
}

# Build the objects without Rust, and so without tables. They must refer to no symbol
# of the objects that are then missing.
without_rust() {
	local series off object objects=$BUILD/check/objects

	series=$(kernel_dir series) off=$(kernel_dir off)
	copy_for_touched off
	"$WORKBENCH/vm/kernel" off olddefconfig
	# make builds a named object even if the configuration does not.
	while IFS= read -r object; do
		! configured "$off" "$object" || echo "$object"
	done <"$objects" | sort >"$objects.off"
	sort "$objects" | comm -23 - "$objects.off" >"$objects.only"
	wc -l "$objects.off" "$objects.only"
	[ "$(wc -l <"$objects.off")" -ge 15 ] && [ -s "$objects.only" ] || return
	# shellcheck disable=SC2046 # names without spaces
	"$WORKBENCH/vm/kernel" off $(<"$objects.off") || return
	symbols "$off" --defined-only <"$objects.off" >"$objects.has"
	symbols "$series" --extern-only --defined-only <"$objects.only" | comm -23 - "$objects.has" >"$objects.gone"
	[ -s "$objects.gone" ] || return
	symbols "$off" --undefined-only <"$objects.off" | comm -12 - "$objects.gone" >"$objects.wanted"
	[ ! -s "$objects.wanted" ] || { echo "missing symbols:"; cat "$objects.wanted"; return 1; }
}

# Whether the configuration builds an object: no Makefile on the way names it only
# under options that are off.
configured() { # KERNEL-BUILD-DIRECTORY OBJECT [TREE]
	local dir=$2 rest lines

	while [[ $dir == */* ]]; do
		dir=${dir%/*}
		rest=${2#"$dir/"}
		lines=$(cat "${3:-$TREE}/$dir"/{Makefile,Kbuild} 2>/dev/null |
			grep -E "[[:space:]](${rest//./\\.}|${rest%%/*}/)([[:space:]]|\$)" | grep -v '^#') || true
		[ -z "$lines" ] || grep -qv 'CONFIG_' <<<"$lines" ||
			grep -oE 'CONFIG_[A-Z0-9_]+' <<<"$lines" | grep -xf - <(sed -n 's/=[ym]$//p' "$1/.config") >"$BUILD/check/options" ||
			return 1
	done
}

# The names of symbols in the objects that standard input names.
symbols() { # DIRECTORY NM-OPTION...
	(cd "$1" && shift && xargs nm --no-sort --just-symbols --quiet "$@") |
		sed '/:$/d; /^$/d' | sort -u
}

# The scripts here, and those of the series.
shellcheck_scripts() {
	local scripts

	cd "$TOP"
	scripts=$(scripts_of '^#!.*\b(ba)?sh$|shellcheck shell=')
	[ "$(wc -l <<<"$scripts")" -ge 40 ]
	xargs shellcheck --severity=warning --external-sources \
		--source-path=SCRIPTDIR --source-path="$WORKBENCH" <<<"$scripts"
}

# Scripts import modules from other directories; each script is a main program. mypy takes
# all at once if each has a name of its own: links have.
python_scripts() {
	local scripts config=$WORKBENCH/pyproject.toml links=$BUILD/check/python file names=()

	cd "$TOP"
	scripts=$(scripts_of '^#!.*\bpython3\b'; git ls-files -co --exclude-standard -- 'workbench/*.py' 'tools/*.py')
	scripts=$(sort -u <<<"$scripts")
	[ "$(wc -l <<<"$scripts")" -ge 30 ]
	xargs ruff check --no-cache --config "$config" <<<"$scripts"
	rm -rf "$links"
	mkdir -p "$links"
	for file in $scripts; do
		[ -f "$file" ] || continue
		case $file in
		*.py) names+=("$file") ;;
		*) names+=("$links/${file//\//_}.py")
			ln -s "$TOP/$file" "${names[-1]}" ;;
		esac
	done
	MYPYPATH=$WORKBENCH/stacks:$WORKBENCH/tree \
		mypy --no-error-summary --cache-dir "$BUILD/check/mypy" --config-file "$config" "${names[@]}"
}

# Print the files that match a pattern in one of their first lines.
scripts_of() { # REGEX
	local file lines

	git ls-files -co --exclude-standard -- workbench .ci tools | while IFS= read -r file; do
		[ -f "$file" ] || continue
		lines=$(head -n 3 "$file" | tr -d '\0')
		! grep -qE "$1" <<<"$lines" || echo "$file"
	done
}

# The table of the image for 64-bit programs is without errors.
vdso_tables() {
	make -C "$TOP/tools/unwind-tables" "OUTPUT=$BUILD/unwind-tables" "TARGET=$BUILD/cargo" >/dev/null
	"$BUILD/unwind-tables/unwind-tables" check "$(kernel_dir series)/arch/x86/entry/vdso/vdso64/vdso64.so"
}

# A panic is a BUG(). No contents of a table may lead to one, so the object must not
# refer to one.
no_panic() {
	local object symbols panics='panic|rust_begin_unwind|slice_.*fail|unwrap_failed|expect_failed'

	object=$(kernel_dir series)/kernel/unwind/tables/tables.o
	grep -qx 'CONFIG_RUST_OVERFLOW_CHECKS=y' "$(kernel_dir series)/.config" || { echo "no overflow checks"; return 1; }
	symbols=$(nm --undefined-only "$object") || return
	grep rust_helper <<<"$symbols" >/dev/null || { echo "$object: no symbols of Rust"; return 1; }
	! grep -E "$panics" <<<"$symbols" || { echo "$object: refers to a panic"; return 1; }
	# The pattern must match such symbols elsewhere in this kernel.
	symbols=$(nm --undefined-only "$(kernel_dir series)/rust/kernel.o") || return
	grep -E "$panics" <<<"$symbols" >/dev/null ||
		{ echo "no object refers to a panic: is it called something else now?"; return 1; }
}

# The lists in the documentation match the code.
documented_reasons() {
	local page=Documentation/core-api/unwind-tables.rst format source reasons

	cd "$TOP"
	for format in sframe:SFrame eh_frame:.eh_frame; do
		source=kernel/unwind/tables/parse/${format%:*}/reason.rs
		# Reasons of malformed tables; reasons of unsupported rules have no public names.
		reasons=$(sed -n '/enum Reason;/,/^}/p' "$source" |
			sed -nE 's/^    [A-Za-z]+ = c"([a-z-]+)": "(.*)",$/\1 \2/p')
		[ "$(wc -l <<<"$reasons")" -ge 14 ]
		[ "$(wc -l <<<"$reasons")" = \
			"$(sed -n '/enum Reason;/,/^}/p' "$source" | grep -cE '^    [A-Za-z]+ = ')" ]
		diff <(echo "$reasons") <(awk -v "title=${format#*:}" \
			'/^=+$/ { on = last == title } { last = $0 } on' "$page" |
			sed -nE 's/^``([a-z-]+)`` +(.*)$/\1 \2/p')
	done

	# The trace event names each end.
	source=include/trace/events/unwind_user.h
	reasons=$(sed -nE 's/^[+ ]\s+(UNWIND_USER_END_[A-Z_]+).*/\1/p' include/linux/unwind_user_types.h.patch | sort -u)
	[ "$(wc -l <<<"$reasons")" -ge 10 ]
	diff <(echo "$reasons") <(sed -nE 's/^TRACE_DEFINE_ENUM\((UNWIND_USER_END_.*)\);/\1/p' "$source" | sort)
	diff <(echo "$reasons") <(sed -nE 's/.*\{ (UNWIND_USER_END_[A-Z_]+), .*/\1/p' "$source" | sort)

	page=Documentation/userspace-api/unwind_tables.rst
	reasons=$(sed -nE 's/.*[ (]c"([a-z-]+)".*/\1/p' kernel/unwind/tables/text.rs \
		kernel/unwind/tables/parse/elf/absence.rs | sort)
	[ "$(wc -l <<<"$reasons")" -ge 13 ]
	diff <(echo "$reasons") <(sed -n '/^Why there is no table/,/^Columns are/p' "$page" |
		sed -nE 's/^``([a-z-]+)`` .*/\1/p' | sort)
}

# Run KUnit by the documented commands: the parser's tests in User Mode Linux, where
# nothing else uses the parser, and the registry's in a guest.
kunit() { # um|x86_64
	local arguments

	# As a shell reads them: a filter stands in quotes.
	mapfile -t arguments < <(documented kunit.py "$1" | xargs printf '%s\n')
	echo "kunit.py ${arguments[*]}"
	# It tries KVM first, which does not work on some machines that have it.
	if [ -e /dev/kvm ] && ! grep -qs ' yes$' "$BUILD/guest/kvm"; then
		mount --bind /dev/null /dev/kvm
	fi
	cd "$TREE"
	tools/testing/kunit/kunit.py "${arguments[@]}" --build_dir "$BUILD/kernel-kunit-$1" \
		--jobs "${JOBS:-2}" --raw_output=kunit
}

# The arguments of a command in the documentation, for an architecture.
documented() { # kunit.py um|x86_64
	local page=$TREE/Documentation/core-api/unwind-tables.rst
	sed -n '/\/'"$1"' run/{:more;/\\$/{N;s/\\\n//;bmore};s/.*\/'"$1"' //p}' "$page" |
		if [ "$2" = um ]; then grep -v -e --arch; else grep -e "--arch $2"; fi
}

# Install the selftests by the documented command, into build/selftests.
install_selftests() { # [changed]
	install_selftests_for series "$SELFTESTS" "$@"
}

install_selftests_for() { # KERNEL DIRECTORY [changed]
	local objects make=() arch=x86
	objects=$(kernel_dir "$1")
	[ "$1" != arm64 ] || make=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-) arch=arm64
	make -s -C "$TREE" "O=$objects" "${make[@]}" headers
	# All is built again, or warnings of the last build would not show. Who has just changed a
	# test does not need those of the others.
	[ "${3-}" = changed ] || rm -rf "$objects/kselftest/unwind_user"
	rm -rf "$2"
	make -C "$TREE/tools/testing/selftests" "O=$objects" "${make[@]}" TARGETS=unwind_user FORCE_TARGETS=1 \
		"KSFT_INSTALL_PATH=$2" install
	# All programs but those of another architecture are there.
	[ "$(wc -l <"$2/kselftest-list.txt")" = "$(awk -v arch="$arch" '
		/^ifeq .*ARCH_DIR\),[a-z]/ { skip = !index($0, "," arch ")") }
		/^endif/ { skip = 0 }
		/^TEST_GEN_PROGS [:+]=/ && !skip { n++ }
		END { print n }' "$TREE/tools/testing/selftests/unwind_user/Makefile")" ]
}

# The tests of mappings need stubs of the functions that the series calls there.
vma_tests() {
	copy_tools vma
	make -C "$BUILD/check/vma/tools/testing/vma"
	"$BUILD/check/vma/tools/testing/vma/vma"
}

# Run the maple tree's own tests, with the additions of the series.
maple_tests() {
	local try status

	copy_tools maple
	make -C "$BUILD/check/maple/tools/testing/radix-tree" maple
	# The base's test of slow readers fails if none of them has run between two updates, as on a
	# busy machine. If they cannot see an update, it fails each time.
	for try in 1 2 3; do
		status=0
		"$BUILD/check/maple/tools/testing/radix-tree/maple" >"$OUT/logs/maple.log" 2>&1 || status=$?
		grep -qa 'run_check_rcu_slowread: Assertion' "$OUT/logs/maple.log" || break
		echo "try $try: the readers have seen no update"
	done
	# A test that fails does not show in the exit status.
	awk '/tests passed$/ { n++; bad += $2 != $4; print } END { exit !n || bad }' "$OUT/logs/maple.log" &&
		[ "$status" = 0 ]
}

# These programs can only be built in their source directory, so copy the sources and
# all files that they include: `copy_tools NAME`, into build/check/NAME.
copy_tools() {
	local copy=$BUILD/check/$1
	rm -rf "$copy"
	mkdir -p "$copy"
	(cd "$TREE" && cp -a --parents tools/testing/{vma,shared,radix-tree} tools/{include,lib,scripts} \
		tools/arch/x86/include arch/x86/include mm lib include "$copy")
}

# Build the pages of the series; sphinx also warns about other pages.
htmldocs() {
	local log=$OUT/logs/build-docs.log page

	# Sphinx warns about a page only when it reads it.
	rm -rf "$(kernel_dir docs)"
	mkdir -p "$(kernel_dir docs)"
	make -C "$TREE" "O=$(kernel_dir docs)" SPHINXDIRS="core-api userspace-api" htmldocs >"$log" 2>&1 ||
		{ tail -n 40 "$log"; return 1; }
	# Use a condition: errexit ignores a command behind `!`.
	if grep -nE '(WARNING|ERROR):' "$log" | grep unwind; then
		return 1
	fi
	for page in core-api/unwind-user core-api/unwind-tables userspace-api/unwind_tables; do
		find "$(kernel_dir docs)" -path "*$page.html" | grep . || return
	done
}

# Each commit compiles the files that it adds or changes, and what includes them: the objects
# of all files that the series has touched by then, perf, and the selftests. Each topic boots.
every_commit_compiles() { # [TOPIC...]
	local tree=$BUILD/tree-commits topic commit before

	for topic in $(topics "$@"); do
		fetch_topic "$tree" "$topic" || return
		before=$(topic_before "$topic")
		for commit in $(git -C "$TREE" rev-list --reverse "$before..refs/topics/$topic"); do
			git -C "$tree" checkout --quiet --detach "$commit" || return
			echo "$topic: $(git -C "$tree" log -1 --oneline)"
			compile_commit "$tree" "$commit" || return
		done
		every_topic_boots "$topic" || return
	done
}

# Check out the end of a topic.
fetch_topic() { # TREE TOPIC
	[ -d "$1" ] || git clone --quiet --shared --no-checkout "$TREE" "$1" || return
	git -C "$1" fetch --quiet "$TREE" "refs/topics/$2" &&
		git -C "$1" checkout --quiet --detach FETCH_HEAD
}

# At the end of each topic a kernel boots, in which KUnit and the selftests of then find nothing. Tests
# that need tables are skipped before these come.
every_topic_boots() { # [TOPIC...]
	local tree=$BUILD/tree-commits topic command skipped results=$OUT/selftests-topic
	local objects=$BUILD/kernel-commits-x86_64
	local console=$OUT/logs/selftests-topic.console

	for topic in $(topics "$@"); do
		fetch_topic "$tree" "$topic" || return
		build_touched "$tree" x86_64 bzImage || return
		rm -rf "$results"
		mkdir -p "$results"
		command=(true)
		if [ -e "$tree/tools/testing/selftests/unwind_user/Makefile" ]; then
			compile_selftests "$tree" install "KSFT_INSTALL_PATH=$SELFTESTS-topic" || return
			command=(env RACE_SECONDS=5 RANDOM_SECONDS=5 RANDOM_SYSCTLS=1
				"$WORKBENCH/check/guest" "$SELFTESTS-topic" "$results")
		fi
		"$WORKBENCH/vm/boot" --timeout 2400 --append "kunit.enable=1 kunit.autorun=1" \
			selftests-topic "$objects" "${command[@]}" || return
		# Not errexit, which ignores a command behind `!`.
		if grep -rE '^[# ]*(not ok|Bail out)' "$console" "$results" 2>/dev/null; then
			return 1
		fi
		[ "${command[0]}" = true ] ||
			[ "$(grep -c '^ok ' "$results/kselftest.tap")" = "$(wc -l <"$results/kselftest-list.txt")" ] || return
		# Without tables much is skipped; this one where page tables have four levels.
		skipped=$(cat "$results"/*_test 2>/dev/null | grep -E '^[# ]*ok [0-9]+ .*# SKIP' | grep -v far_apart) || true
		if [ -n "$skipped" ] && grep -qx 'CONFIG_UNWIND_USER_TABLES=y' "$objects/.config"; then
			echo "$skipped"
			return 1
		fi
		echo "$topic: $(grep -cE '^ +ok [0-9]+ ' "$console") results of KUnit, $(
			cat "$results"/*_test 2>/dev/null | grep -cE '^[# ]*ok [0-9]+ ') of selftests, $(
			grep -c . <<<"$skipped") of these skipped"
	done
}

compile_commit() { # TREE COMMIT
	local touches=(git -C "$1" diff --quiet "$2^" "$2" --)

	"${touches[@]}" arch fs include kernel lib mm rust ':!*.rst' || build_touched "$1" x86_64 || return
	"${touches[@]}" tools/perf tools/lib tools/include || PERF_TREE=$1 "$WORKBENCH/perf/build" || return
	"${touches[@]}" tools/testing/selftests/unwind_user tools/unwind-jit || compile_selftests "$1"
}

compile_selftests() { # TREE [MAKE-ARGUMENT...]
	local objects=$BUILD/kernel-commits-x86_64 log=$OUT/logs/build-commits-selftests.log

	mkdir -p "$objects"
	make -s -C "$1" "O=$objects" headers || return
	[ ! -e "$1/tools/testing/selftests/unwind_user/Makefile" ] ||
		make -C "$1/tools/testing/selftests" "O=$objects" TARGETS=unwind_user FORCE_TARGETS=1 "${@:2}" \
			>"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
}

# The topics in their order, or those that are named.
topics() { # [TOPIC...]
	if [ $# -gt 0 ]; then
		printf '%s\n' "$@"
	else
		git -C "$TREE" for-each-ref --format='%(refname:lstrip=2)' refs/topics
	fi
}

# What a topic stands on: the topic before it, or the base.
topic_before() { # TOPIC
	local before

	before=$(topics | grep -B1 -xF "$1" | grep -vxF "$1") || true
	if [ -n "$before" ]; then echo "refs/topics/$before"; else base; fi
}

# The series also builds without the second format, without tables, and without Rust.
builds_without_options() {
	build_commit commits-sframe CONFIG_UNWIND_USER_EH_FRAME=n || return
	build_commit commits-off CONFIG_UNWIND_USER_SFRAME=n || return
	build_commit commits-no-rust CONFIG_RUST=n || return
}

build_commit() { # NAME OPTION=n
	local objects=$BUILD/kernel-$1 log=$OUT/logs/build-$1.log make
	make=(make -C "$TREE" "O=$objects" "-j${JOBS:-2}")

	mkdir -p "$objects"
	{ grep -v "^${2%=n}=" "$WORKBENCH/config/small.config"; echo "$2"; } >"$objects/wanted.config"
	"${make[@]}" -s "KCONFIG_ALLCONFIG=$objects/wanted.config" allnoconfig || return
	! grep -q "^${2%=n}=" "$objects/.config" || return
	"${make[@]}" vmlinux >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
	# Use a condition: errexit ignores a command behind `!`.
	if grep -n 'warning:' "$log"; then
		return 1
	fi
}

# The objects of the files that the series touches build at the end of each topic for two more
# architectures, if their configurations have these objects. At the last one, a whole kernel
# builds, too.
every_topic_builds_elsewhere() { # [TOPIC...]
	local tree=$BUILD/tree-elsewhere topic arch last

	last=$(topics | tail -n 1)
	for topic in $(topics "$@"); do
		fetch_topic "$tree" "$topic" || return
		echo "$topic"
		for arch in i386 arm64; do
			build_touched "$tree" "$arch" "$([ "$topic" != "$last" ] || echo vmlinux)" || return
		done
	done
}

build_touched() { # TREE ARCH [vmlinux|bzImage]
	local objects=$BUILD/kernel-commits-$2 log=$OUT/logs/build-commits-$2.log lost file make targets=()
	local touched=$BUILD/check/touched-$2 fragments=("$WORKBENCH/config/small.config")

	make=(make -C "$1" "O=$objects" "ARCH=$2" "-j${JOBS:-2}")
	case $2 in
	arm64) make+=(LLVM=1) ;;&
	x86_64) fragments+=("$WORKBENCH/config/guest.config" "$TREE/tools/testing/selftests/unwind_user/config") ;;
	*) fragments+=("$WORKBENCH/config/$2.config") ;;
	esac
	mkdir -p "$objects"
	# The last setting of an option wins.
	sed '/^#/d;/^$/d' "${fragments[@]}" |
		tac | awk -F= '!seen[$1]++' >"$objects/wanted.config"
	"${make[@]}" -s "KCONFIG_ALLCONFIG=$objects/wanted.config" allnoconfig || return
	# Early commits do not have all of the options; the last one does.
	lost=$(grep -v '=n$' "$objects/wanted.config" | grep -vxFf "$objects/.config" || true)
	if [ -n "$lost" ]; then
		echo "$2: not in the configuration: ${lost//$'\n'/ }"
		[ "$(git -C "$1" rev-parse HEAD)" != "$(git -C "$TREE" rev-parse HEAD)" ] || return
	fi

	git -C "$1" diff --name-only --diff-filter=d "$(base)" -- '*.c' '*.S' '*.rs' ':!*.lds.S' ':!tools' |
		sort >"$touched"
	while IFS= read -r file; do
		case $file in
		arch/x86/entry/vdso/*) [ "$2" != x86_64 ] || targets+=(arch/x86/entry/vdso/); continue ;;
		arch/x86/*64[./]*) [ "$2" = x86_64 ] || continue ;; # Makefiles name them by $(BITS)
		arch/x86/*) [ "$2" != arm64 ] || continue ;;
		arch/arm64/*) [ "$2" = arm64 ] || continue ;;
		kernel/trace/trace_selftest.c) continue ;; # trace.c includes it
		kernel/trace/trace_user_stack.c) # under an ifeq
			grep -qx 'CONFIG_UNWIND_USER=y' "$objects/.config" || continue ;;
		rust/*) continue ;; # `prepare' builds those
		*.rs) [ -e "$1/${file%/*}/Makefile" ] && grep -qw "$(basename "${file%.rs}.o")" "$1/${file%/*}/Makefile" || continue ;;
		esac
		! configured "$objects" "${file%.*}.o" "$1" || targets+=("${file%.*}.o")
	done <"$touched"
	mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
	# With other targets beside it, make would start anew for each object.
	"${make[@]}" prepare >"$log" 2>&1 &&
		"${make[@]}" --keep-going "${targets[@]}" >>"$log" 2>&1 || { grep -E -B2 -A6 'error(\[|:)|Error [0-9]' "$log" | head -n 60; return 1; }
	[ -z "${3-}" ] || "${make[@]}" "$3" >>"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
	"$WORKBENCH/check/new_warnings" "$1" "$(base)" "$log" || return

	# The .cmd files of make name the compiled sources.
	grep -rhoE --include='.*.cmd' "$1/[^ ]+\.(c|S|rs)\b" "$objects" | sed "s,^$1/,," | sort -u | comm -12 - "$touched" >"$touched.built"
	echo "$2: $(wc -l <"$touched.built") of $(wc -l <"$touched") files are built"
	comm -23 "$touched" "$touched.built" | sed "s/^/$2 does not build /"
	[ ! -s "$touched" ] || [ -s "$touched.built" ]
}
