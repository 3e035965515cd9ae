# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The work of the programs of `table'. Include this after lib.sh. For each program
#
#   prepare_NAME  if there is one, makes its input in the current directory, before the recording
#   run_NAME      is its normal work, some seconds under software emulation
#   short_NAME    for gdb and dwarf, sets $command to one that is short enough for gdb to step, and
#                 makes its input; $opened to the files that it opens with dlopen(); and $always
#                 to the function that handles signals
#
# shellcheck disable=SC2034,SC2154 # used by scripts that include this

# What build has made.
export STOCK=$BUILD/stock$GUEST_SUFFIX MUSL=$BUILD/musl WORKBENCH

# How many times as much some of them do: they run for longer then.
export MUCH=${MUCH:-1}

# Print the methods that a program's row has for this guest: none if it does not run there.
methods_of() { # PROGRAM
	awk -v name="$1" -v column="$([ "$GUEST_ARCH" = x86 ] && echo 5 || echo 7)" \
		'$1 == name && $column != "-" { gsub(",", " ", $column); print $column }' "$WORKBENCH/stacks/table"
}

# Print the programs of groups that have one of the methods.
programs_of() { # METHODS GROUP...
	local name group

	sed '/^#/d' "$WORKBENCH/stacks/table" | while read -r name group _; do
		[[ " ${*:2} " != *" $group "* || ! " $(methods_of "$name") " =~ \ (${1//,/|})\  ]] || echo "$name"
	done
}

# Make a program's input, then profile the program, by a function of guest.sh: for scripts that
# include that.
profile() { # NAME [COMMAND-BETWEEN [FUNCTION]]
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

run_python3() { python3 "$WORKBENCH/stacks/programs/python.py" $((8 * MUCH)); }

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
run_cgo() { "$STOCK/cgo" 60; }

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

run_ruby() {
	ruby -e '
class Node
	attr_reader :left, :right
	def initialize(depth) = depth > 0 && (@left, @right = Node.new(depth - 1), Node.new(depth - 1))
	def sum = @left ? 1 + @left.sum + @right.sum : 1
end
6.times do |round|
	words = (1..4000).map { |n| (n * 7919 % 65537).to_s(16) + "-" * (n % 5) }
	count = words.group_by { |word| word[/\h{2}/] }.transform_values(&:size)
	texts = words.sort_by { |word| [count[word[/\h{2}/]].to_i, word] }.map { |word| word.gsub(/([a-f])(\d)/) { $2 + $1 } }
	failed = texts.count { |text| Integer(text, 16) && false rescue true }
	puts [count.size, texts.join.size, failed, Node.new(10).sum, Enumerator.new { |to| 200.times { |n| to << n * round } }.lazy.select(&:even?).first(50).sum].join(" ")
end
'
}

# Its compiled code and its builtins have no tables, but frame pointers.
run_node() {
	node -e '
const tree = depth => depth ? { name: "n" + depth, of: [tree(depth - 1), tree(depth - 1)] } : depth;
for (let round = 0; round < 12; round++) {
	const text = JSON.stringify(tree(11)), again = JSON.parse(text, (key, value) => value);
	const words = new Map();
	for (const [word] of text.replace(/n(\d)/g, (all, digit) => digit + "x").matchAll(/\w+/g)) words.set(word, (words.get(word) ?? 0) + 1);
	const sorted = [...words].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
	console.log(text.length, again.of.length, sorted.slice(0, 3).join(" "), require("zlib").deflateSync(text).length);
}
'
}

# With the option that keeps frame pointers in what it compiles: there are no tables of that. On one
# processor: on two emulated ones it crashes at times, with the base's kernel, too.
run_java() { taskset -c 0 java -XX:+PreserveFramePointer "$WORKBENCH/stacks/programs/Work.java" $((4 * MUCH)); }

# A client and a server.
run_redis() {
	redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no >log &
	until [ -S socket ]; do sleep 0.1; done
	redis-benchmark -s socket -q -n 3000 -c 10 -t set,get,incr,lpush,hset,zadd,mset
	redis-cli -s socket eval 'local s = 0 for i = 1, 200000 do s = s + i % 7 end return s' 0
	redis-cli -s socket shutdown nosave
	wait
}

prepare_nginx() {
	lines 3000 >lines
	printf '%s\n' 'daemon off; worker_processes 2; user root; pid nginx.pid; error_log stderr;' 'events {}' \
		"http { access_log log; gzip on; gzip_min_length 100; gzip_types *; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;" \
		" server { listen unix:$PWD/socket; root $PWD; location /again/ { proxy_pass http://unix:$PWD/socket:/; } } }" >conf
}
run_nginx() {
	nginx -p "$PWD" -c "$PWD/conf" &
	python3 -c '
import http.client, pathlib, socket, time
while not pathlib.Path("socket").exists(): time.sleep(.1)
for n in range(150):
	client = http.client.HTTPConnection("localhost")
	client.sock = socket.socket(socket.AF_UNIX)
	client.sock.connect("socket")
	client.request("GET", ("/", "/again/")[n % 2] + ("lines", "missing")[n % 5 == 0], headers={"Accept-Encoding": "gzip"})
	answer = client.getresponse()
	print(answer.status, len(answer.read()))
	client.close()
'
	kill $!
	wait
}

# A server that refuses to run as root.
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
prepare_postgres() {
	chmod 755 "$memory"
	chown postgres .
	as_postgres "$(echo /usr/lib/postgresql/*/bin/initdb)" -D data -N -A trust >log
}
run_postgres() {
	setpriv --reuid=postgres --regid=postgres --clear-groups "$(echo /usr/lib/postgresql/*/bin/postgres)" --single -D data postgres <<-'END'
		create table t as select i a, md5((i % 9973)::text) b, i * 0.37 c from generate_series(1, 20000) i;
		create index u on t(b);
		analyze;
		select substr(b, 1, 2) k, count(*) n, avg(c), max(string_agg) from (select b, c, string_agg(b, '-') over (partition by substr(b, 1, 3) order by c) from t) group by k order by n desc, k limit 3;
		select count(*) from t x join t y on x.b = y.b where x.c < y.c;
		update t set b = regexp_replace(b, '([a-f])([0-9])', '\2\1') where a % 3 = 0;
		select length(jsonb_agg(t)::text) from t;
	END
}

# Programs with musl.
run_musl-lua() { "$MUSL/lua/lua" "$WORKBENCH/stacks/programs/work.lua" $((30 * MUCH)) "$MUSL/lua"; }

run_musl-busybox() { "$MUSL/busybox/busybox" sh "$WORKBENCH/stacks/programs/script.sh" 25; }

# The blocks are small, so that each thread has work.
prepare_musl-zstd() { lines 60000 >lines; }
run_musl-zstd() { "$MUSL/zstd/zstd" -q -f -T2 -17 -B524288 lines -o lines.zst; }

prepare_musl-xz() { lines 20000 >lines; }
run_musl-xz() { "$MUSL/xz/xz" -k -f -T2 -6 --block-size=20000 lines; }

# What is opened often is in memory: dlopen() takes longer over 9p.
run_many() { "$MUSL/many/many" "$MUSL/many" "$(milliseconds 6000)"; }
run_swap() { "$MUSL/swap/swap" 2500 "$(milliseconds 15000)" "$MUSL"/swap/swap-{a,b}.so; }
prepare_swap-dlopen() { cp "$MUSL"/swap/swap-?.so .; }
run_swap-dlopen() { "$MUSL/swap/swap-dlopen" 2500 "$(milliseconds 30000)" "$PWD"/swap-{a,b}.so; }

# --- short work ---

short_python3() {
	# shellcheck disable=SC2207 # no path of a module has spaces
	opened=($(python3 -c 'import _json, zlib; print(*(getattr(m, "__file__", "") for m in (_json, zlib)))'))
	command=(python3 -E "$WORKBENCH/stacks/programs/python.py" 1)
}

short_perl() {
	# shellcheck disable=SC2207
	opened=($(perl -MList::Util -MPOSIX -e 'print join " ", @DynaLoader::dl_shared_objects'))
	command=(perl -e '
use strict; use warnings; use List::Util qw(reduce); use POSIX qw(floor);
my %count;
my $text = join " ", map { sprintf "%x-%s", $_ * 7919 % 65537, "ab" x ($_ % 5) } 1 .. 60;
$count{$1}++ while $text =~ /\b([0-9a-f]+)-(?:ab)*/g;
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
(my $copy = $text) =~ s/([a-f])(\d)/uc($2) . $1/ge;
my $most = reduce { length $a > length $b ? $a : $b } @sorted;
sub down { my $n = shift; return $n ? down($n - 1) + eval("$n % 3") : floor(2.5) }
print scalar(@sorted), " ", length $copy, " $most ", down(6), "\n";
')
}

short_sort() {
	lines 300 >lines
	# The buffer is so small that sort writes to files and merges them.
	command=(sort "-k2,2" "-k1,1n" -S 1 --batch-size=2 lines)
}

short_xz() {
	lines 2000 >lines
	command=(xz -0 -k -c -T2 --block-size=10000 lines)
}

short_openssl() {
	command=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out certificate
		-subj /CN=nobody)
}

short_git() {
	git init -q -b main .
	git config user.name nobody
	git config user.email nobody@example.com
	lines 60 >text
	git add text
	git commit -q -m one
	sort -o text text
	git commit -q -a -m two
	command=(git log -p --stat)
}

short_throw() { command=("$STOCK/throw" 3); }

# Run the compiler itself: the driver would start it as another program.
short_gcc() {
	printf '%s\n' 'struct s { int n; struct s *next; };' \
		'static int one(struct s *s) { int n = 0; for (; s; s = s->next) n += s->n % 7 ? s->n : -1; return n; }' \
		'int all(struct s **s, int n) { int sum = 0; while (n--) sum ^= one(s[n]) << (n & 3); return sum; }' >code.c
	command=("$(gcc -print-prog-name=cc1)" -quiet -O2 code.c -o code.s)
}

# Only the shell, without other programs.
short_bash() {
	always=trap_handler
	command=(bash -c '
trap "signals=\$((signals + 1))" USR1
fib() { local n=$1; if ((n < 2)); then result=$n; [ $n = 0 ] || kill -USR1 $$; else
	fib $((n - 1)); local a=$result; fib $((n - 2)); result=$((a + result)); fi; }
fib 4
declare -A seen
for ((i = 0; i < 40; i++)); do
	word=${i//[357]/x}; seen[$word]=$((${seen[$word]:-0} + 1))
	[[ $word =~ ^x+([0-9]*)$ ]] && last=${BASH_REMATCH[1]}
done
eval "case \$last in *[0-9]) echo $(fib 3; echo $result) $(printf %05d ${#seen[@]});; *) :; esac" | read -r line
')
}

short_musl-lua() {
	opened=("$MUSL"/lua/{lpeg,cjson}.so)
	command=("$MUSL/lua/lua" "$WORKBENCH/stacks/programs/work.lua" 1 "$MUSL/lua")
}

short_musl-busybox() {
	always=signal_handler
	command=("$MUSL/busybox/busybox" sh "$WORKBENCH/stacks/programs/script.sh" 1)
}

short_musl-zstd() {
	lines 1500 >lines
	command=("$MUSL/zstd/zstd" -q -f -T2 -3 -B524288 lines -o lines.zst)
}

short_musl-xz() {
	lines 1500 >lines
	command=("$MUSL/xz/xz" -k -f -T2 -0 --block-size=20000 lines)
}
