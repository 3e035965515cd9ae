/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32-bit code and system calls in 64-bit programs.
 */
#ifndef COMPAT_CALLS_H
#define COMPAT_CALLS_H

/* Run code of 32 bits. All it uses is below 4 GiB. @stack: two words for the way back. */
void touch_in_32_bits(unsigned int code, unsigned int stack);

/* Make a system call as programs of 32 bits do, by the number that it has there. */
int int80(int number, int a, int b, int c, int d, int e);

#endif /* COMPAT_CALLS_H */
