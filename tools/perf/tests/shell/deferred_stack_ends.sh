#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ends of deferred user stacks in perf script and report

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
dir=$(mktemp -d /tmp/__perf_test.ends.XXXXX)
perfdata=${dir}/perf.data

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

# Whatever the kernel can do: each end, of stacks that are made here.
cat > "${dir}/records" << EOF
1 - 400010 400020
1 - 400010 400020
1 g 400010 400020
2 - 400010 7f0000000010
2 g 400010 7f0000000010
2 - 400010 7f0000000010
late
3 - 400010
4 - 400010 7f0000000010
5 - 400010 400020
5 - 400010 100
6 - 400010 400020
7 - 400010
8 - 400010
9 - 400010 7f0000000010
11 - 400010
0 - 400010
0 -
lost
exit
1 - 400010 400020
late
EOF
"${PYTHON}" "${shelldir}"/lib/deferred_stacks.py < "${dir}/records" > "${perfdata}"

# Compare the standard input with what is expected.
expect() {
	if diff "$2" - > "${dir}/diff"
	then
		echo "$1 [Success]"
	else
		cat "${dir}/diff"
		echo "$1 [Failed]"
		# It runs in a subshell, behind a pipe: a variable would be lost.
		touch "${dir}/failed"
	fi
}

cat > "${dir}/expected" << EOF
2 frames
2 frames
2 frames [stack ends: complete, guessed]
2 frames [stack ends: no unwind information in libfoo.so]
2 frames [stack ends: no unwind information in libfoo.so; frames guessed]
2 frames [stack ends: no unwind information in libfoo.so]
2 frames [stack ends: no unwind information in libfoo.so]
1 frames [stack ends: unreadable memory in prog]
2 frames [stack ends: malformed unwind table of libfoo.so]
2 frames [stack ends: bad frame in prog]
2 frames [stack ends: bad frame in [unknown]]
2 frames [stack ends: more than 2 frames]
1 frames [stack ends: too much work]
1 frames [stack ends: 32-bit or x32 code]
2 frames [stack ends: unsupported rule in libfoo.so]
1 frames [stack ends: unknown reason 11]
1 frames
0 frames [stack ends: user part missing]
1 frames [stack ends: user part missing]
2 frames
1 frames [stack ends: user part missing]
EOF
perf script -i - -F comm,ip,sym,dso,stack_end < "${perfdata}" 2> /dev/null | awk '
	BEGIN { RS = ""; FS = "\n" }
	{ end = $NF ~ /\[stack ends: / ? $NF : ""; sub(/^[ \t]+/, " ", end)
	  print NF - 1 - (end != "") " frames" end }' |
	expect "Ends of stacks in perf script" "${dir}/expected"

# The same without frames: what is in the line of the sample.
sed -E 's/^[0-9]+ frames/100/' "${dir}/expected" > "${dir}/expected.line"
"${PYTHON}" "${shelldir}"/lib/deferred_stacks.py --file < "${dir}/records" > "${dir}/file"
perf script -i "${dir}/file" -F tid,stack_end 2> /dev/null | sed -E 's/^ +//; s/ +$//; s/ +/ /g' |
	expect "Ends of stacks without frames" "${dir}/expected.line"

# Programs read the lines of a sample as frames.  Nothing else is there by default.
echo "20 samples with frames, 1 without, 0 other lines" > "${dir}/expected"
perf script -i - < "${perfdata}" 2> /dev/null | awk '
	BEGIN { RS = ""; FS = "\n" }
	{ if (NF > 1) n++; else none++
	  for (i = 2; i <= NF; i++) other += $i !~ /^\t *[0-9a-f]+ [^ ].* \(.*\)$/ }
	END { printf "%d samples with frames, %d without, %d other lines\n", n, none, other }' |
	expect "Frames only by default" "${dir}/expected"

cat > "${dir}/expected" << EOF
Deferred stacks:
                         samples:         21  (100.0%)
                        complete:          3  ( 14.3%)
               complete, guessed:          1  (  4.8%)
                  no information:          4  ( 19.0%)
               unreadable memory:          1  (  4.8%)
                 malformed table:          1  (  4.8%)
                       bad frame:          2  (  9.5%)
                 too many frames:          1  (  4.8%)
                   too much work:          1  (  4.8%)
              32-bit or x32 code:          1  (  4.8%)
                unsupported rule:          1  (  4.8%)
               unknown reason 11:          1  (  4.8%)
               user part missing:          3  ( 14.3%)
                        not said:          1  (  4.8%)
                         guessed:          2  (  9.5%)
               ends in libfoo.so:          6  ( 28.6%)
                    ends in prog:          2  (  9.5%)
               ends in [unknown]:          1  (  4.8%)
EOF
perf report -i - --stats --stdio < "${perfdata}" 2> /dev/null |
	sed -n '/^Deferred stacks:$/,$p' |
	expect "Summary of deferred stacks" "${dir}/expected"

cat > "${dir}/expected" << EOF
1 32-bit or x32 code
1 complete, guessed
1 malformed table
1 nothing
1 too many frames
1 too much work
1 unknown reason 11
1 unreadable memory
1 unsupported rule
2 bad frame
3 complete
3 user part missing
4 no information
EOF
perf report -i - --stdio -q --no-children -g none -F sample,stack_end < "${perfdata}" \
	2> /dev/null |
	sed -nE 's/^ +([0-9]+) +/\1 /; s/ *$//; s/^([0-9]+)$/\1 nothing/; /^[0-9]/p' |
	LC_ALL=C sort |
	expect "Sort key stack_end" "${dir}/expected"

# Which samples are left, by their reasons.
filtered() {
	if perf script -i - -F comm,ip,sym,dso "--stack-end=$1" < "${perfdata}" \
		> "${dir}/script" 2> "${dir}/log"
	then
		awk 'BEGIN { RS = ""; FS = "\n" } { n++ } END { print n + 0 }' "${dir}/script"
	else
		cat "${dir}/log"
		echo "refused"
	fi
}

for wanted in complete:3 complete-guessed:1 no-info:4 fault,malformed:2 incomplete:16 \
	missing:3 unknown:1 reason-11:1 reason-12:0
do
	echo "${wanted#*:}" > "${dir}/expected"
	filtered "${wanted%:*}" | expect "Filter by ${wanted%:*}" "${dir}/expected"
done

echo "refused" > "${dir}/expected"
filtered reason-16 | tail -n 1 | expect "Filter by what is no reason" "${dir}/expected"

# What perf inject passes on is what it got.
perf report -i - --stats --stdio < "${perfdata}" 2> /dev/null |
	sed -n '/^Deferred stacks:$/,$p' > "${dir}/expected"
for how in "" -b --mmap2-buildids
do
	# shellcheck disable=SC2086 # it may be no argument
	perf inject ${how} -i "${perfdata}" -o - 2> /dev/null |
		perf report -i - --stats --stdio 2> /dev/null |
		sed -n '/^Deferred stacks:$/,$p' |
		expect "Summary behind perf inject ${how}" "${dir}/expected"
done

# The outermost frames of a long stack are alone in an object.
{
	printf '2 -'
	printf ' 4000%02x' {1..150}
	printf ' 7f0000000010\n'
} | "${PYTHON}" "${shelldir}"/lib/deferred_stacks.py > "${dir}/long.data"
echo "ends in libfoo.so: 1" > "${dir}/expected"
for how in "" -b --mmap2-buildids
do
	# shellcheck disable=SC2086 # it may be no argument
	perf inject ${how} -i "${dir}/long.data" -o - 2> /dev/null |
		perf report -i - --stats --stdio 2> /dev/null |
		sed -nE 's/^ *(ends in .*): +([0-9]+) .*/\1: \2/p' |
		expect "Long stack behind perf inject ${how}" "${dir}/expected"
done

# The records of stacks, if they are not merged with samples.
cat > "${dir}/expected" << EOF
1 [end: 32-bit or x32 code]
1 [end: complete, guessed]
1 [end: malformed table]
1 [end: no information, guessed]
1 [end: too many frames]
1 [end: too much work]
1 [end: unknown reason 11]
1 [end: unreadable memory]
1 [end: unsupported rule]
1 [end: user part missing]
2 [end: bad frame]
2 [end: no information]
3 [end: complete]
EOF
perf script -i - --no-merge-callchains -F comm,ip < "${perfdata}" 2> /dev/null |
	grep -o '\[end: .*\]' | LC_ALL=C sort | uniq -c | sed 's/^ *//' | LC_ALL=C sort |
	expect "Ends of records" "${dir}/expected"

if [ -e "${dir}/failed" ]
then
	err=1
fi
cleanup
exit ${err}
