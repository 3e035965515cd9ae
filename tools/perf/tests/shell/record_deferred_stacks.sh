#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record, script and report of deferred user stacks

set -e

err=0
silent=0
dir=$(mktemp -d /tmp/__perf_test.deferred.XXXXX)
perfdata=${dir}/perf.data
stats=${dir}/stats

cleanup() {
	rm -rf "${dir}"
	trap - EXIT TERM INT
}

trap_cleanup() {
	echo "Unexpected signal in ${FUNCNAME[1]}"
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

failed() {
	echo "$1 [Failed: $2]"
	err=1
}

# Of the user part only, so that all frames are deferred ones.
record() {
	perf record -q -F 997 -e cpu-clock:u --call-graph "$1" \
		-o "${perfdata}" -- perf test -w noploop 2> /dev/null
}

# The number behind a name of the summary: 0 if it has no such line.
count() {
	awk -F: -v name="$1" '
		/^Deferred stacks:$/ { found = 1 }
		found { key = $1; sub(/^ +/, "", key) }
		found && key == name { split($NF, word, " "); n = word[1] }
		END { print n + 0 }' "${2-${stats}}"
}

# The number of samples of perf script, with a filter or without.
script_samples() {
	perf script -i "${perfdata}" "$@" -F comm,ip 2> /dev/null |
		awk 'BEGIN { RS = "" } { n++ } END { print n + 0 }'
}

end_lines() {
	perf script -i "${perfdata}" -F ip,sym,dso 2> /dev/null |
		grep -c '\[stack ends: ' || true
}

test_stats() {
	echo "Summary of deferred stacks"
	perf report -i "${perfdata}" --stats --stdio > "${stats}" 2> /dev/null

	local samples sum
	samples=$(count samples)
	# What stands between the samples and "guessed" are parts of them.
	sum=$(awk -F: '
		$1 ~ /^ *samples$/ { on = 1; next }
		$1 ~ /^ *guessed$/ { on = 0 }
		on { split($2, word, " "); n += word[1] }
		END { print n + 0 }' "${stats}")
	if [ "${samples}" -eq 0 ] || [ "${sum}" -ne "${samples}" ]
	then
		cat "${stats}"
		failed "Summary of deferred stacks" "${sum} of ${samples} samples"
		return
	fi

	# perf record prints the same, unless it is quiet.
	perf record -F 997 -e cpu-clock:u --call-graph fp,defer -o "${perfdata}.2" \
		-- perf test -w noploop > /dev/null 2> "${stats}.record"
	perf report -i "${perfdata}.2" --stats --stdio 2> /dev/null |
		sed -n '/^Deferred stacks:$/,$p' > "${stats}.report"
	if ! sed -n '/^Deferred stacks:$/,$p' "${stats}.record" | cmp -s - "${stats}.report"
	then
		cat "${stats}.record" "${stats}.report"
		failed "Summary of deferred stacks" "perf record and report differ"
		return
	fi
	echo "Summary of deferred stacks [Success]"
}

test_script() {
	echo "Ends of stacks in perf script"
	local lines expected
	lines=$(end_lines)
	# Nothing is invented where the kernel does not say anything.
	expected=$(($(count samples) - $(count complete) - $(count "not said")))
	if [ "${lines}" -ne "${expected}" ]
	then
		failed "Ends of stacks in perf script" "${lines} lines, not ${expected}"
		return
	fi
	echo "Ends of stacks in perf script [Success]"
}

test_sort() {
	echo "Sort key stack_end"
	local name expected samples

	perf report -i "${perfdata}" --stdio -q --no-children -g none \
		-F sample,stack_end 2> /dev/null > "${dir}/report"
	for name in complete "complete, guessed" "no information" "unreadable memory" \
		"malformed table" "bad frame" "too many frames" "too much work" "user part missing"
	do
		expected=$(count "${name}")
		samples=$(awk -v name="${name}" '
			{ n = $1; sub(/^ *[0-9]+ */, ""); sub(/ +$/, "") }
			$0 == name { sum += n }
			END { print sum + 0 }' "${dir}/report")
		if [ "${samples}" -ne "${expected}" ]
		then
			cat "${dir}/report"
			failed "Sort key stack_end" "${samples} of ${name}, not ${expected}"
			return
		fi
	done
	echo "Sort key stack_end [Success]"
}

test_filter() {
	echo "Filter by stack end"
	local samples expected
	expected=$(($(count samples) - $(count complete) - $(count "complete, guessed") -
		    $(count "not said")))
	samples=$(script_samples --stack-end=incomplete)
	if [ "${samples}" -ne "${expected}" ]
	then
		failed "Filter by stack end" "${samples} incomplete, not ${expected}"
		return
	fi

	samples=$(script_samples --stack-end=complete)
	if [ "${samples}" -ne "$(count complete)" ]
	then
		failed "Filter by stack end" "${samples} complete, not $(count complete)"
		return
	fi

	if perf script -i "${perfdata}" --stack-end=nonsense > /dev/null 2>&1
	then
		failed "Filter by stack end" "nonsense was accepted"
		return
	fi
	echo "Filter by stack end [Success]"
}

test_depth() {
	echo "Depth of deferred stacks"
	local arg frames

	for arg in fp,defer,0 fp,defer,-1 fp,defer,many fp,defer,2x fp,defer,1000000 \
		fp,defer,2,2 fp,2,defer
	do
		if record "${arg}"
		then
			failed "Depth of deferred stacks" "${arg} was accepted"
			return
		fi
	done

	record fp,defer,2
	if ! perf evlist -v -i "${perfdata}" 2> /dev/null | grep -q 'sample_max_stack: 2'
	then
		failed "Depth of deferred stacks" "no depth in the attribute"
		return
	fi

	# A kernel that says how stacks end takes notice of the depth.
	perf report -i "${perfdata}" --stats --stdio > "${stats}" 2> /dev/null
	if [ "$(count "not said")" -eq "$(count samples)" ]
	then
		echo "Depth of deferred stacks [Skip: this kernel says nothing of it]"
		silent=1
		return
	fi

	frames=$(perf script -i "${perfdata}" --no-inline -F comm,ip 2> /dev/null |
		awk 'BEGIN { RS = ""; FS = "\n" }
			{ n = NF - 1 - ($NF ~ /\[stack ends: /) }
			n > most { most = n }
			END { print most + 0 }')
	if [ "${frames}" -gt 2 ] || [ "$(count "too many frames")" -eq 0 ]
	then
		failed "Depth of deferred stacks" "stacks have up to ${frames} frames"
		return
	fi
	echo "Depth of deferred stacks [Success]"
}

if ! record fp,defer
then
	echo "Skip: cannot record cpu-clock:u with deferred stacks"
	cleanup
	exit 2
fi

# perf record goes on without what a kernel does not know.
if ! perf evlist -v -i "${perfdata}" 2> /dev/null | grep -q 'defer_callchain: 1'
then
	echo "Skip: the kernel does not defer user stacks"
	cleanup
	exit 2
fi

test_stats
test_script
test_sort
test_filter
test_depth

cleanup
if [ ${err} -eq 0 ] && [ ${silent} -eq 1 ]
then
	exit 2
fi
exit ${err}
