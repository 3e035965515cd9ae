# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Get released sources from the Debian archive, and build each part only if it
# has changed. For scripts that run inside the root file system. Include this after
# lib.sh, with $WORK set to the directory to build in.
# shellcheck disable=SC2034,SC2154,SC2164 # not every script uses all of them; lib.sh; `set -e'

SOURCES=$CACHE/sources

# In a user namespace, root cannot become the user _apt.
apt_options=(-o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root)

# --- the sources -----------------------------------------------------------

# Bring the package lists up to date, once in a run.
lists_updated=
update_lists() {
	[ -z "$lists_updated" ] || return 1
	lists_updated=yes
	say "updating the package lists"
	apt-get "${apt_options[@]}" -qq update >&2
}

# Print 'URI FILE SHA256:HASH' of a source package's original tarball.
# Only the upstream release is built, without the packaging.
# Read all of the output: apt-get fails if nothing reads it.
orig_of() {
	apt-get "${apt_options[@]}" -qq source --print-uris "$1" 2>/dev/null |
		awk '!found && $2 ~ /\.orig\.tar\.[a-z0-9]+$/ && $4 ~ /^SHA256:/ {
			gsub(/\047/, "", $1); print $1, $2, $4; found = 1
		} END { exit !found }'
}

has_hash() {
	[ -f "$1" ] && [ "SHA256:$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]
}

# Put the original tarball of a source package into the cache. Sets $fetched to
# its path.
fetch() {
	local package=$1 uri name hash line

	line=$(orig_of "$package") || { update_lists && line=$(orig_of "$package"); } ||
		die "the package lists know no source package $package with an original tarball"
	read -r uri name hash <<<"$line"
	if ! has_hash "$SOURCES/$name" "$hash"; then
		say "fetching $name"
		if ! download "$uri" "$name" "$hash"; then
			# The archive may have moved on since the lists were fetched.
			update_lists && line=$(orig_of "$package") ||
				die "cannot fetch $name"
			read -r uri name hash <<<"$line"
			download "$uri" "$name" "$hash" || die "cannot fetch $name from $uri"
		fi
	fi
	fetched=$SOURCES/$name
}

# Download a file under another name first, so that a partial file is never used.
download() {
	local partial=$SOURCES/$2.partial

	rm -f "$partial"
	/usr/lib/apt/apt-helper "${apt_options[@]}" -q download-file "$1" "$partial" "$3" >&2 &&
		has_hash "$partial" "$3" && mv "$partial" "$SOURCES/$2"
}

# `fetch_all NAME...`: fetch the source package $NAME_PACKAGE, in upper case, of each. Sets
# ${tarball[NAME]}.
declare -A tarball
fetch_all() {
	local name package

	mkdir -p "$WORK" "$SOURCES"
	hold "$SOURCES/.lock" "fetching sources"
	for name; do
		package=${name^^}_PACKAGE
		fetch "${!package}"
		tarball[$name]=$fetched
	done
	exec {lock_fd}>&-
}

unpack() {
	rm -rf "$2"
	mkdir -p "$2"
	tar -xf "$1" -C "$2" --strip-components=1
}

# --- when to build ---------------------------------------------------------

# `changed PART INPUT...`: whether INPUT... or the recipe, the function build_PART,
# have changed since PART was made.  If so, removes its stamp until `made PART`.
# A suffix of PART after a dot does not belong to the recipe's name.
changed() {
	local part=$1

	shift
	stamp=$({ declare -f "build_${part%%.*}"; printf '%s\n' "$@"; } | sha256sum)
	[ "$(cat "$WORK/$part.stamp" 2>/dev/null)" != "$stamp" ] || return 1
	rm -f "$WORK/$part.stamp"
}

made() {
	echo "$stamp" >"$WORK/$1.stamp"
}

# `part PART RESULT RECIPE FILE...`: run build_PART FILE... if a file or RECIPE has changed, or
# if RESULT is missing. RECIPE is the part of the recipe that is not in build_PART.
part() {
	local part=$1

	[ -e "$2" ] || rm -f "$WORK/$part.stamp"
	changed "$part" "$3" "$(sha256sum "${@:4}")" || return 0
	say "building $part"
	: >"$WORK/$part.log"
	"build_${part%%.*}" "${@:4}"
	made "$part"
}

# `logged PART COMMAND...`: keep the output of a build, show its end on failure.
logged() {
	local log=$WORK/$1.log

	shift
	"$@" >>"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		die "'$*' failed; the whole log is in $log"
	}
}

# --- what is built -----------------------------------------------------------

# These options keep the calls of the source code, and a frame for each called function.
keep_calls=(-fno-inline -fno-optimize-sibling-calls -fno-ipa-icf -fno-ipa-cp -fno-ipa-sra
	-fno-ipa-ra -fno-partial-inlining -fno-stack-protector)

# `compile_musl PART DIRECTORY OPTION...`: configure and compile the musl that is unpacked in
# DIRECTORY. With -g, configure selects the script that adds CFI to assembly files. Otherwise
# memcpy and similar functions would have no tables. With --gc-sections, ld would drop the
# table that it makes for the PLT.
compile_musl() {
	cd "$2"
	logged "$1" ./configure --enable-wrapper=gcc CC=gcc LDFLAGS=-Wl,--no-gc-sections "${@:3}"
	grep -q '^ADD_CFI = yes' config.mak ||
		die "musl's configure does not add CFI to the assembly files"
	logged "$1" make -j"${JOBS:-$(nproc)}"
}

# `check_table FILE FUNCTION...`: check that there is an SFrame table, that it has functions
# by name, and calls of other objects, if any.
check_table() {
	local file=$1 dump function address

	readelf -lW "$file" | grep GNU_SFRAME >/dev/null || die "$file has no PT_GNU_SFRAME segment"
	dump=$(readelf --sframe "$file" 2>&1)
	grep -q 'SFRAME_VERSION_3' <<<"$dump" || die "the table of $file is not SFrame V3"
	grep -q 'SFRAME_F_FDE_SORTED' <<<"$dump" || die "the table of $file is not sorted"
	for function in "${@:2}"; do
		address=$(nm "$file" | awk -v f="$function" '$3 == f { sub(/^0+/, "", $1); print $1 }')
		[ -n "$address" ] || die "$file has no function $function"
		grep -q "pc = 0x0*$address," <<<"$dump" || die "the table of $file has no entry for $function"
	done
	address=$(readelf -SW "$file" | sed -nE 's/^ *\[ *[0-9]+\] \.plt +PROGBITS +0*([0-9a-f]+) .*/\1/p')
	[ -z "$address" ] || grep -q "pc = 0x0*$address," <<<"$dump" ||
		die "the table of $file has no entry for its PLT"
}
