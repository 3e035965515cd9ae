/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames that are all of different functions, with what chain.S of the selftests has.
 */
#include "chain_macros.S"

	.text

/* A function that calls the next one of these, or the leaf. */
.macro chain_site
9:	.cfi_startproc
	push_reg %rbx
	.cfi_rel_offset %rbx, 0
	decl	%edi
	jz	1f
	call	9f
	pop_reg	%rbx
	ret
	.cfi_adjust_cfa_offset 8
1:	call	leaf
	pop_reg	%rbx
	ret
	.cfi_endproc
.endm

/* As many frames as %edi says, at most 128, each of another function. */
begin chain_sites
	jmp	9f
end chain_sites
	.rept	128
	chain_site
	.endr
9:	ud2

	.section .note.GNU-stack, "", @progbits
