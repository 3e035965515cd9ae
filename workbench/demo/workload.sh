#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Work for the profiler: workload.sh ITERATIONS. It has recursive functions,
# arithmetic, patterns and arrays. The output depends only on the number of iterations.

fib() {
	local n=$1 a

	if ((n < 2)); then
		result=$n
	else
		fib $((n - 1))
		a=$result
		fib $((n - 2))
		result=$((a + result))
	fi
}

words() {
	local -A seen=()
	local i word last=

	for ((i = 0; i < 500; i++)); do
		word=${i//[357]/x}
		seen[$word]=$((${seen[$word]:-0} + 1))
		if [[ $word =~ ^x+([0-9]*)$ ]]; then
			last=${BASH_REMATCH[1]}
		fi
	done
	result="${#seen[@]} $last"
}

for ((round = 0; round < $1; round++)); do
	fib 11
	printf '%s ' "$result"
	words
	printf '%s\n' "$result"
done
