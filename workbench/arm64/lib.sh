# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts for arm64 share. Include this after ../lib.sh.
# shellcheck disable=SC2034 # not every script uses all of them

ARM64_BUILD=$BUILD/arm64
# The kernel to boot. The scripts do not build it.
ARM64_KERNEL=${ARM64_KERNEL:-$(kernel_dir arm64)}

# Restart the script inside the tool-chain root file system: the tree is taken as it is.
arm64_inside() { [ -n "${UNWIND_INSIDE-}" ] || exec "$WORKBENCH/rootfs/enter" "$@"; }

# Boot it: `arm64_guest OPTION... NAME COMMAND...`, as for vm/boot.
arm64_guest() {
	local options=()

	while [[ $1 == --* ]]; do
		options+=("$1" "$2")
		shift 2
	done
	"$WORKBENCH/vm/boot" --arch arm64 --timeout 600 "${options[@]}" "$1" "$ARM64_KERNEL" "${@:2}"
}
