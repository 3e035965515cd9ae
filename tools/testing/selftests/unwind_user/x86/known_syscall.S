/* SPDX-License-Identifier: GPL-2.0 */
/*
 * long known_syscall(long number, long a, long b, long c)
 *
 * A system call with a stack of three frames, linked by frame pointers. The
 * caller is not seen: the outer frame has no frame pointer, and its table, if it
 * is used, no return address.
 */
#include <asm/unistd.h>

	.text
	.type	known_syscall, @function
	.globl	known_syscall
known_syscall:
	.cfi_startproc
	.cfi_undefined %rip
	pushq	%rbp
	xorl	%ebp, %ebp
	call	1f
	.globl	known_outer_return
known_outer_return:
	popq	%rbp
	ret
	.cfi_endproc
1:	pushq	%rbp
	movq	%rsp, %rbp
	call	2f
	.globl	known_inner_return
known_inner_return:
	popq	%rbp
	ret
2:	pushq	%rbp
	movq	%rsp, %rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	syscall
	.globl	known_ip
known_ip:
	nop
	.globl	known_behind
known_behind:
	popq	%rbp
	ret
	.size	known_syscall, . - known_syscall

/*
 * void probed_exit(void *sp, void *bp)
 *
 * The probed instruction has another stack; then the program ends.
 */
	.type	probed_exit, @function
	.globl	probed_exit
probed_exit:
	movq	%rdi, %rsp
	movq	%rsi, %rbp
	.globl	probed_exit_at
probed_exit_at:
	nop
	xorl	%edi, %edi
	movl	$__NR_exit_group, %eax
	syscall
	.globl	other_probe_at
other_probe_at:
	ud2
	.size	probed_exit, . - probed_exit

/*
 * void last_syscall(long number, long a, long b, char *area)
 *
 * A system call that does not return. The frame pointer is that of the second of two
 * pages.
 */
	.globl	last_syscall
	.type	last_syscall, @function
last_syscall:
	movq	%rcx, %rsp
	leaq	4096(%rcx), %rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	xorl	%edx, %edx
	syscall
	ud2
	.size	last_syscall, . - last_syscall

/* What a thread without a stack returns to. It ends the program. */
	.globl	thread_end
	.type	thread_end, @function
thread_end:
	xorl	%edi, %edi
	movl	$__NR_exit_group, %eax
	syscall
	ud2
	.size	thread_end, . - thread_end

	.section .note.GNU-stack, "", @progbits
