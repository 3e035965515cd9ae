// SPDX-License-Identifier: GPL-2.0
/*
 * Generated code in many small mappings, as runtimes have that never map a page writable and
 * executable at once. It keeps frame pointers. A stack goes through CALLS of the mappings. The
 * program's name says how many there are, and whether they are of a file.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "leaf.h"

#define PAGE 4096L
#define CALLS 20

/* Calls the next of the functions that FUNCTIONS names. */
typedef long (*code)(void *functions, long n);

static const unsigned char bytes[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
	0x53, 0x53,		/* push %rbx; push %rbx */
	0x48, 0x8b, 0x07,	/* mov (%rdi), %rax */
	0x48, 0x83, 0xc7, 0x08,	/* add $8, %rdi */
	0xff, 0xd0,		/* call *%rax */
	0x5b, 0x5b, 0x5d, 0xc3,	/* pop %rbx; pop %rbx; pop %rbp; ret */
};

static NOINLINE long mid(void *functions, long n)
{
	volatile long room[5];

	(void)functions;
	room[0] = n;
	return hot_leaf(n) + room[0];
}

int main(int argc, char **argv)
{
	long count = strstr(argv[0], "few") ? 50 : 8000;
	int file = strstr(argv[0], "file") ? memfd_create("jit", 0) : -1;
	int flags = MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0);
	unsigned long random = 1;
	volatile long sum = 0;
	char *area;

	(void)argc;
	if (file >= 0 && ftruncate(file, count * 2 * PAGE))
		return 1;
	area = mmap(NULL, count * 2 * PAGE, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
	if (area == MAP_FAILED)
		return 1;
	for (long i = 0; i < count; i++) {
		memcpy(area + i * 2 * PAGE, bytes, sizeof(bytes));
		if (mprotect(area + i * 2 * PAGE, PAGE, PROT_READ | PROT_EXEC))
			return 1;
	}
	while (go_on()) {
		code functions[CALLS + 1];

		for (int i = 0; i < CALLS; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			functions[i] = (code)(area + (random >> 33) % count * 2 * PAGE);
		}
		functions[CALLS] = mid;
		sum += functions[0](functions + 1, 5000);
	}
	return sum == 42;
}
