/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More stacks that are known to the byte: all that a rule may say, signal
 * frames, and stacks that are left for another. Linked with chain.S.
 */
#include <asm/unistd.h>

#include "chain_macros.S"

	.text

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

/* The frame of what calls this is gone. */
begin tail_inner
	subq	$0x58, %rsp
	.cfi_adjust_cfa_offset 0x58
	addq	$0x58, %rsp
	.cfi_adjust_cfa_offset -0x58
	jmp	leaf_bad_fp
end tail_inner

begin chain_tail
	push_reg %rbx
	call	tail_inner
label chain_tail_return
	pop_reg	%rbx
	ret
end chain_tail

/* Assembly that nobody has described, with a frame pointer. */
	.globl	undescribed
	.type	undescribed, @function
undescribed:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	call	leaf
label undescribed_return
	leave
	ret
	.size	undescribed, . - undescribed

begin chain_undescribed
	push_frame
	call	undescribed
label chain_undescribed_return
	pop_frame
	ret
end chain_undescribed

/* --- Assembly that nobody has described, without a frame pointer --- */

/* From a label on, a function without a table. */
.macro begin_bare name
	.globl	\name
	.type	\name, @function
\name:
.endm

.macro end_bare name
	.size	\name, . - \name
.endm

/* Called through a register, and nothing but its return address is on the stack. */
begin_bare asm_alone
	movl	$__NR_getppid, %eax
	syscall
label asm_alone_ip
	ret
end_bare asm_alone

/* As _init and _fini: called through a register, with padding. */
begin_bare asm_init
	subq	$0x8, %rsp
	movl	$__NR_getppid, %eax
	syscall
label asm_init_ip
	addq	$0x8, %rsp
	ret
end_bare asm_init

/* As an entry of a PLT, and the one that it jumps to: they have pushed two words. */
begin_bare asm_plt
	pushq	$0x12
	jmp	1f
1:	pushq	stale_data(%rip)
	movl	$__NR_getppid, %eax
	syscall
label asm_plt_ip
	addq	$0x10, %rsp
	ret
end_bare asm_plt

begin chain_asm_plt
	push_reg %rbx
	call	asm_plt
label chain_asm_plt_return
	pop_reg	%rbx
	ret
end chain_asm_plt

/* A thunk has nothing on the stack, and jumps on. */
begin_bare asm_thunk
	movl	$__NR_getppid, %eax
	syscall
label asm_thunk_ip
	jmp	1f
1:	ret
end_bare asm_thunk

begin chain_asm_thunk
	push_reg %rbx
	call	asm_thunk
label chain_asm_thunk_return
	pop_reg	%rbx
	ret
end chain_asm_thunk

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
	movl	$__NR_getppid, %eax
	syscall
label asm_stale_ip
	addq	$0x50, %rsp
	popq	%rbp
	ret
end_bare asm_stale

begin chain_asm_stale
	push_reg %rbx
	call	asm_stale
label chain_asm_stale_return
	pop_reg	%rbx
	ret
end chain_asm_stale

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
	movl	$__NR_getppid, %eax
	syscall
label asm_called_ip
	addq	$0x10, %rsp
	popq	%rbx
	ret
end_bare asm_called

begin chain_asm_called
	push_reg %rbx
	call	asm_caller
label chain_asm_called_return
	pop_reg	%rbx
	ret
end chain_asm_called

begin chain_asm_bare_called
	push_reg %rbx
	call	asm_bare_caller
label chain_asm_bare_called_return
	pop_reg	%rbx
	ret
end chain_asm_bare_called

/* A frame pointer that is one, above more words than are looked at. */
begin_bare asm_behind
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x200, %rsp
	leaq	chain_tail_return(%rip), %rax
	movq	%rax, 0x08(%rsp)
	movl	$__NR_getppid, %eax
	syscall
label asm_behind_ip
	leave
	ret
end_bare asm_behind

begin chain_asm_behind
	push_reg %rbx
	call	asm_behind
label chain_asm_behind_return
	pop_reg	%rbx
	ret
end chain_asm_behind

/* The return address is the first word that is not looked at, and rbp leads nowhere. */
begin_bare asm_far
	pushq	%rbp
	subq	$0xf8, %rsp
	movq	%rsp, %rdi
	movl	$0xf8 / 8, %ecx
	xorl	%eax, %eax
	rep stosq
	movq	$0x1238, %rbp
	movl	$__NR_getppid, %eax
	syscall
label asm_far_ip
	addq	$0xf8, %rsp
	popq	%rbp
	ret
end_bare asm_far

begin chain_asm_far
	push_reg %rbx
	call	asm_far
	pop_reg	%rbx
	ret
end chain_asm_far

	.data
stale_data:
	.quad	0
	.text

/* --- Signals --- */

/*
 * Handler of SIGILL: is sampled, or, if that is wanted, interrupted itself; then
 * goes on behind the ud2.
 */
begin handler
	push_reg %rbx
	movq	%rdx, %rbx
	xorl	%eax, %eax
	xchgq	%rax, nest(%rip)
	testq	%rax, %rax
	jz	1f
label handler_ud2
	ud2
	jmp	2f
1:	call	leaf_bad_fp
label handler_return
2:	addq	$2, UC_RIP(%rbx)
	pop_reg	%rbx
	ret
end handler

/* What handlers return to: libraries have one of these. */
	.balign	16
	nop
label restorer
	movq	$__NR_rt_sigreturn, %rax
	syscall
	hlt
	known_code restorer

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

/* Interrupted in the middle of a frame, with an rbp that is no frame pointer. */
begin chain_signal
	push_reg %rbp
	.cfi_rel_offset %rbp, 0
	subq	$0x30, %rsp
	.cfi_adjust_cfa_offset 0x30
	movq	$0x4321, %rbp
label chain_signal_ud2
	ud2
	addq	$0x30, %rsp
	.cfi_adjust_cfa_offset -0x30
	pop_reg	%rbp
	.cfi_restore %rbp
	ret
end chain_signal

/* Interrupted at its first instruction: one before is another function's. */
begin before_first
	subq	$0x60, %rsp
	.cfi_adjust_cfa_offset 0x60
	ud2
end before_first

begin signal_first
label signal_first_ud2
	ud2
	ret
end signal_first

begin chain_signal_first
	push_frame
	call	signal_first
label chain_signal_first_return
	pop_frame
	ret
end chain_signal_first

/* Interrupted while the CFA is in r10, which only the signal's frame has. */
begin chain_signal_r10
	leaq	8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	andq	$-64, %rsp
	subq	$0x80, %rsp
label chain_signal_r10_ud2
	ud2
	leaq	-8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
	ret
end chain_signal_r10

/* --- Other stacks --- */

/* The first function of a coroutine, in which a signal comes. */
begin coroutine
	.cfi_undefined %rip
label coroutine_ud2
	ud2
	movq	coroutine_caller(%rip), %rsp
	jmp	chain_coroutine_resume
end coroutine

begin chain_coroutine
	push_frame
	movq	%rsp, coroutine_caller(%rip)
	leaq	coroutine_stack_end(%rip), %rsp
	jmp	coroutine
label chain_coroutine_resume
	pop_frame
	ret
end chain_coroutine

	.bss
	.balign	4096
	.skip	32768
coroutine_stack_end:
	.skip	16
coroutine_caller:
	.quad	0
	.globl	nest
nest:
	.quad	0

	.section .note.GNU-stack, "", @progbits
