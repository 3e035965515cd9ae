# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The root directory that ROOT= names, inside the guest. Include this after lib.sh.

# Mount it at $MOUNTED, with what a system needs. Writes go to the guest's memory, but those to
# out/ to the clone's.
MOUNTED=/run/unwind/root
mount_other_root() {
	local memory=/run/unwind/memory dir out

	mkdir -p "$MOUNTED" "$memory"/{upper,work}
	mount -t overlay -o "lowerdir=$OTHER_ROOT,upperdir=$memory/upper,workdir=$memory/work" root "$MOUNTED"
	for dir in dev proc sys; do
		mkdir -p "$MOUNTED/$dir"
		mount --rbind "/$dir" "$MOUNTED/$dir"
	done
	out=$(path_in "$MOUNTED" "$OUT")
	mkdir -p "$out" "$MOUNTED/run" "$MOUNTED/root" "$MOUNTED/tmp"
	mount --bind "$OUT" "$out"
	# What the processes outside have inherited may have no meaning there.
	export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
	unset LANG LANGUAGE CDPATH
}

# Make the perf of the series a command there. The other root's C library may be too old for it.
offer_perf() {
	local tools=/run/tools library=usr/lib/x86_64-linux-gnu

	mkdir -p "$MOUNTED$tools" "$MOUNTED/usr/local/bin"
	mount --bind / "$MOUNTED$tools"
	cat >"$MOUNTED/usr/local/bin/perf" <<-END
		#!/bin/sh
		exec $tools/$library/ld-linux-x86-64.so.2 --library-path $tools/$library $tools$PERF_BUILD/perf "\$@"
	END
	chmod 755 "$MOUNTED/usr/local/bin/perf"
}
