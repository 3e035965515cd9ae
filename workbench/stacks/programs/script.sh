# SPDX-License-Identifier: GPL-2.0
#
# Work for a shell: script.sh [ROUNDS].  It calls itself deeply, expands, forks
# for substitutions and pipes, and is interrupted by signals.

rounds=${1:-1}
signals=0
trap 'signals=$((signals + 1))' USR1

down() {
	if [ "$1" -gt 0 ]; then
		local word=$1
		case $word in
		*[02468]) down $((word - 1)) ;;
		*) eval "down \$((word - 1))" ;;
		esac
	else
		kill -USR1 $$
		for letter in a b c d e f g h i j k l m n o p; do
			text="${text#????????????}${letter%x}"
		done
	fi
}

text=
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	text=start
	for depth in 3 12 7 10; do
		down "$depth"
	done
	number=0
	while [ "$number" -lt 300 ]; do
		number=$((number + 1))
		case $number$text in
		*7[a-p]*) total=$(((${total:-0} + number * 3) % 9973)) ;;
		1*) : "${text%%[x-z]*}" "${number#1}" ;;
		esac
	done
	numbers=$(seq 1 60 | sed 's/\(.\)$/\1\1/' | sort -rn | awk '{ n += $1 * NR } END { print n }')
	words=$(for word in $text $numbers three; do printf '%s-%05d\n' "$word" "$round"; done |
		tr a-z A-Z | grep -v '^$' | cut -c 1-9 | md5sum)
	total=$(expr $((${total:-0} + numbers)) % 9973)
done
echo "shell: $rounds rounds, $signals signals, $total $words"
