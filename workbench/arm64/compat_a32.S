/* SPDX-License-Identifier: GPL-2.0 */
/* A program of 32 bits: a function that makes system calls and computes, for compat.c. */
	.syntax	unified
	.text
	.globl	_start
_start:
	movw	r4, #1000
1:	bl	work
	subs	r4, r4, #1
	bne	1b
	mov	r0, #0
	mov	r7, #1		@ exit
	svc	#0

work:
	push	{r11, lr}
	mov	r11, sp
	mov	r7, #64		@ getppid
	svc	#0
	movw	r5, #20000
2:	subs	r5, r5, #1
	bne	2b
	pop	{r11, pc}
