# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# BusyBox with the applets of walks/script.sh.  For scripts that run inside the root
# file system.  Include this after sources.sh, with $WORK, $flags and `set -e'.
# shellcheck disable=SC2154,SC2164 # the scripts set these

# A shell, and the applets that its script calls.
busybox_options=(
	SH_IS_ASH ASH_ECHO ASH_TEST ASH_PRINTF ASH_JOB_CONTROL ASH_INTERNAL_GLOB ASH_BASH_COMPAT
	FEATURE_SH_MATH FEATURE_SH_STANDALONE FEATURE_SH_NOFORK FEATURE_PREFER_APPLETS
	LONG_OPTS LFS AWK CAT CUT EXPR GREP HEAD MD5SUM SED SEQ SORT TR WC
)

# `compile_busybox TARBALL GCC STATIC PROGRAM`: STATIC is y or n.
compile_busybox() {
	local source=$WORK/busybox option

	unpack "$1" "$source"
	# musl has no copy of the kernel's headers.
	rm -rf "$WORK/include"
	mkdir -p "$WORK/include"
	ln -s /usr/include/{linux,asm-generic,mtd} /usr/include/x86_64-linux-gnu/asm "$WORK/include/"
	cd "$source"
	# With --gc-sections, ld would also drop the table that it makes for the PLT.
	[ "$3" = y ] || sed -i 's/^GC_SECTIONS=.*/GC_SECTIONS=/' scripts/trylink
	logged busybox make allnoconfig
	for option in "${busybox_options[@]}"; do
		sed -i "/^# CONFIG_$option is not set/d; /^CONFIG_$option=/d" .config
		echo "CONFIG_$option=y" >>.config
	done
	sed -i '/SH_IS_NONE/d' .config
	logged busybox bash -c 'yes "" | make -s oldconfig'
	# These options come after its own, which switch CFI off.
	logged busybox make -j"$(nproc)" busybox_unstripped CC="$2" HOSTCC=gcc "CONFIG_STATIC=$3" \
		CONFIG_EXTRA_CFLAGS="${flags[*]} -fasynchronous-unwind-tables -idirafter $WORK/include"
	cp busybox_unstripped "$4"
	cd "$TOP"
}
