# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Stock programs at work that is short enough for gdb to step. `short_NAME' makes the
# program's input in the current directory. It sets $command, the command line; $opened,
# the files that the program opens with dlopen(); and $always, the function that handles
# signals. Include this after programs.sh.
# shellcheck disable=SC2034 # used by scripts that include this

SHORT=(python3 perl sort xz openssl git throw cc1 bash)
# Those in the guest for arm64.
ARM64_SHORT=(python3 perl sort git bash)

short_python3() {
	# shellcheck disable=SC2207 # no path of a module has spaces
	opened=($(python3 -c '
import _json, _datetime, zlib
print(*(m.__file__ for m in (_json, _datetime, zlib) if getattr(m, "__file__", None)))'))
	command=(python3 -E -c '
import collections, datetime, json, re, zlib
def tree(depth):
    return {"n": depth / 3, "of": [tree(depth - 1) for _ in range(2)]} if depth else "leaf"
again = json.loads(json.dumps(tree(4), indent=1), object_hook=lambda node: dict(sorted(node.items())))
words = collections.Counter(re.findall(r"\w+", re.sub(r"(l)(e)", lambda found: found[2] + found[1], str(again))))
print(sorted(words, key=lambda word: (-words[word], word)), len(zlib.compress(str(again).encode())))
print(max((datetime.date(2000, 1, day) for day in range(1, 9)), key=lambda day: day.isoformat()[::-1]))
')
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
short_cc1() {
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
