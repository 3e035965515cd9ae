/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of this architecture: aligned ones, code without a table, and signals in other frames.
 */
#include "chain_macros.S"

/* --- Stacks that are aligned, with the CFA in a register --- */

/*
 * What gcc makes for a function with variables of 64 bytes' alignment and
 * arguments: the CFA is in r10 first, then on the stack, where rbp points to.
 */
.macro align_stack
	leaq	8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	andq	$-64, %rsp
	pushq	-8(%r10)
	pushq	%rbp
	movq	%rsp, %rbp
	/* DW_CFA_expression rbp: DW_OP_breg6 0 */
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00
	pushq	%r10
	/* DW_CFA_def_cfa_expression: DW_OP_breg6 -8, DW_OP_deref */
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
	subq	$0x78, %rsp
.endm

.macro restore_stack
	addq	$0x78, %rsp
	popq	%r10
	.cfi_def_cfa %r10, 0
	popq	%rbp
	.cfi_restore %rbp
	leaq	-8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
.endm

/* In the middle of a stack. */
begin chain_aligned
	align_stack
	movq	$-1, %rax
	call	leaf_bad_fp
label chain_aligned_return
	restore_stack
	ret
end chain_aligned

/* Assembly that nobody has described, with a frame pointer. */
begin_bare undescribed
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	call	leaf
label undescribed_return
	leave
	ret
end_bare undescribed

caller chain_undescribed, push_frame, pop_frame, undescribed

/* --- Assembly that nobody has described, without a frame pointer --- */

/* As _init and _fini: called through a register, with padding. */
begin_bare asm_init
	subq	$0x8, %rsp
	getppid
label asm_init_ip
	addq	$0x8, %rsp
	ret
end_bare asm_init

/* As an entry of a PLT, and the one that it jumps to: they have pushed two words. */
begin_bare asm_plt
	pushq	$0x12
	jmp	1f
1:	pushq	stale_data(%rip)
	getppid
label asm_plt_ip
	addq	$0x10, %rsp
	ret
end_bare asm_plt

caller chain_asm_plt, push_kept, pop_kept, asm_plt

/* A thunk has nothing on the stack, and jumps on. */
begin_bare asm_thunk
	getppid
label asm_thunk_ip
	jmp	1f
1:	ret
end_bare asm_thunk

caller chain_asm_thunk, push_kept, pop_kept, asm_thunk

/*
 * Its words on the stack look like return addresses: behind calls, but not where compilers put
 * them; or there, but not behind a call; or behind a call and there, but in no table's function.
 */
begin_bare asm_stale
	pushq	%rbp
	subq	$0x50, %rsp
	movq	$-1, %rbp
	leaq	chain_asm_stale_return(%rip), %rax
	movq	%rax, 0x00(%rsp)
	movq	%rax, 0x20(%rsp)
	leaq	chain_tail(%rip), %rax
	movq	%rax, 0x08(%rsp)
	leaq	stale_data(%rip), %rax
	movq	%rax, 0x10(%rsp)
	movq	%rax, 0x18(%rsp)
	leaq	asm_other_return(%rip), %rax
	movq	%rax, 0x28(%rsp)
	movq	$1, 0x30(%rsp)
	movq	%rsp, 0x38(%rsp)
	movq	$-1, 0x40(%rsp)
	movq	$0, 0x48(%rsp)
	getppid
label asm_stale_ip
	addq	$0x50, %rsp
	popq	%rbp
	ret
end_bare asm_stale

caller chain_asm_stale, push_kept, pop_kept, asm_stale

/* Is never called: the call leads behind asm_stale. */
begin_bare asm_other
	call	asm_called
asm_other_return:
	ret
end_bare asm_other

/* Assembly calls assembly, with a stack that no compiler makes. The caller keeps a frame, */
begin_bare asm_caller
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x8, %rsp
	call	asm_called
label asm_caller_return
	leave
	ret
end_bare asm_caller

/* or none. */
begin_bare asm_bare_caller
	pushq	%rbp
	subq	$0x28, %rsp
	movq	$0x1238, %rbp
	call	asm_called
label asm_bare_caller_return
	addq	$0x28, %rsp
	popq	%rbp
	ret
end_bare asm_bare_caller

begin_bare asm_called
	pushq	%rbx
	subq	$0x10, %rsp
	leaq	chain_tail_return(%rip), %rax
	movq	%rax, 0x08(%rsp)
	movq	$0, 0x00(%rsp)
	getppid
label asm_called_ip
	addq	$0x10, %rsp
	popq	%rbx
	ret
end_bare asm_called

caller chain_asm_called, push_kept, pop_kept, asm_caller
caller chain_asm_bare_called, push_kept, pop_kept, asm_bare_caller

/* A frame pointer that is one, above more words than are looked at. */
begin_bare asm_behind
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x200, %rsp
	leaq	chain_tail_return(%rip), %rax
	movq	%rax, 0x08(%rsp)
	getppid
label asm_behind_ip
	leave
	ret
end_bare asm_behind

caller chain_asm_behind, push_kept, pop_kept, asm_behind

/* The return address is the first word that is not looked at, and rbp leads nowhere. */
begin_bare asm_far
	pushq	%rbp
	subq	$0xf8, %rsp
	movq	%rsp, %rdi
	movl	$0xf8 / 8, %ecx
	xorl	%eax, %eax
	rep stosq
	movq	$0x1238, %rbp
	getppid
label asm_far_ip
	addq	$0xf8, %rsp
	popq	%rbp
	ret
end_bare asm_far

caller chain_asm_far, push_kept, pop_kept, asm_far

/* A signal interrupts such a function, in which rbp happens to be 0. */
begin_bare asm_far_signal
	pushq	%rbp
	subq	$0xf8, %rsp
	movq	%rsp, %rdi
	movl	$0xf8 / 8, %ecx
	xorl	%eax, %eax
	rep stosq
	xorl	%ebp, %ebp
label asm_far_fault
	trap
	addq	$0xf8, %rsp
	popq	%rbp
	ret
end_bare asm_far_signal

caller chain_asm_far_signal, push_kept, pop_kept, asm_far_signal

	.data
stale_data:
	.quad	0
	.text

/* --- Signals --- */

	.balign	16
	nop
label restorer_short
	movl	$__NR_rt_sigreturn, %eax
	syscall
	hlt
	known_code restorer_short

/*
 * Another one, described as glibc's is: with the mark, from the byte before it
 * on, and by expressions that SFrame cannot say. So it has no rows.
 */
begin restorer_marked_fde
	.cfi_signal_frame
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 160, DW_OP_deref */
	.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06
	nop
label restorer_marked
	pushq	$__NR_rt_sigreturn
	popq	%rax
	syscall
	hlt
end restorer_marked_fde

/* Interrupted while the CFA is in r10, which only the signal's frame has. */
begin chain_signal_r10
	leaq	8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	andq	$-64, %rsp
	subq	$0x80, %rsp
label chain_signal_r10_fault
	ud2
	leaq	-8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
	ret
end chain_signal_r10
