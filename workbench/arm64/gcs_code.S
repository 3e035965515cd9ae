/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions as compilers for arm64 write them in other languages, or not at all: for gcs.c. Each
 * calls its first argument with its second.
 */

	.macro function name
	.text
	.balign	4
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* The return address alone is stored. */
	function code_only_lr
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	mov	x2, x0
	mov	x0, x1
	blr	x2
	ldr	x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore 30
	ret
	end	code_only_lr

/* It is not beside the frame pointer, which is not that of a frame record. */
	function code_apart
	sub	sp, sp, #64
	.cfi_def_cfa_offset 64
	str	x29, [sp, #8]
	.cfi_offset 29, -56
	str	x30, [sp, #40]
	.cfi_offset 30, -24
	mov	x29, x1
	mov	x2, x0
	mov	x0, x1
	blr	x2
	ldr	x30, [sp, #40]
	.cfi_restore 30
	ldr	x29, [sp, #8]
	.cfi_restore 29
	add	sp, sp, #64
	.cfi_def_cfa_offset 0
	ret
	end	code_apart

/* The frame record is at the frame's top, and the stack pointer moves: LLVM. */
	function code_high_record
	paciasp
	.cfi_negate_ra_state
	sub	sp, sp, #96
	.cfi_def_cfa_offset 96
	stp	x29, x30, [sp, #80]
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	add	x29, sp, #80
	.cfi_def_cfa 29, 16
	sub	sp, sp, #32
	mov	x2, x0
	mov	x0, x1
	blr	x2
	add	sp, sp, #32
	ldp	x29, x30, [sp, #80]
	.cfi_def_cfa 31, 96
	.cfi_restore 29
	.cfi_restore 30
	add	sp, sp, #96
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_negate_ra_state
	ret
	end	code_high_record

/* The return address is in another register: libc has such code. This calls nothing. */
	function code_in_x9
	mov	x9, x30
	.cfi_register 30, 9
	mov	x30, xzr
	add	x0, x0, #1
	mov	x30, x9
	.cfi_restore 30
	ret
	end	code_in_x9

	.section .note.GNU-stack, "", %progbits
