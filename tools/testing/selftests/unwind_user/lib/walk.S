/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More stacks that are known to the byte: signal frames, and stacks that are left for another.
 * Linked with chain.S, and with those of the architecture.
 */
#include "chain_macros.S"

/* The frame of what calls this is gone. */
begin tail_inner
	push_space 0x60
	pop_space 0x60
	jmp	leaf_bad_fp
end tail_inner

caller chain_tail, push_kept, pop_kept, tail_inner

/* Assembly that nobody has described; called through a register, by chain_call(). */
begin_bare asm_alone
	getppid
label asm_alone_ip
	ret
end_bare asm_alone

/* --- Signals --- */

/*
 * Handler of SIGILL: is sampled, or, if that is wanted, interrupted itself; then
 * goes on behind the trap.
 */
begin handler
	push_kept
#ifdef __x86_64__
	movq	ARG2, KEPT
	xorl	%eax, %eax
	xchgq	%rax, nest(%rip)
	testq	%rax, %rax
	jz	1f
#else
	store	x30, handler_returns_to, x9
	mov	KEPT, ARG2
	load	x10, nest
	store	xzr, nest, x9
	cbz	x10, 1f
#endif
label handler_fault
	trap
	jmp	2f
1:	call	leaf_bad_fp
label handler_return
2:	skip_trap KEPT
	pop_kept
	ret
end handler

/* What handlers return to: a C library has this, without a table. */
	.balign	16
	nop
label restorer
	sigreturn
	trap
	known_code restorer

/* Interrupted in the middle of a frame, with a frame pointer that is none. */
begin chain_signal
	push_fp
	set_fp	0x4321
label chain_signal_fault
	trap
	pop_fp
	ret
end chain_signal

/* Interrupted at its first instruction: one before is another function's. */
begin before_first
	push_space 0x60
	trap
end before_first

begin signal_first
label signal_first_fault
	trap
	ret
end signal_first

caller chain_signal_first, push_fp, pop_fp, signal_first

/* --- Other stacks --- */

/* The first function of a coroutine, in which a signal comes. */
begin coroutine
	.cfi_undefined RETURN_COLUMN
label coroutine_fault
	trap
	load_sp	coroutine_caller
	jmp	chain_coroutine_resume
end coroutine

begin chain_coroutine
	push_frame
	store_sp coroutine_caller
	address_to_sp coroutine_stack_end
	jmp	coroutine
label chain_coroutine_resume
	pop_frame
	ret
end chain_coroutine

	.bss
	.balign	4096
	.skip	65536
variable coroutine_stack_end, 16
variable coroutine_caller
variable nest
#ifdef __aarch64__
variable handler_returns_to
/* Stands for that of the vDSO. */
variable vdso_restorer
#endif
