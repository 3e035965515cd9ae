// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that switch to a stack above or below their own, as for split stacks and for
 * languages with stacks of their own. Their CFA is in rbp or in rbx, and on the other stack.
 */
#include <sys/mman.h>

#include "leaf.h"

#define SIZE 65536

void switch_rbp(void *top, void (*run)(void));
void switch_rbx(void *top, void (*run)(void));

#define SWITCH(by)							\
	asm(".text\n"							\
	    ".globl switch_" by "\n"					\
	    ".type switch_" by ", @function\n"				\
	    "switch_" by ":\n"						\
	    ".cfi_startproc\n"						\
	    "push %" by "\n"						\
	    ".cfi_def_cfa_offset 16\n"					\
	    ".cfi_offset %" by ", -16\n"				\
	    "mov %rsp, %" by "\n"					\
	    ".cfi_def_cfa_register %" by "\n"				\
	    "mov %rdi, %rsp\n"						\
	    "call *%rsi\n"						\
	    "mov %" by ", %rsp\n"					\
	    ".cfi_def_cfa_register %rsp\n"				\
	    "pop %" by "\n"						\
	    ".cfi_def_cfa_offset 8\n"					\
	    "ret\n"							\
	    ".cfi_endproc\n"						\
	    ".size switch_" by ", .-switch_" by "\n")

SWITCH("rbp");
SWITCH("rbx");

MID(mid)

static void (*change)(void *top, void (*run)(void));
static char *low, *high;

static void body(void)
{
	while (go_on())
		mid(2000);
}

static NOINLINE void nested(void)
{
	change(low + SIZE - 64, body);
	/* This keeps the call from being a jump. */
	asm volatile("");
}

int main(int argc, char **argv)
{
	char *all = mmap(NULL, 3 * SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argc;
	/* A gap keeps them apart. */
	mprotect(all + SIZE, SIZE, PROT_NONE);
	low = all;
	high = all + 2 * SIZE;
	change = strstr(argv[0], "rbx") ? switch_rbx : switch_rbp;
	if (strstr(argv[0], "above")) {
		char *other = low;

		/* First to the lower one, from there to the higher one. */
		low = high;
		change(other + SIZE - 64, nested);
	} else {
		change(low + SIZE - 64, body);
	}
	return 0;
}
