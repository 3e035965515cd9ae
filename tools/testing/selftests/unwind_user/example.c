// SPDX-License-Identifier: GPL-2.0
/*
 * How a JIT compiler tells the kernel about the frames of what it compiles.
 *
 * This "compiles" two functions into a page of code, one after the other. It is
 * linked with tools/unwind-jit, which writes the unwind table and registers it.
 *
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "example.h"

#define EXIT_SKIP	4	/* what selftests exit with that cannot run */

/* int add_one(int i) { return i + 1; } */
static const unsigned char add_one[] = {
	0x8d, 0x47, 0x01,		/*  0	lea	1(%rdi), %eax	*/
	0xc3,				/*  3	ret			*/
};

static const struct unwind_jit_row add_one_rows[] = {
	{ .offset = 0, .base = UNWIND_JIT_SP, .cfa = 8 },	/* just called */
};

/* int add_two(int i) { return add_one(add_one(i)); }, 16 bytes behind it */
static const unsigned char add_two[] = {
	0x53,				/*  0	push	%rbx		*/
	0xe8, 0xea, 0xff, 0xff, 0xff,	/*  1	call	add_one		*/
	0x89, 0xc7,			/*  6	mov	%eax, %edi	*/
	0xe8, 0xe3, 0xff, 0xff, 0xff,	/*  8	call	add_one		*/
	0x5b,				/* 13	pop	%rbx		*/
	0xc3,				/* 14	ret			*/
};

static const struct unwind_jit_row add_two_rows[] = {
	{ .offset = 0, .base = UNWIND_JIT_SP, .cfa = 8 },	/* just called */
	{ .offset = 1, .base = UNWIND_JIT_SP, .cfa = 16 },	/* rbx is pushed */
	{ .offset = 14, .base = UNWIND_JIT_SP, .cfa = 8 },	/* and popped */
};

/* What is compiled, in ascending order of addresses: code, size, place in the page, and rows. */
const struct function functions[] = {
	{ add_one, sizeof(add_one), 0, add_one_rows, 1 },
	{ add_two, sizeof(add_two), 16, add_two_rows, 3 },
};

static void must(int good, const char *what)
{
	if (!good) {
		printf("failed: %s (last error: %s)\n", what, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

/* Write a function to its place. Say 1 if unwind_jit_publish() has to tell the kernel of it. */
int compile(struct unwind_jit *region, unsigned char *code, const struct function *function)
{
	unsigned char *start = code + function->place;

	/* A page is not to be written and executed at once. It may run all the time. */
	must(!mprotect(code, getpagesize(), PROT_READ | PROT_WRITE), "mprotect");
	memcpy(start, function->code, function->size);
	must(!mprotect(code, getpagesize(), PROT_READ | PROT_EXEC), "mprotect");

	return unwind_jit_add(region, start, function->size, function->rows, function->nr_rows);
}

static void print_tables(const char *when)
{
	FILE *file = fopen("/proc/self/unwind_tables", "r");
	char line[256];

	printf("%s:\n", when);
	while (file && fgets(line, sizeof(line), file))
		printf("  %s", line);
	if (file)
		fclose(file);
}

int main(void)
{
	size_t page = getpagesize();
	struct unwind_jit *region;
	unsigned char *code;
	int (*function)(int i);

	code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(code != MAP_FAILED, "mmap");

	/* A compiler would just go on: all calls do nothing then. */
	region = unwind_jit_open(code, page, 0);
	if (!region) {
		must(errno == ENOTSUP, "open");
		printf("skipped: the kernel has no unwind tables\n");
		return EXIT_SKIP;
	}

	/* The first function, and any that is not in order, the kernel has to be told of. */
	must(compile(region, code, &functions[0]) == 1, "add the first one");
	must(!unwind_jit_publish(region), "publish");
	print_tables("the first function");

	/* The next one goes into the same table. */
	must(!compile(region, code, &functions[1]), "append the second one");
	print_tables("both functions");

	/* Profilers can follow this one through both functions. */
	function = (void *)(code + functions[1].place);
	must(function(40) == 42, "add two");

	/* Other code at the same place: first forget what was there. */
	must(unwind_jit_remove(region, code, page) == 1, "remove");
	must(!unwind_jit_publish(region), "publish");
	must(compile(region, code, &functions[0]) >= 0, "add the first one again");
	must(!unwind_jit_publish(region), "publish");
	function = (void *)(code + functions[0].place);
	must(function(41) == 42, "add one");

	unwind_jit_close(region);
	print_tables("closed");
	must(!munmap(code, page), "munmap");

	return EXIT_SUCCESS;
}
