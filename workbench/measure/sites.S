/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of different functions, with the macros of the selftests' chain.S.
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

/* %edi is the number of frames, at most 128, each of another function. */
begin chain_sites
	jmp	9f
end chain_sites
	.rept	128
	chain_site
	.endr
9:	ud2
