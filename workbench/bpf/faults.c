// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults in a stack of some frames: `faults DEPTH`. Prints what a fault costs its thread, in
 * nanoseconds: under QEMU's -icount, these are instructions.
 */
#include <error.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE	4096
#define FAULTS	1000

static char *memory;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static int fault(int depth, int faults)
{
	int sum = 0;

	if (depth > 1) {
		sum = fault(depth - 1, faults);
	} else {
		for (int i = 0; i < faults; i++)
			memory[i * PAGE] = 1;
	}
	/* The call is no jump. */
	__asm__ volatile("" : "+r"(sum));
	return sum;
}

static long long cost(int depth, int faults)
{
	long long start = now(), cost;

	fault(depth, faults);
	cost = now() - start;
	if (madvise(memory, 2 * FAULTS * PAGE, MADV_DONTNEED))
		error(1, errno, "madvise");
	return cost;
}

int main(int argc, char **argv)
{
	const int depth = argc > 1 ? atoi(argv[1]) : 10;

	memory = mmap(NULL, 2 * FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		error(1, errno, "mmap");
	/* The kernel may have no huge pages. */
	madvise(memory, 2 * FAULTS * PAGE, MADV_NOHUGEPAGE);
	/* Rules are remembered, and page tables are there. */
	cost(depth, 2 * FAULTS);
	printf("%lld\n", (cost(depth, 2 * FAULTS) - cost(depth, FAULTS)) / FAULTS);
	return 0;
}
