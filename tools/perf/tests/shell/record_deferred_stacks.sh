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

# What perf script shows with a filter, here only for stacks as they are recorded:
# deferred_stack_ends.sh has stacks of all kinds.
test_script() {
	echo "Stacks in perf script"
	local samples complete
	if ! perf script -i "${perfdata}" -F comm,ip > "${dir}/all" 2> "${dir}/log" ||
	   ! perf script -i "${perfdata}" --stack-end=complete -F comm,ip > "${dir}/complete" \
		2>> "${dir}/log"
	then
		cat "${dir}/log"
		failed "Stacks in perf script" "perf script failed"
		return
	fi

	samples=$(awk 'BEGIN { RS = "" } END { print NR }' "${dir}/all")
	complete=$(awk 'BEGIN { RS = "" } END { print NR }' "${dir}/complete")
	if [ "${samples}" -ne "$(count samples)" ] || [ "${complete}" -ne "$(count complete)" ] ||
	   [ "${samples}" -eq 0 ]
	then
		cat "${stats}"
		failed "Stacks in perf script" "${samples} samples, ${complete} complete"
		return
	fi

	if perf script -i "${perfdata}" --stack-end=nonsense > /dev/null 2>&1
	then
		failed "Stacks in perf script" "nonsense was accepted"
		return
	fi
	echo "Stacks in perf script [Success]"
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

# An event that has its own setting is not deferred.
test_events() {
	echo "Setting of an event"
	if ! perf record -e cpu-clock/call-graph=fp/u -e task-clock:u --call-graph fp,defer \
		-o "${perfdata}" -- perf test -w noploop > /dev/null 2> "${dir}/log"
	then
		cat "${dir}/log"
		failed "Setting of an event" "it was refused"
		return
	fi
	attributes > "${dir}/attributes"
	if [ "$(grep -c 'CALLCHAIN' "${dir}/attributes")" -ne 2 ] ||
	   [ "$(grep -c 'defer_callchain: 1' "${dir}/attributes")" -ne 1 ] ||
	   ! grep '^task-clock' "${dir}/attributes" | grep -q 'defer_callchain: 1'
	then
		cat "${dir}/attributes"
		failed "Setting of an event" "wrong attributes"
		return
	fi
	echo "Setting of an event [Success]"
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
test_arguments
test_events

cleanup
exit ${err}
