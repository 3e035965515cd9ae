# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Recording in a guest, and judging on the host. Include this after lib.sh, inside the
# root file system.

# Build the kernel and perf. Run COMMAND in a guest; it records into out/NAME. Write
# perf's recordings there as text: NAME.data to NAME.script.
take() { # NAME TIMEOUT COMMAND...
	"$WORKBENCH/vm/kernel" "$GUEST_KERNEL"
	"$WORKBENCH/perf/build"
	rm -rf "${OUT:?}/$1"
	mkdir -p "$OUT/$1"
	"$WORKBENCH/vm/boot" --timeout "$2" "$1" "$(kernel_dir "$GUEST_KERNEL")" "${@:3}"
	as_text "$OUT/$1"
} >&2

# perf script takes less time on the host. NAME.at-once lists the samples whose stack is not a
# deferred one: of these, perf says nothing in NAME.script. NAME.fp is of frame pointers alone, and
# NAME.once of stacks that were taken at once.
as_text() { # DIRECTORY
	local PATH=$PERF_BUILD:$PATH data name fields

	show_clone
	for data in "$1"/*.data; do
		name=${data%.data}
		# perf silently records in another way if a requested feature is missing.
		perf evlist -v -i "$data" >"$name.events" 2>"$name.log"
		[[ $name == *.fp || $name == *.once ]] || grep -q defer_callchain: "$name.events" || die "$data: stacks were not deferred"
		fields=comm,tid,time,event,ip,sym,dso,dsoff
		if [[ $name == *.fp ]]; then fields=$fields,uregs; elif [[ $name != *.once ]]; then fields=$fields,stack_end; fi
		[[ $name != *.twice && $name != *.hits.once ]] || fields=$fields,trace
		perf script -i "$data" "${GUEST_FILES[@]}" --ns --no-inline --max-stack 1024 \
			-F "$fields" >"$name.script" 2>"$name.log" &&
			perf script -i "$data" --ns --stack-end unknown -F comm,tid,time,event \
				>"$name.at-once" 2>>"$name.log" || {
			cat "$name.log" >&2
			die "perf script failed on $data"
		}
	done
}

# Print the results of COMMAND, and keep them in out/NAME.
judge() { # NAME COMMAND...
	"${@:2}" | tee "$OUT/$1/results.tap"
}
