/* SPDX-License-Identifier: GPL-2.0 */
/* Functions with CFI of kinds that assembly has. Each calls its first argument. */
	.text

	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm

/* An argument is on the stack, which the callee removes. */
	function pops_args
	.cfi_startproc
	push	%rsi
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %rax
	mov	%rsi, %rdi
	call	*%rax
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc

/* rbp is saved in another register. */
	function rbp_in_r12
	.cfi_startproc
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	mov	%rbp, %r12
	.cfi_register %rbp, %r12
	mov	%rdi, %rax
	mov	%rsi, %rdi
	xor	%ebp, %ebp
	call	*%rax
	mov	%r12, %rbp
	.cfi_restore %rbp
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	ret
	.cfi_endproc

/* The CFA is in a register that functions preserve. */
	function cfa_in_r13
	.cfi_startproc
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	lea	16(%rsp), %r13
	.cfi_def_cfa %r13, 0
	mov	%rdi, %rax
	mov	%rsi, %rdi
	and	$-64, %rsp
	sub	$64, %rsp
	call	*%rax
	lea	-16(%r13), %rsp
	.cfi_def_cfa %rsp, 16
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	ret
	.cfi_endproc

/* As in OpenSSL: a word of the stack holds the CFA - 16, that is *(rsp + 64) + 16. */
	function cfa_saved
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov	%rsp, %rax
	.cfi_def_cfa_register %rax
	sub	$136, %rsp
	and	$-64, %rsp
	mov	%rax, 64(%rsp)
	.cfi_escape 0x0f, 6, 0x77, 0xc0, 0x00, 0x06, 0x23, 16
	mov	%rdi, %rax
	mov	%rsi, %rdi
	call	*%rax
	mov	64(%rsp), %rsp
	.cfi_def_cfa %rsp, 16
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc

/* The same by DW_OP_const1u and DW_OP_plus, with a DW_OP_nop at the end. */
	function cfa_saved_plus
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov	%rsp, %rax
	sub	$128, %rsp
	.cfi_adjust_cfa_offset 128
	mov	%rax, 64(%rsp)
	.cfi_escape 0x0f, 8, 0x77, 0xc0, 0x00, 0x06, 0x08, 16, 0x22, 0x96
	mov	%rdi, %rax
	mov	%rsi, %rdi
	call	*%rax
	add	$128, %rsp
	.cfi_def_cfa %rsp, 16
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc

/* More remembered states than compilers write, and as many as the kernel supports. */
	function deep_states
	.cfi_startproc
	.rept 4
	.cfi_remember_state
	.endr
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov	%rdi, %rax
	mov	%rsi, %rdi
	call	*%rax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_restore_state
	.cfi_restore_state
	.cfi_endproc

/*
 * Wrong CFI, as in coreclr: an early return has no .cfi_restore_state behind it. The return address
 * then seems to be one word below where it is, in a word that is no address of code.
 */
	function too_small
	.cfi_startproc
	push	$2
	.cfi_adjust_cfa_offset 8
	test	%rsi, %rsi
	jns	1f
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
1:	mov	%rdi, %rax
	mov	%rsi, %rdi
	call	*%rax
	add	$8, %rsp
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
