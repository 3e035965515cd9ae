/* SPDX-License-Identifier: GPL-2.0 */
/* A function whose CFI restores a state that was never remembered. */
	.text
	.globl	bad
	.type	bad, @function
bad:
	.cfi_startproc
	.cfi_escape 0x0b
	mov	%rdi, %rcx
1:	dec	%rcx
	jnz	1b
	ret
	.cfi_endproc
	.size	bad, .-bad
	.section .note.GNU-stack, "", @progbits
