#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record, script and report of deferred user stacks

set -e

err=0
dir=$(mktemp -d /tmp/__perf_test.deferred.XXXXX)
perfdata=${dir}/perf.data
stats=${dir}/stats

# Whatever the user has configured.
export PERF_CONFIG=/dev/null

cleanup() {
	rm -rf "${dir}"
	trap - EXIT TERM INT
}

# shellcheck disable=SC2329 # the trap invokes it
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

	# How many stacks ended in each way that occurs.  The sort key is empty
	# where the kernel does not say.
	awk -F: '
		$1 ~ /^ *samples$/ { on = 1; next }
		$1 ~ /^ *guessed$/ { on = 0 }
		on { split($2, word, " "); sub(/^ +/, "", $1); sub(/^not said$/, "", $1) }
		on && word[1] > 0 { print word[1], $1 }' "${stats}" |
		LC_ALL=C sort > "${dir}/expected"
	perf report -i "${perfdata}" --stdio -q --no-children -g none \
		-F sample,stack_end 2> "${dir}/log" |
		awk 'NF { n = $1; sub(/^ *[0-9]+ */, ""); sub(/ +$/, ""); sum[$0] += n }
			END { for (name in sum) print sum[name], name }' |
		LC_ALL=C sort > "${dir}/sorted"
	if [ ! -s "${dir}/expected" ] || ! diff "${dir}/expected" "${dir}/sorted"
	then
		cat "${dir}/log"
		failed "Sort key stack_end" "it is not as in the summary"
		return
	fi
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

# Record with these stacks: success if nothing is refused.
record_true() {
	perf record -e cpu-clock:u --call-graph "$1" -o "${perfdata}" -- true \
		> /dev/null 2> "${dir}/log"
}

attributes() {
	perf evlist -v -i "${perfdata}" 2> /dev/null
}

test_arguments() {
	echo "Arguments of --call-graph fp"
	local arg warnings

	# What has no effect is no error, but is said.
	for arg in fp:0 fp,defer:0 fp,2:0 fp,0:1 fp,2abc:1 fp,many:1 fp,1000000:1 fp,2,2:1 \
		fp,2,defer:1 fp,defer,2:1 fp,defer,many:1
	do
		warnings=0
		if ! record_true "${arg%:*}"
		then
			cat "${dir}/log"
			failed "Arguments of --call-graph fp" "${arg%:*} was refused"
			return
		fi
		if grep -q '^callchain: ' "${dir}/log"
		then
			warnings=1
		fi
		if [ "${warnings}" -ne "${arg#*:}" ]
		then
			cat "${dir}/log"
			failed "Arguments of --call-graph fp" "${warnings} warnings of ${arg%:*}"
			return
		fi
	done

	# The last one is deferred all the same, and a number has its effect.
	if ! attributes | grep -q 'defer_callchain: 1' ||
	   ! record_true fp,2 || ! attributes | grep -q 'sample_max_stack: 2' ||
	   ! record_true fp,3abc || ! attributes | grep -q 'sample_max_stack: 3'
	then
		attributes
		failed "Arguments of --call-graph fp" "wrong attributes"
		return
	fi
	echo "Arguments of --call-graph fp [Success]"
}

if ! record fp,defer
then
	echo "Skip: cannot record cpu-clock:u with deferred stacks"
	cleanup
	exit 2
fi

# perf record goes on without what a kernel does not know.
if ! attributes | grep -q 'defer_callchain: 1'
then
	echo "Skip: the kernel does not defer user stacks"
	cleanup
	exit 2
fi

test_stats
test_script
test_sort
test_filter
test_arguments

cleanup
exit ${err}
