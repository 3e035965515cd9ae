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
	.cfi_undefined 30
	stp	x29, x30, [sp, #-16]!
	mov	x29, #0
	bl	1f
	.globl	known_outer_return
known_outer_return:
	ldp	x29, x30, [sp], #16
	ret
	.cfi_endproc
1:	stp	x29, x30, [sp, #-16]!
	mov	x29, sp
	bl	2f
	.globl	known_inner_return
known_inner_return:
	ldp	x29, x30, [sp], #16
	ret
2:	stp	x29, x30, [sp, #-16]!
	mov	x29, sp
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	svc	#0
	.globl	known_ip
known_ip:
	nop
	.globl	known_behind
known_behind:
	ldp	x29, x30, [sp], #16
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
	mov	sp, x0
	mov	x29, x1
	.globl	probed_exit_at
probed_exit_at:
	nop
	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0
	.globl	other_probe_at
other_probe_at:
	udf	#0
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
	mov	sp, x3
	add	x29, x3, #0x10, lsl #12
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, #0
	svc	#0
	udf	#0
	.size	last_syscall, . - last_syscall

/* What a thread without a stack returns to. It ends the program. */
	.globl	thread_end
	.type	thread_end, @function
thread_end:
	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0
	udf	#0
	.size	thread_end, . - thread_end

	.section .note.GNU-stack, "", @progbits
