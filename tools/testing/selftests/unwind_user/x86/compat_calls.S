/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32-bit code and system calls in 64-bit programs.
 */

/*
 * void touch_in_32_bits(unsigned int code, unsigned int stack)
 *
 * The stack has room for where to return to, and for the stack pointer.
 */
	.text
	.globl	touch_in_32_bits
	.type	touch_in_32_bits, @function
touch_in_32_bits:
	push	%rbp
	push	%rbx
	mov	%rsp, %rbx
	mov	%rbx, 8(%rsi)
	lea	1f(%rip), %rax
	mov	%rax, (%rsi)
	mov	%esi, %esp
	xor	%ebp, %ebp
	pushq	$0x23
	mov	%edi, %eax
	push	%rax
	lretq
1:	mov	8(%rsi), %rsp
	pop	%rbx
	pop	%rbp
	ret
	.size	touch_in_32_bits, . - touch_in_32_bits

/*
 * int int80(int number, int a, int b, int c, int d, int e)
 *
 * A system call as programs of 32 bits make it.
 */
	.globl	int80
	.type	int80, @function
int80:
	push	%rbx
	mov	%edi, %eax
	mov	%esi, %ebx
	mov	%r8d, %esi
	mov	%r9d, %edi
	xchg	%ecx, %edx
	int	$0x80
	pop	%rbx
	ret
	.size	int80, . - int80

	.section .note.GNU-stack, "", @progbits
