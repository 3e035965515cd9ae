# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How kernels are configured and built. Include this after lib.sh.

# Check a configuration: make silently drops an option that no longer exists, or lacks a
# dependency.
has_options() { # NAME CONFIG, and on standard input the lines that it must have
	local line missing=''

	while IFS= read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" "$2" || missing+=" $line" ;;
		*) grep -qFx "$line" "$2" || missing+=" $line" ;;
		esac
	done
	[ -z "$missing" ] || die "$1: the configuration lost:$missing"
}

# Run make. Print one line per directory, to show progress, and keep the output.
logged_make() { # NAME LOG MAKE-ARGUMENT...
	local name=$1 log=$2 build shown='' now

	shift 2
	make "$@" >"$log" 2>&1 &
	build=$!
	while kill -0 "$build" 2>/dev/null; do
		sleep 2
		now=$(grep -oE '^  [A-Z]+( \[M\]| [A-Z])? +[^ /[][^ ]*' "$log" | awk '{ print $NF }' |
			awk -F/ 'END { print $1 "/" $2 }') || true
		if [ -n "$now" ] && [ "$now" != "$shown" ]; then
			printf '   %6d  %s\n' "$(wc -l <"$log")" "$now" >&2
			shown=$now
		fi
	done
	if ! wait "$build"; then
		grep -nE -B2 -A10 'error(\[|:)|Error [0-9]' "$log" | head -60 >&2 || tail -30 "$log" >&2
		die "$name does not build, see $log"
	fi
}
