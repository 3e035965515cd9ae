// SPDX-License-Identifier: GPL-2.0
/*
 * A program without a C library. The compiler gives _start the rule of a function that was
 * called: it takes the number of arguments for a return address.
 */
#include "leaf.h"

#include <sys/syscall.h>

MID(mid)

static NOINLINE int work(void)
{
	volatile long sum = 0;

	while (go_on())
		sum += mid(2000);
	return sum == 42;
}

__attribute__((used)) static NOINLINE void first(void)
{
	int result = work();

	asm volatile ("syscall" : : "a" (SYS_exit), "D" (result) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__attribute__((naked)) void _start(void)
{
	asm ("xor %ebp, %ebp\n\tand $-16, %rsp\n\tcall first\n\thlt");
}
