/* SPDX-License-Identifier: GPL-2.0 */
/* Call x0 with the stack pointer x1, after the tag x2 is added to the frame pointer: for tags.c. */
	.text
	.globl	on_stack
	.type	on_stack, %function
on_stack:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	orr	x29, x29, x2
	.cfi_def_cfa 29, 16
	mov	sp, x1
	blr	x0
	mov	x0, x29
	and	x0, x0, #0xffffffffffffff
	mov	sp, x0
	.cfi_def_cfa 31, 16
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore 29
	.cfi_restore 30
	ret
	.cfi_endproc
	.size	on_stack, . - on_stack

	.section .note.GNU-stack, "", %progbits
