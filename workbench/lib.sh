# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Names and helpers for all scripts of the workbench.
# shellcheck disable=SC2034 # not every script uses all of them

TOP=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
WORKBENCH=$TOP/workbench
# shellcheck source=versions
. "$WORKBENCH/versions"

# Downloads, the root file system and the base's git objects, for all clones.
CACHE=$(realpath -m "${UNWIND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/linux-unwind-tables}")
export UNWIND_CACHE=$CACHE
# Build products of this clone, and its results for the user.
BUILD=$TOP/build
OUT=${UNWIND_OUT:-$TOP/out}

# The name of a root file system contains a hash of its inputs.
rootfs_id=$({ echo "$TOOLS_SUITE"; sed '/^#/d' "$WORKBENCH/rootfs/packages"; } | sha256sum)
ROOTFS=$CACHE/rootfs-$TOOLS_SUITE-${rootfs_id:0:12}

# That of the guest for arm64.
rootfs_id=$({ echo "$TOOLS_SUITE"; sed '/^#/d' "$WORKBENCH/rootfs/packages-arm64"; } | sha256sum)
ARM64_ROOTFS=$CACHE/rootfs-arm64-$TOOLS_SUITE-${rootfs_id:0:12}
# What was unpacked there, with versions.
ARM64_PACKAGES=$ARM64_ROOTFS/etc/packages

# The assembled kernel tree.  A tree with a base of the user's own is next to it;
# its name contains a hash of that tree's path.
TREE=$BUILD/tree
KDIR_BASE=
if [ -n "${KDIR-}" ]; then
	KDIR=$(realpath -m "$KDIR") # which is not there inside the root file system
	export KDIR
	kdir_id=$(printf %s "$KDIR" | sha256sum)
	TREE=$BUILD/tree-kdir-${kdir_id:0:8}
	KDIR_BASE=$BUILD/base-kdir-${kdir_id:0:8}
fi

# The directory in which kernel NAME is built.
kernel_dir() { printf '%s' "$BUILD/kernel-$1${KDIR_BASE:+-${kdir_id:0:8}}"; }

# The architecture of the guest: UNWIND_ARCH, for make's ARCH, which would reach the makefiles of the
# kernel and of perf. Its kernel, the end of the names of its results, and the root of its files,
# if that is not the one here.
GUEST_ARCH=x86 GUEST_KERNEL=series GUEST_SUFFIX='' GUEST_ROOT=''
case ${UNWIND_ARCH-} in
'' | x86 | x86_64) ;;
arm64) GUEST_ARCH=arm64 GUEST_KERNEL=arm64 GUEST_SUFFIX=-arm64 GUEST_ROOT=$ARM64_ROOTFS ;;
*) echo "error: ARCH=$UNWIND_ARCH: there is a guest for x86, the default, and for arm64" >&2; exit 1 ;;
esac
export GUEST_ROOT
# perf's options for what it finds there.
GUEST_FILES=(-k "$(kernel_dir "$GUEST_KERNEL")/vmlinux")
[ -z "$GUEST_ROOT" ] || GUEST_FILES+=(--symfs "$GUEST_ROOT")

# The directory in which the perf of the series is built.
PERF_BUILD=$BUILD/perf${KDIR_BASE:+-${kdir_id:0:8}}

# The directory in which the selftests of the series are installed.
SELFTESTS=$BUILD/selftests${KDIR_BASE:+-${kdir_id:0:8}}

# What check/run has built in this run is ready, and is not built again: a directory, or the tree.
ready() { [[ "${UNWIND_READY-}" == *":$1:"* ]]; }

# Bring the kernel tree up to date, then restart the script inside the tool-chain root
# file system: `tree_and_inside "$0" "$@"`. Inside, it does nothing.
tree_and_inside() {
	if [ -z "${UNWIND_INSIDE-}" ]; then
		ready "$TREE" || "$WORKBENCH/tree/assemble" --or-keep
		exec "$WORKBENCH/rootfs/enter" "$@"
	fi
}

# Show perf the clone in the guest's root, which has it at its own path, while this rootfs/enter lasts.
show_clone() {
	[ -n "$GUEST_ROOT" ] && ! mountpoint -q "$GUEST_ROOT$TOP" || return 0
	mkdir -p "$GUEST_ROOT$TOP"
	mount --bind "$TOP" "$GUEST_ROOT$TOP"
}

# In a guest, prefer the perf of the series. That for arm64 has only the distribution's.
use_perf() { [ "$GUEST_ARCH" != x86 ] || PATH=$PERF_BUILD:$PATH; }

# On some machines /dev/kvm exists but does not work: only booting a kernel shows that.
kvm_works() { # KERNEL
	local verdict=$BUILD/guest/kvm boot_id

	[ -w /dev/kvm ] || return 1
	boot_id=$(cat /proc/sys/kernel/random/boot_id)
	if ! grep -q "^$boot_id " "$verdict" 2>/dev/null; then
		say "trying KVM, once"
		if timeout --kill-after=5 25 script --quiet --return --command \
			"vng --run $(printf '%q' "$1") --user root --memory 1G -- true" \
			"$BUILD/guest/kvm.console" >/dev/null </dev/null; then
			echo "$boot_id yes" >"$verdict"
		else
			say "KVM does not work here: software emulation"
			echo "$boot_id no" >"$verdict"
		fi
	fi
	grep -q "^$boot_id yes" "$verdict"
}

# Another root directory, for the programs of a guest: ROOT=. Inside the tool-chain root file
# system, and so in the guest, it is at this place.
OTHER_ROOT=/other-root

# Check ROOT, if the caller has set it, and have rootfs/enter show it.
other_root() {
	local shell bytes

	unset UNWIND_ROOT
	[ -n "${ROOT-}" ] || return 0
	[ "$GUEST_ARCH" = x86 ] || die "ROOT= is for x86 only"
	[ -d "$ROOT" ] || die "ROOT=$ROOT is no directory"
	UNWIND_ROOT=$(realpath "$ROOT")
	shell=$(path_in "$UNWIND_ROOT" /bin/sh) && [ -f "$shell" ] || die "ROOT=$ROOT has no /bin/sh: is it a root directory?"
	read -r -a bytes < <(od -An -v -tx1 -N20 "$shell" 2>&1 | tr '\n' ' ') || true
	[ "${bytes[*]:0:5}" = "7f 45 4c 46 02" ] && [ "${bytes[18]-}" = 3e ] ||
		die "ROOT=$ROOT: its /bin/sh is no program for x86-64, or you may not read it"
	export UNWIND_ROOT
}

# Print the file that a process finds under a name, if its root directory is another one: links
# lead to files in there.
path_in() { # ROOT-DIRECTORY NAME
	local at='' rest=$2 part link links=0

	while [ -n "$rest" ]; do
		rest=${rest#/} part=${rest%%/*} rest=${rest#"${rest%%/*}"}
		case $part in
		'' | .) continue ;;
		..) at=${at%/*}; continue ;;
		esac
		if link=$(readlink "$1$at/$part"); then
			links=$((links + 1))
			[ "$links" -le 40 ] || return 1
			[[ $link != /* ]] || at=''
			rest=/$link$rest
		else
			at+=/$part
		fi
	done
	echo "$1$at"
}

# Samples per second for a guest's program. Software emulation is some thirty times
# slower than KVM, so the rate for KVM gives about as many samples per run as 1 kHz does
# under emulation.
guest_frequency() { # [WITH-KVM EMULATED]
	if [ "$GUEST_ARCH" = x86 ] && grep -qs ' yes$' "$BUILD/guest/kvm"; then
		echo "${1-25000}"
	else
		echo "${2-1000}"
	fi
}

# The commit that is measured. It is dirty if the repository or the kernel tree has other edits
# than results and records.
commit_id() {
	local id edits

	id=$(git -C "$TOP" rev-parse --short=12 HEAD)
	edits=$(
		git -C "$TOP" status --porcelain -- ':!results' ':!README.md' ':!RESULTS.md' ':!workbench/check/long.txt'
		git -C "$TREE" status --porcelain
	)
	if [ -n "$edits" ] ||
		! grep -q "\"$(git -C "$TREE" rev-parse HEAD)\"" "$TREE/.git/unwind.json"; then
		id+=-dirty
	fi
	echo "$id"
}

have_rootfs() { [ -e "$ROOTFS/etc/os-release" ]; }

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Run a command in new namespaces, as root of them: `in_namespace UNSHARE-OPTION... COMMAND`.
in_namespace() {
	local options=(--propagation private)

	if [ "$(id -u)" != 0 ]; then
		user_namespace_or_die
		options=(--user --map-root-user --map-auto)
	fi
	exec unshare "${options[@]}" "$@"
}

user_namespace_or_die() {
	local name file

	name=$(id -un)
	command -v newuidmap >/dev/null ||
		die "an ordinary user needs newuidmap: install the package uidmap, or run as root"
	for file in /etc/subuid /etc/subgid; do
		awk -F: -v name="$name" -v id="$(id -u)" \
			'($1 == name || $1 == id) && $3 >= 65536 { found = 1 } END { exit !found }' "$file" 2>/dev/null ||
			die "no 65536 subordinate ids for $name in $file: run 'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $name' as root"
	done
	unshare --help | grep -q -e --map-auto ||
		die "an ordinary user needs unshare with --map-auto (util-linux 2.38): run as root"
	unshare --user --map-root-user --map-auto true 2>/dev/null ||
		die "this kernel refuses user namespaces (see sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces): run as root"
}

# Hold a lock for the rest of the script: `hold FILE WHAT`. It prints a message if it waits.
hold() {
	mkdir -p "$(dirname "$1")"
	exec {lock_fd}>>"$1"
	if ! flock --nonblock "$lock_fd"; then
		say "waiting: another run is $2 (lock: $1)"
		flock "$lock_fd"
	fi
}
