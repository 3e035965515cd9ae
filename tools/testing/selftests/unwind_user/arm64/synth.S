/* SPDX-License-Identifier: GPL-2.0 */
#include <asm/unistd.h>

/*
 * void synth_enter(struct synth_frame *frame)
 *
 * Load the stack and the registers of a synthetic stack, and jump to its first
 * function. That makes the system call, and knows the way back by x28.
 */
	.text
	.globl	synth_enter
	.type	synth_enter, @function
synth_enter:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x28, x0
	adr	x9, 1f
	mov	x10, sp
	stp	x9, x10, [x28]
	ldp	x17, x9, [x28, #16]
	mov	sp, x9
	ldp	x29, x30, [x28, #32]
	ldp	x19, x20, [x28, #48]
	ldp	x21, x22, [x28, #64]
	ldp	x10, x1, [x28, #80]
	ldp	x2, x3, [x28, #96]
	ldp	x4, x5, [x28, #112]
	mov	x8, #__NR_getppid
	br	x17
1:	ldr	x9, [x28, #8]
	mov	sp, x9
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret
	.size	synth_enter, . - synth_enter

	.section .note.GNU-stack, "", @progbits
