/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that are known to the byte.
 *
 * Each scenario is a function that calls others until one makes a system call.
 * A label stands where each of them returns to: that is what a sample must say.
 */
#include <asm/unistd.h>

#include "chain_macros.S"

	.text

/* The process starts here, and nobody called it. */
begin _start
	.cfi_undefined %rip
	xorl	%ebp, %ebp
	movq	%rsp, %rdi
	call	_start_c
label start_return
	hlt
end _start

/*
 * void chain_call(void (*chain)(int), int depth)
 *
 * What calls the scenarios. Their stacks end here, by table and by frame pointer: what
 * is below does not matter.
 */
begin chain_call
	.cfi_undefined %rip
	pushq	%rbp
	xorl	%ebp, %ebp
	movq	%rdi, %rax
	movl	%esi, %edi
	call	*%rax
label chain_call_return
	popq	%rbp
	ret
end chain_call

/* The same with a stack that goes on to the program's start. */
begin chain_call_on
	push_frame
	movq	%rdi, %rax
	movl	%esi, %edi
	call	*%rax
label chain_call_on_return
	pop_frame
	ret
end chain_call_on

/*
 * void chain_vdso(int times)
 *
 * What is on the stack below the vDSO.
 */
begin chain_vdso
#ifdef SFRAME
	push_reg %rbp
	.cfi_rel_offset %rbp, 0
	push_reg %rbx
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	$0x1238, %rbp
#else
	push_frame
	pushq	%rbx
	subq	$24, %rsp
#endif
	movl	%edi, %ebx
label chain_vdso_start
	movl	vdso_clock(%rip), %edi
	movq	%rsp, %rsi
	call	*vdso_clock_gettime(%rip)
label chain_vdso_return
	decl	%ebx
	jnz	chain_vdso_start
label chain_vdso_end
#ifdef SFRAME
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	pop_reg	%rbx
	pop_reg	%rbp
	.cfi_restore %rbp
#else
	addq	$24, %rsp
	popq	%rbx
	pop_frame
#endif
	ret
end chain_vdso

#ifdef SFRAME

/* The system call that is sampled; nothing is on the stack but its return address. */
begin leaf
	movl	$__NR_getppid, %eax
	syscall
label leaf_ip
	ret
end leaf

/* The same with a frame pointer that leads nowhere. */
begin leaf_bad_fp
	push_reg %rbp
	.cfi_rel_offset %rbp, 0
	movq	$0x1238, %rbp
	movl	$__NR_getppid, %eax
	syscall
label leaf_bad_fp_ip
	pop_reg	%rbp
	.cfi_restore %rbp
	ret
end leaf_bad_fp

/* Frames of three sizes, found by the stack pointer. */
begin sp_inner
	subq	$0x40, %rsp
	.cfi_adjust_cfa_offset 0x40
	call	leaf_bad_fp
label sp_inner_return
	addq	$0x40, %rsp
	.cfi_adjust_cfa_offset -0x40
	ret
end sp_inner

begin sp_middle
	subq	$0x12340, %rsp
	.cfi_adjust_cfa_offset 0x12340
	call	sp_inner
label sp_middle_return
	addq	$0x12340, %rsp
	.cfi_adjust_cfa_offset -0x12340
	ret
end sp_middle

begin chain_sp
	push_reg %rbx
	push_reg %r12
	push_reg %r13
	call	sp_middle
label chain_sp_return
	pop_reg	%r13
	pop_reg	%r12
	pop_reg	%rbx
	ret
end chain_sp

/*
 * A frame found by the frame pointer, with a stack pointer that no table
 * knows, below one that has used rbp for something else.
 */
begin fp_inner
	push_reg %rbp
	.cfi_rel_offset %rbp, 0
	movq	$-1, %rbp
	call	leaf
label fp_inner_return
	pop_reg	%rbp
	.cfi_restore %rbp
	ret
end fp_inner

begin chain_fp
	push_frame
	movq	%rsp, %rax
	andl	$0xff0, %eax
	addl	$0x100, %eax
	subq	%rax, %rsp
	andq	$-16, %rsp
	call	fp_inner
label chain_fp_return
	movq	%rbp, %rsp
	pop_frame
	ret
end chain_fp

/*
 * A call that never returns, at its function's end: the return address is the
 * next function's, whose frame is of another size.
 */
begin never_returns
	movl	$__NR_getppid, %eax
	syscall
label never_returns_ip
	jmp	*chain_noreturn_resume(%rip)
end never_returns

begin noreturn_inner
	subq	$0x88, %rsp
	.cfi_adjust_cfa_offset 0x88
	call	never_returns
end noreturn_inner

begin after_noreturn
label noreturn_inner_return
	push_reg %rbx
	call	leaf
	pop_reg	%rbx
	ret
end after_noreturn

begin chain_noreturn
	push_frame
	leaq	1f(%rip), %rax
	movq	%rax, chain_noreturn_resume(%rip)
	call	noreturn_inner
label chain_noreturn_return
	ud2
1:	movq	%rbp, %rsp
	pop_frame
	ret
end chain_noreturn

/* As many frames as %edi says, of which all but the last are the same. */
begin chain_deep
	push_reg %rbx
	.cfi_rel_offset %rbx, 0
	decl	%edi
	jz	1f
	call	chain_deep
label chain_deep_return
	pop_reg	%rbx
	ret
	.cfi_adjust_cfa_offset 8
1:	call	leaf
label chain_deep_last_return
	pop_reg	%rbx
	ret
end chain_deep

#else /* !SFRAME */

begin leaf
	push_frame
	movl	$__NR_getppid, %eax
	syscall
label leaf_ip
	pop_frame
	ret
end leaf

begin frame_inner
	push_frame
	subq	$0x120, %rsp
	call	leaf
label frame_inner_return
	movq	%rbp, %rsp
	pop_frame
	ret
end frame_inner

begin chain_frames
	push_frame
	call	frame_inner
label chain_frames_return
	pop_frame
	ret
end chain_frames

/* As Go's runtime does: on another stack, with the frame pointer of this one. */
begin chain_switch
	push_frame
	movq	switch_to(%rip), %rsp
	call	frame_inner
label switch_return
	movq	%rbp, %rsp
	pop_frame
	ret
end chain_switch

/* Of three stacks. */
begin chain_switch_twice
	push_frame
	movq	switch_to + 8(%rip), %rsp
	call	chain_switch
label switch_twice_return
	movq	%rbp, %rsp
	pop_frame
	ret
end chain_switch_twice

/* A function that has no frame calls nobody. */
begin frameless
	movl	$__NR_getppid, %eax
	syscall
label frameless_ip
	ret
end frameless

begin chain_leaf
	push_frame
	call	frameless
label chain_leaf_return
	pop_frame
	ret
end chain_leaf

begin chain_deep
	push_frame
	decl	%edi
	jz	1f
	call	chain_deep
label chain_deep_return
	pop_frame
	ret
	.cfi_def_cfa %rbp, 16
	.cfi_rel_offset %rbp, 0
1:	call	leaf
label chain_deep_last_return
	pop_frame
	ret
end chain_deep

#endif /* !SFRAME */

	.bss
	.balign	8
label vdso_clock_gettime
	.quad	0
label vdso_clock
	.quad	0
#ifndef SFRAME
label switch_to
	.quad	0, 0
#endif
chain_noreturn_resume:
	.quad	0

	.section .note.GNU-stack, "", @progbits
