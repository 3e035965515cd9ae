# SPDX-License-Identifier: GPL-2.0
# Work in modules that are shared objects: work.pl ITERATIONS. At the end it prints its
# mappings, and the kernel's list of tables.

use strict;
use warnings;
use Data::Dumper;
use Digest::SHA qw(sha256_hex);
use List::Util qw(reduce shuffle);
use POSIX qw(floor);
use Storable qw(dclone);

srand 1;
for my $round (1 .. $ARGV[0]) {
	my %count;
	my $text = join " ", map { sprintf "%x-%s", $_ * 7919 % 65537, "ab" x ($_ % 5) } 1 .. 1500;
	$count{$1}++ while $text =~ /\b([0-9a-f]+)-(?:ab)*/g;
	my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } shuffle keys %count;
	my $copy = dclone(\%count);
	my $sum = reduce { $a + floor(sqrt $b) } map { hex } @sorted;
	print scalar(@sorted), " $sum ", substr(sha256_hex(Dumper($copy)), 0, 8) =~ tr/0-9a-f//, "\n";
}
for my $path ("/proc/self/maps", "/proc/self/unwind_tables") {
	open my $file, "<", $path or die "$path: $!";
	print "== $path\n", <$file>;
}
