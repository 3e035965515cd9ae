# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checks of the series that run inside the tool-chain root file system.

set -euo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../lib.sh"

base() { git -C "$TREE" rev-list --max-parents=0 HEAD; }

# What is mailed is what is built.
am_same_tree() {
	local try=$BUILD/check/am

	rm -rf "$try" "$BUILD/check/series"
	"$WORKBENCH/tree/series" --no-signoff
	git clone --quiet --shared --no-checkout "$TREE" "$try"
	git -C "$try" checkout --quiet --detach "$(base)"
	git -C "$try" -c user.name=series -c user.email=series@localhost am --quiet "$OUT"/series/*-*.patch
	git -C "$TREE" rev-parse 'HEAD^{tree}'
	git -C "$try" rev-parse 'HEAD^{tree}'
	[ "$(git -C "$TREE" rev-parse 'HEAD^{tree}')" = "$(git -C "$try" rev-parse 'HEAD^{tree}')" ]
	rm -rf "$try"
}

checkpatch() {
	local dictionary=$BUILD/check/codespell

	mkdir -p "${dictionary%/*}"
	# Manual pages have a macro Nd, which is not a typing error.
	python3 -c 'import codespell_lib as c; print(c.__path__[0] + "/data/dictionary.txt")' |
		xargs grep -v '^nd->' >"$dictionary"
	cd "$TREE"
	export dictionary
	export -f checkpatch_commit
	# With all the words of codespell a large commit takes minutes.
	git rev-list "$(base)..HEAD" |
		xargs -P "${JOBS:-$(nproc)}" -I {} bash -c 'checkpatch_commit {} || exit 1'
}

checkpatch_commit() { # COMMIT
	# MAINTAINERS is changed, once, at its end.
	local ignore=FILE_PATH_CHANGES,GIT_COMMIT_ID report

	# Trace events have a layout of their own.
	[ -z "$(git diff --name-only "$1^" "$1" -- include/trace)" ] ||
		ignore+=,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
	# The header for user space has no BIT().
	[ -z "$(git diff --name-only "$1^" "$1" -- include/uapi tools/include/uapi)" ] || ignore+=,BIT_MACRO
	# uprobes use this RCU, which checkpatch does not know.
	[ -z "$(git diff --name-only "$1^" "$1" -- kernel/events/uprobes.c)" ] ||
		ignore+=,RCU_TASKS_TRACE
	# The series is signed off by who mails it.
	report=$(scripts/checkpatch.pl --strict --quiet --no-signoff --ignore "$ignore" \
		--codespell --codespellfile "$dictionary" --git "$1" 2>&1) && return
	printf '%s\n%s\n' "$(git log -1 --format=%s "$1")" "$report"
	return 1
}

rustfmt_clean() {
	cd "$TREE"
	# Those of tools/ have an edition of their own; cargo fmt looks at them.
	git diff --name-only "$(base)..HEAD" -- '*.rs' ':!tools' |
		xargs rustfmt --edition 2021 --config-path .rustfmt.toml --check
}

kernel_doc() {
	local was=$BUILD/check/kernel-doc file new

	mkdir -p "$was"
	cd "$TREE"
	git diff --name-only --diff-filter=A "$(base)..HEAD" -- '*.[ch]' |
		xargs scripts/kernel-doc -none -Wall -Werror
	# What others wrote in a file that is changed is theirs.
	for file in $(git diff --name-only --diff-filter=M "$(base)..HEAD" -- '*.[ch]'); do
		git show "$(base):$file" >"$was/${file##*/}"
		new=$(comm -13 <(doc_warnings "$was/${file##*/}") <(doc_warnings "$file"))
		[ -z "$new" ] || { echo "$file: $new"; return 1; }
	done
}

# What is said of a file's comments, without the places.
doc_warnings() {
	scripts/kernel-doc -none -Wall "$1" 2>&1 | sed -E 's/^Warning: [^ ]+ //' | sort
}

lint() {
	local objects=$BUILD/kernel-lint

	mkdir -p "$objects"
	cp "$(kernel_dir series)/.config" "$objects/.config"
	rm -rf "$objects/kernel/unwind"
	make -C "$TREE" "O=$objects" "-j${JOBS:-2}" W=1 CLIPPY=1 olddefconfig kernel/unwind/ >"$OUT/logs/build-lint.log" 2>&1 ||
		{ tail -n 40 "$OUT/logs/build-lint.log"; return 1; }
	cat "$OUT/logs/build-lint.log"
}

# The image of 64-bit programs has a table without any fault, the others have none.
vdso_tables() {
	local images image

	images=$(kernel_dir series)/arch/x86/entry/vdso
	"$WORKBENCH/readers/sframe" all >/dev/null
	"$BUILD/sframe/sframe" check "$images/vdso64/vdso64.so" || return
	for image in "$images/vdso64/vdsox32.so" "$images/vdso32/vdso32.so"; do
		readelf -lSW "$image" >"$BUILD/check/vdso.headers"
		if grep -i sframe "$BUILD/check/vdso.headers"; then
			echo "$image: has a table"
			return 1
		fi
	done
}

# The build looks for a way to a panic itself, if it is told to.
no_panic() {
	local object

	object=$(kernel_dir series)/kernel/unwind/tables/tables.o
	grep -qx 'CONFIG_RUST_OVERFLOW_CHECKS=y' "$(kernel_dir series)/.config" || { echo "no overflow checks"; return 1; }
	nm --undefined-only "$object" | grep -q rust_helper || { echo "$object: no symbols of Rust"; return 1; }
	[ "${object%/*}/.tables.o.no-panic" -nt "$object" ] || { echo "$object: was not looked at"; return 1; }
}

# What the documentation lists is what there is.
documented_reasons() {
	local page=Documentation/core-api/unwind-user.rst source=kernel/unwind/tables/parse/error.rs reasons

	cd "$TOP"
	reasons=$(sed -nE 's/^    [A-Za-z]+ = ([0-9]+): "(.*)",$/\1 \2/p' "$source")
	[ "$(wc -l <<<"$reasons")" -ge 20 ]
	diff <(echo "$reasons") <(sed -nE 's/^([0-9]+) +([^ ].*)$/\1 \2/p' "$page")
	# Their names stand in a paragraph, in the same order.
	diff <(sed -nE 's/^    ([A-Za-z]+) = [0-9]+: ".*",$/\1/p' "$source") \
		<(sed -n '/goes by its name in/,/^$/p' "$page" | grep -oE '``[A-Za-z]+``' | tr -d '`')
}

# The parser's tests in User Mode Linux, which has nothing that uses it.
kunit_um() {
	cd "$TREE"
	tools/testing/kunit/kunit.py run --kunitconfig kernel/unwind/tables --build_dir "$BUILD/kernel-um" \
		--jobs "${JOBS:-2}" --raw_output=kunit
}

build_selftests() {
	make -s -C "$TREE" "O=$(kernel_dir series)" headers_install \
		"INSTALL_HDR_PATH=$BUILD/headers" >/dev/null
	mkdir -p "$BUILD/selftests"
	make -C "$TREE/tools/testing/selftests/unwind_user" "OUTPUT=$BUILD/selftests" \
		"KHDR_INCLUDES=-isystem $BUILD/headers/include" all
}

every_commit_builds() {
	local tree=$BUILD/tree-commits objects=$BUILD/kernel-commits commit

	[ -d "$tree" ] || git clone --quiet --shared --no-checkout "$TREE" "$tree"
	git -C "$tree" fetch --quiet "$TREE" HEAD
	mkdir -p "$objects"
	for commit in $(git -C "$TREE" rev-list --reverse "$(base)..HEAD"); do
		git -C "$tree" checkout --quiet --detach "$commit"
		git -C "$tree" log -1 --oneline
		make -s -C "$tree" "O=$objects" "KCONFIG_ALLCONFIG=$WORKBENCH/config/small.config" allnoconfig
		make -C "$tree" "O=$objects" "-j${JOBS:-2}" vmlinux >"$OUT/logs/build-commit.log" 2>&1 ||
			{ tail -n 40 "$OUT/logs/build-commit.log"; return 1; }
		# As a condition: errexit does not see a command behind `!`.
		if grep -n 'warning:' "$OUT/logs/build-commit.log"; then
			return 1
		fi
		git -C "$tree" diff --quiet "$commit^" "$commit" -- tools/perf tools/lib tools/include ||
			PERF_TREE=$tree "$WORKBENCH/perf/build" || return
	done
}
