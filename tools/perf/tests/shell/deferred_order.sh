#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# order of events around deferred user stacks

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
dir=$(mktemp -d /tmp/__perf_test.order.XXXXX)

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

# Compare what perf script prints of the records $2 with the lines $3, which are
# in the order of time: a name, a thread, and its frame.
expect() {
	local what="$1" input
	echo "$2" | "${PYTHON}" "${shelldir}"/lib/deferred_stacks.py > "${dir}/pipe"
	echo "$2" | "${PYTHON}" "${shelldir}"/lib/deferred_stacks.py --file > "${dir}/file"
	echo "$3" > "${dir}/expected"
	for input in file pipe
	do
		if ! perf script -i "${dir}/${input}" -F comm,tid,time,ip > "${dir}/script" \
			2> "${dir}/log" ||
		   ! awk 'BEGIN { RS = ""; FS = "\n" }
			{ n = split($1, word, " "); time = word[n] + 0
			  if (time < last) print "back in time"
			  last = time; split($2, frame, " ")
			  print word[1], word[2], frame[1] }' "${dir}/script" |
			diff "${dir}/expected" - > "${dir}/diff"
		then
			cat "${dir}/log" "${dir}/diff"
			echo "${what}, ${input} [Failed]"
			err=1
		else
			echo "${what}, ${input} [Success]"
		fi
	done
}

expect "Other threads wait" "
sample 101 1
plain 102
sample 103 2
stack 103 2 400103
plain 102
stack 101 1 400101
plain 102" "\
:101 101 400101
:102 102 400020
:103 103 400103
:102 102 400020
:102 102 400020"

expect "Names wait" "
comm 101 before
sample 101 1
comm 101 after
comm 102 other
stack 101 1 400101
sample 101 2
stack 101 2 400102" "\
before 101 400101
after 101 400102"

# The second sample tells that there is no stack for the first.
expect "A lost stack" "
sample 101 1
plain 102
sample 101 2
plain 102
stack 101 2 400102
sample 101 3
plain 102" "\
:101 101 400000
:102 102 400020
:101 101 400102
:102 102 400020
:101 101 400000
:102 102 400020"

expect "A sample after its stack" "
sample 101 1
sample 102 1
stack 101 1 400101
sample 101 1
plain 103
stack 102 1 400102" "\
:101 101 400101
:102 102 400102
:101 101 400101
:103 103 400020"

# Some kernels write the stack after the exit, but not much later.
expect "Exit" "
sample 101 1
gone 101
plain 102
stack 101 1 400101
sample 103 1
gone 103
pause
plain 102
stack 103 1 400103
plain 102" "\
:101 101 400101
:102 102 400020
:103 103 400000
:102 102 400020
:102 102 400020"

expect "Rounds" "
sample 101 1
round
plain 102
round
plain 103
round
round
plain 104
stack 101 1 400101
round" "\
:101 101 400101
:102 102 400020
:103 103 400020
:104 104 400020"

# If the queue is too large, its first sample does without its stack, and no other.
test_size() {
	local input args
	printf '[report]\n\tqueue-size = 4M\n' > "${dir}/config"
	# At least 72 bytes each.
	{
		echo "sample 101 1"
		awk 'BEGIN { for (i = 0; i < 100000; i++) print "plain 102"; }'
		echo "sample 103 1"
		echo "stack 103 1 400103"
		echo "stack 101 1 400101"
	} > "${dir}/many"
	for input in file pipe
	do
		args=()
		[ "${input}" = pipe ] || args+=(--file)
		"${PYTHON}" "${shelldir}"/lib/deferred_stacks.py "${args[@]}" \
			< "${dir}/many" > "${dir}/${input}"
		PERF_CONFIG=${dir}/config perf report -i "${dir}/${input}" --stats --stdio \
			> "${dir}/stats" 2> "${dir}/log" || true
		PERF_CONFIG=${dir}/config perf report -i "${dir}/${input}" --stdio \
			> /dev/null 2>> "${dir}/log" || true
		if grep -qE 'SAMPLE events: +100002 ' "${dir}/stats" &&
		   grep -qE '^ *complete: +1 ' "${dir}/stats" &&
		   grep -qE '^ *user part missing: +1 ' "${dir}/stats" &&
		   grep -q '1 samples lack their user stack' "${dir}/log"
		then
			echo "Limited queue, ${input} [Success]"
		else
			cat "${dir}/log" "${dir}/stats"
			echo "Limited queue, ${input} [Failed]"
			err=1
		fi
	done
}
test_size

cleanup
exit ${err}
