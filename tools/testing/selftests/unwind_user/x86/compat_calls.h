/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32-bit code and system calls in 64-bit programs.
 */
#ifndef COMPAT_CALLS_H
#define COMPAT_CALLS_H

/**
 * touch_in_32_bits() - Run code of 32 bits, which touches a page.
 * @code: the code
 * @stack: its stack, with two words for the way back
 *
 * All that it uses is below 4 GiB.
 */
void touch_in_32_bits(unsigned int code, unsigned int stack);

/**
 * int80() - Make a system call as programs of 32 bits do.
 * @number: the number that it has there
 * @a: its first argument
 * @b: its second argument
 * @c: its third argument
 * @d: its fourth argument
 * @e: its fifth argument
 *
 * Return: its result
 */
int int80(int number, int a, int b, int c, int d, int e);

#endif /* COMPAT_CALLS_H */
