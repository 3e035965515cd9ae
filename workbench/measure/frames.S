/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions whose stacks are measured: as those of the same names in the
 * selftests' chain.S, but without the others. So the program has about ten.
 */
#include <asm/unistd.h>

#include "chain_macros.S"

	.text

begin _start
	.cfi_undefined %rip
	xorl	%ebp, %ebp
	movq	%rsp, %rdi
	call	_start_c
	hlt
end _start

begin chain_call
	push_frame
	movq	%rdi, %rax
	movl	%esi, %edi
	call	*%rax
	pop_frame
	ret
end chain_call

#ifdef SFRAME

begin leaf
	movl	$__NR_getppid, %eax
	syscall
	ret
end leaf

begin chain_deep
	push_reg %rbx
	.cfi_rel_offset %rbx, 0
	decl	%edi
	jz	1f
	call	chain_deep
	pop_reg	%rbx
	ret
	.cfi_adjust_cfa_offset 8
1:	call	leaf
	pop_reg	%rbx
	ret
end chain_deep

#else /* !SFRAME */

begin leaf
	push_frame
	movl	$__NR_getppid, %eax
	syscall
	pop_frame
	ret
end leaf

begin chain_deep
	push_frame
	decl	%edi
	jz	1f
	call	chain_deep
	pop_frame
	ret
	.cfi_def_cfa %rbp, 16
	.cfi_rel_offset %rbp, 0
1:	call	leaf
	pop_frame
	ret
end chain_deep

#endif /* SFRAME */

	.section .note.GNU-stack, "", @progbits
