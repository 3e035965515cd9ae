# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Recording inside the guest. Include this after lib.sh, with $outdir set.
# shellcheck disable=SC2034,SC2154 # not every script uses all names; the scripts set $outdir

export HOME=${HOME:-/root}
use_perf
frequency=$(guest_frequency)
# perf cannot write from its ring buffer to a 9p folder.
memory=$(mktemp -d)
trap 'rm -rf "$memory"' EXIT
mkdir -p "$outdir"

# OUTDIR gets the command's output, NAME.out. Most warnings of perf do not matter here:
# show them only on failure.
with_perf() { # NAME PERF-ARGUMENT...
	say "$1"
	perf "${@:2}" >"$memory/$1.out" 2>"$memory/log" </dev/null || {
		tail -n 30 "$memory/$1.out" "$memory/log" >&2
		die "$1 failed"
	}
	cp "$memory/$1.out" "$outdir/"
}

# OUTDIR gets the recording, NAME.data. Without --no-buildid-cache, perf would keep a
# copy of each file, as root.
record() { # NAME PERF-ARGUMENT...
	with_perf "$1" record -q -m 16384 --no-buildid-cache -o "$memory/data" --call-graph fp,defer "${@:2}"
	mv "$memory/data" "$outdir/$1.data"
}

# Samples at any place, NAME.clock.
clock() { # NAME COMMAND...
	record "$1.clock" -e cpu-clock -F "$frequency" -- "${@:2}"
}

# The same, by frame pointers alone, and with the registers that say which record they begin with.
clock_fp() { # NAME COMMAND...
	with_perf "$1.fp" record -q -m 16384 --no-buildid-cache -o "$memory/data" -e cpu-clock -F "$frequency" \
		--call-graph fp --user-regs=x29,sp -- "${@:2}"
	mv "$memory/data" "$outdir/$1.fp.data"
}

# A deferred stack and a copied one of each hit, NAME.twice.
twice() { # NAME STACK-SIZE FILTER COMMAND...
	local copied=call-graph=dwarf,stack-size=$2 filter=()

	[ -z "$3" ] || filter=(--filter "$3")
	record "$1.twice" -e raw_syscalls:sys_enter -e "raw_syscalls:sys_enter/$copied/" \
		-e exceptions:page_fault_user "${filter[@]}" -e "exceptions:page_fault_user/$copied/" "${filter[@]}" \
		-- "${@:4}"
}

# gdb's stacks, NAME.stops, and perf's recording of the traps at which gdb stopped. The
# caller sets the variables of stops.py.
gdb_stops() { # NAME GDB-OPTION... --args COMMAND...
	STACKS=$memory/stacks record "$1.stops" -k CLOCK_MONOTONIC -e signal:signal_generate --filter 'sig == 5' -- \
		gdb -nx -q -batch -x "$WORKBENCH/stacks/stops.py" "${@:2}"
	cp "$memory/stacks" "$outdir/$1.stops"
	say "$1: $(wc -l <"$memory/stacks") stops"
}

# The length of a program's run: shorter with more samples per second.
export frequency
milliseconds() {
	if [ "$frequency" -gt 1000 ]; then
		echo $(($1 / 10))
	else
		echo "$1"
	fi
}
export -f milliseconds
