# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Stock programs at their normal work. Each has a function, which runs in its own
# directory in the guest's memory. `prepare_NAME`, if there is one, makes the program's
# input before the recording.

# Each takes some seconds under software emulation.
# shellcheck disable=SC2034 # used by scripts that include this
PROGRAMS=(python3 bash perl gdb tar git sort openssl gcc xz throw rust menhir)
# These also run much code without tables, whose callers the kernel guesses.
# shellcheck disable=SC2034
GUESSED_PROGRAMS=(ffmpeg numpy php emacs go cgo)
# Those in the guest for arm64.
# shellcheck disable=SC2034
ARM64_PROGRAMS=(python3 bash perl git sort xz openssl gcc gdb throw ripgrep sqlite3)

# How many times as much some of them do: they run for longer then.
export MUCH=${MUCH:-1}

# Make a program's input, then profile the program, by a function of guest.sh: for scripts that
# include that.
profile() { # NAME [COMMAND-BETWEEN [FUNCTION]]
	# shellcheck disable=SC2154 # guest.sh sets it
	mkdir "$memory/$1"
	cd "$memory/$1" || return
	! declare -F "prepare_$1" >/dev/null || "prepare_$1"
	"${2:-true}"
	export -f "run_$1"
	"${3:-clock}" "$1" bash -c "run_$1"
	cd /
	rm -rf "${memory:?}/$1"
}

lines() { # NUMBER
	awk -v n="$1" 'BEGIN { srand(1); for (i = 0; i < n; i++)
		printf "%08x %s %d\n", rand() * 2 ^ 31, substr("abcdefghijklmnopqrstuvwxyz", 1 + rand() * 20, 6), i }'
}

run_python3() { python3 "$WORKBENCH/stock/python.py" $((8 * MUCH)); }

run_bash() {
	bash -c '
fib() { local n=$1; if ((n < 2)); then result=$n; else
	fib $((n - 1)); local a=$result; fib $((n - 2)); result=$((a + result)); fi; }
for ((i = 0; i < 3 * MUCH; i++)); do fib 13; done
declare -A seen
for ((i = 0; i < 3000 * MUCH; i++)); do
	word=${i//[357]/x}; seen[$word]=$((${seen[$word]:-0} + 1))
	[[ $word =~ ^x+([0-9]*)$ ]] && last=${BASH_REMATCH[1]}
done
echo "$result ${#seen[@]} $last" $(echo sub | tr a-z A-Z)
'
}

run_perl() {
	perl -e '
use strict; use warnings;
my %count;
for my $round (1 .. 4 * $ENV{MUCH}) {
	my $text = join " ", map { sprintf "%x-%s", $_ * 7919 % 65537, "ab" x ($_ % 5) } 1 .. 6000;
	$count{$1}++ while $text =~ /\b([0-9a-f]+)-(?:ab)*/g;
	my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
	(my $copy = $text) =~ s/([a-f])(\d)/$2$1/g;
	print scalar(@sorted), " ", length $copy, "\n";
}
'
}

prepare_gdb() {
	printf '%s\n' 'break Leaf::visit' 'run 60' 'set $stops = 0' \
		'while $stops < 100' 'backtrace 30' continue 'set $stops = $stops + 1' end >stops
}
run_gdb() {
	local rust=()

	[ ! -e "$STOCK/rust" ] || rust=(-ex "file $STOCK/rust" -ex 'info functions work' -ex 'info types Map')
	gdb -nx -batch -ex 'info line main' -ex 'disassemble main' -ex 'info scope main' \
		-ex 'list main' -ex 'info types .' -ex 'info functions .' -ex 'info variables .' \
		-ex 'ptype std::string' -ex "disassemble /s main" \
		"${rust[@]}" \
		-ex "file $STOCK/throw" -x stops "$STOCK/throw"
}

prepare_tar() { lines 60000 >lines; }
run_tar() { tar -I 'xz -1 -T2' -cf lines.tar.xz lines && tar -xOf lines.tar.xz | tail -n 1; }

prepare_git() {
	git init -q -b main .
	git config user.name nobody
	git config user.email nobody@example.com
	mkdir d
	lines 20000 | split -l 50 - d/
}
run_git() {
	git add -A && git commit -q -m one
	for file in d/a?; do sort -o "$file" "$file"; done
	git commit -q -a -m two
	git log -p --stat | tail -n 1
	git gc -q
	git fsck
}

prepare_sort() { lines $((100000 * MUCH)) >lines; }
run_sort() { LC_ALL=C.UTF-8 sort -k2,2 -k1,1n --parallel=2 lines | tail -n 1; }

run_openssl() {
	openssl speed -seconds 1 -bytes 4096 sha256 aes-128-cbc rsa2048 ecdsap256
	openssl speed -seconds 1 -bytes 4096 -evp chacha20-poly1305
}

prepare_gcc() {
	{
		echo '#include <stdio.h>'
		echo '#include <stdlib.h>'
		for ((i = 0; i < 15 * MUCH; i++)); do
			echo "int f$i(int *a, int n) { int s = $i; for (int i = 0; i < n; i++)"
			echo "	s += a[i] * (s ^ $i) > 3 ? a[i % ($i + 1)] : printf(\"%d\", s); return s; }"
		done
	} >code.c
	printf '%s\n' '#include <map>' '#include <string>' '#include <vector>' \
		'std::map<std::string, std::vector<int>> m;' \
		'int f(const std::string &s) { m[s].push_back(1); return m.size(); }' >code.cc
}
run_gcc() { gcc -O2 -c -o code.o code.c && g++ -O1 -c -o code2.o code.cc; }

prepare_xz() { lines $((60000 * MUCH)) >lines; }
run_xz() { xz -3 -k -f -T2 lines && xz -dc lines.xz | tail -n 1; }

# A parser generator in OCaml, whose runtime has a stack for C and one of its own.
prepare_menhir() {
	local kind

	{
		printf '%%token NUMBER NAME PLUS TIMES LEFT RIGHT COMMA END STOP\n'
		printf '%%left PLUS\n%%left TIMES\n%%start <unit> program\n'
		printf '%%type <unit> all statement value\n'
		printf '%%token KIND%d\n' {0..119}
		printf '%%type <unit> list%d\n' {0..119}
		printf '%%%%\nprogram: all STOP {()}\nall: {()} | all statement {()}\nstatement: value END {()}\n'
		for kind in {0..119}; do
			echo "| KIND$kind list$kind END {()}"
		done
		for kind in {0..119}; do
			echo "list$kind: value {()} | list$kind COMMA value {()} | KIND$kind value {()}"
		done
		printf 'value: NUMBER {()} | NAME {()} | LEFT value RIGHT {()} | value PLUS value {()} | value TIMES value {()}\n'
	} >grammar.mly
}
run_menhir() { menhir --no-stdlib --no-code-generation --dump grammar.mly && wc -l <grammar.automaton; }

run_throw() { "$STOCK/throw" $((2400 * MUCH)); }

# Video: x264's and swscale's assembly.
run_ffmpeg() {
	ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -t 3 -vf scale=480:270 \
		-c:v libx264 -preset medium -y out.mp4
	ffmpeg -v error -i out.mp4 -f null -
}

run_numpy() {
	python3 -c '
import numpy
rng = numpy.random.default_rng(1)
for _ in range(12):
	a = rng.random((150, 150))
	print(numpy.linalg.det(a @ a.T), numpy.sort(rng.random(200000))[5], abs(numpy.fft.fft(a)).max())
	print(numpy.exp(a).sum(), numpy.sin(a * 9).mean(), numpy.median(a), len(numpy.unique((a * 99).astype(int))))
'
}

run_php() {
	# The compiler of PCRE registers no code.
	php -d pcre.jit=0 -r '
for ($round = 0; $round < 30; $round++) {
	$words = [];
	for ($i = 0; $i < 8000; $i++) $words[] = md5((string)($i * 7919 % 65537));
	sort($words);
	$count = array_count_values(array_map(fn($word) => substr(preg_replace("/[0-9]+/", "-", $word), 0, 6), $words));
	uasort($count, fn($a, $b) => $b <=> $a);
	echo count($count), " ", strlen(json_encode($count)), " ", strlen(serialize($words)), "\n";
}
'
}

run_emacs() {
	emacs -Q --batch --eval "(progn (require 'org) (require 'cc-mode)
		(dotimes (_ 3) (with-temp-buffer (dotimes (i 900) (insert (format \"* Head %d\\n- item /one/ %d\\n\" i i)))
			(org-mode) (font-lock-ensure) (goto-char (point-min)) (org-map-entries (quote org-get-heading)) (message \"%d\" (buffer-size)))))"
}

# Go has frame pointers, and no tables. Its runtime runs on stacks of its own.
run_go() { "$STOCK/go" 600; }

# What uses C has tables, but only for that.
run_cgo() { "$STOCK/cgo" 250; }

# Another program in Rust, as the distribution has built it.
prepare_ripgrep() { lines 150000 >lines; }
run_ripgrep() {
	for pattern in '[a-f0-9]{8} [b-p]+[q-v] ' '(abc|def|xyz).*[13579]$' '\b(\w)\w+ .*7{2}'; do
		rg --threads 2 --count "$pattern" lines
		rg --json --ignore-case "$pattern" lines | tail -n 1
	done
}

run_sqlite3() {
	sqlite3 :memory: "
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, hex(i * 7919 % 65537) || '-' || i % 31, i * 0.37 from n;
create index u on t(b);
select count(*), max(b), sum(c) from t where b like '3%7';
select substr(b, 1, 3) k, count(*) n, avg(c), group_concat(a) from t group by k order by n desc, k limit 3;
update t set b = replace(b, '3', 'x') where a % 3 = 0;
select count(*) from t x join t y on x.b = y.b;
delete from t where a in (select a from t order by b desc limit 5000);
select json_group_array(b) from (select b from t order by c % 7, b limit 400);"
}

run_rust() { "$STOCK/rust" 12; }
