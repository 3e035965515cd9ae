/* SPDX-License-Identifier: GPL-2.0 */
#include <asm/unistd.h>

/*
 * void synth_enter(struct synth_frame *frame)
 *
 * Load the stack and the registers of a synthetic stack, and jump to its first
 * function. That makes the system call, and knows the way back by r15.
 */
	.text
	.globl	synth_enter
	.type	synth_enter, @function
synth_enter:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, %r15
	lea	1f(%rip), %rax
	mov	%rax, (%r15)
	mov	%rsp, 8(%r15)
	mov	16(%r15), %rcx
	mov	24(%r15), %rsp
	mov	32(%r15), %rbp
	mov	40(%r15), %rbx
	mov	48(%r15), %rdx
	mov	56(%r15), %rsi
	mov	64(%r15), %rdi
	mov	72(%r15), %r8
	mov	80(%r15), %r9
	mov	88(%r15), %r10
	mov	96(%r15), %r12
	mov	104(%r15), %r13
	mov	112(%r15), %r14
	mov	$__NR_getppid, %eax
	jmp	*%rcx
1:	mov	8(%r15), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.size	synth_enter, . - synth_enter

	.section .note.GNU-stack, "", @progbits
