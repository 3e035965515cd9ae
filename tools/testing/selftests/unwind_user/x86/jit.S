/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of which it is known where they begin and end, and what they call.
 */
	.text
	.type	jit_run, @function
	.globl	jit_run
jit_run:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	push	%r12
	.cfi_def_cfa_offset 24
	.cfi_offset %r12, -24
	sub	$8, %rsp
	.cfi_def_cfa_offset 32
	mov	%rdi, %r12
	mov	16(%r12), %ebx
1:	mov	%r12, %rdi
	call	*(%r12)
	.globl	jit_run_back
jit_run_back:
	dec	%ebx
	jnz	1b
	add	$8, %rsp
	.cfi_def_cfa_offset 24
	pop	%r12
	.cfi_def_cfa_offset 16
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	jit_run, . - jit_run
	.globl	jit_run_end
jit_run_end:
	.type	jit_callback, @function
	.globl	jit_callback
jit_callback:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov	%rdi, %rbx
	call	jit_work
	.globl	jit_callback_work
jit_callback_work:
	mov	%rbx, %rdi
	call	*8(%rbx)
	.globl	jit_callback_back
jit_callback_back:
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	jit_callback, . - jit_callback
	.globl	jit_callback_end
jit_callback_end:
	.type	jit_leaf, @function
	.globl	jit_leaf
jit_leaf:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	call	jit_work
	.globl	jit_leaf_work
jit_leaf_work:
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	jit_leaf, . - jit_leaf
	.globl	jit_leaf_end
jit_leaf_end:

	.section .note.GNU-stack, "", @progbits
