/* SPDX-License-Identifier: GPL-2.0 */
#include "chain_macros.S"

#ifdef __x86_64__
.macro push_pair
	pushq	%rbp
.endm
.macro pop_pair
	popq	%rbp
.endm
#else
.macro push_pair
	stp	x29, x30, [sp, #-16]!
.endm
.macro pop_pair
	ldp	x29, x30, [sp], #16
.endm
#endif

/*
 * long known_syscall(long number, long a, long b, long c)
 *
 * A system call with a stack of three frames, linked by frame pointers. The
 * caller is not seen: the outer frame has no frame pointer, and its table, if it
 * is used, no return address.
 */
begin_bare known_syscall
	.cfi_startproc
	.cfi_undefined RETURN_COLUMN
	push_pair
	set_fp	0
	call	1f
label known_outer_return
	pop_pair
	ret
	.cfi_endproc
1:	push_pair
	fp_from_sp
	call	2f
label known_inner_return
	pop_pair
	ret
2:	push_pair
	fp_from_sp
	given_syscall
label known_ip
	nop
label known_behind
	pop_pair
	ret
end_bare known_syscall

/*
 * void probed_exit(void *sp, void *bp)
 *
 * The probed instruction has another stack; then the program ends.
 */
begin_bare probed_exit
	stack_given
label probed_exit_at
	nop
label thread_end
	/* What a thread without a stack returns to. */
	exit_group
label other_probe_at
	trap
end_bare probed_exit

/*
 * void last_syscall(long number, long a, long b, char *area)
 *
 * A system call that does not return. The frame pointer is that of the second of two
 * pages.
 */
begin_bare last_syscall
#ifdef __x86_64__
	movq	%rcx, %rsp
	leaq	4096(%rcx), %rbp
	xorl	%ecx, %ecx
#else
	mov	sp, x3
	add	x29, x3, #0x10, lsl #12
	mov	x3, #0
#endif
	given_syscall
	trap
end_bare last_syscall
