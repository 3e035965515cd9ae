/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that are known to the byte.
 *
 * Each scenario is a function that calls others until one makes a system call.
 * A label stands where each of them returns to: that is what a sample must say.
 */
#include "chain_macros.S"

/* The process starts here, and nobody called it. */
begin _start
	.cfi_undefined RETURN_COLUMN
	set_fp	0
#ifdef __x86_64__
	movq	%rsp, %rdi
#else
	mov	x30, #0
	mov	x0, sp
#endif
	call	_start_c
label start_return
	trap
end _start

/* Calls the scenarios. Their stacks end here, by table and by frame pointer. */
begin chain_call
	.cfi_undefined RETURN_COLUMN
#ifdef __x86_64__
	pushq	%rbp
#else
	stp	x29, x30, [sp, #-16]!
#endif
	set_fp	0
	call_given
label chain_call_return
#ifdef __x86_64__
	popq	%rbp
#else
	ldp	x29, x30, [sp], #16
#endif
	ret
end chain_call

/* The same with a stack that goes on to the program's start. */
begin chain_call_on
	push_frame
	call_given
label chain_call_on_return
	pop_frame
	ret
end chain_call_on

/* Calls the vDSO as often as it is told. */
begin chain_vdso
#ifdef __x86_64__
#ifdef SFRAME
	push_fp
	set_fp	0x1238
	push_kept
	push_space 24
#else
	push_frame
	pushq	KEPT
	grow	24
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
	pop_space 24
	pop_kept
	pop_fp
#else
	addq	$24, %rsp
	popq	KEPT
	pop_frame
#endif
#else
	push_record 48
	str	KEPT, [sp, #16]
	.cfi_rel_offset KEPT, 16
#ifdef SFRAME
	set_fp	0x1238
#else
	mov	x29, sp
#endif
	mov	w19, w0
label chain_vdso_start
	load	x0, vdso_clock
	add	x1, sp, #32
	load	x9, vdso_clock_gettime
	blr	x9
label chain_vdso_return
	subs	w19, w19, #1
	b.ne	chain_vdso_start
label chain_vdso_end
	ldr	KEPT, [sp, #16]
	.cfi_restore KEPT
	pop_record 48
#endif
	ret
end chain_vdso

#ifdef SFRAME

/* The system call that is sampled; nothing is on the stack but its return address. */
begin leaf
	getppid
label leaf_ip
	ret
end leaf

/* The same with a frame pointer that leads nowhere. */
begin leaf_bad_fp
	push_fp
	set_fp	0x1238
	getppid
label leaf_bad_fp_ip
	pop_fp
	ret
end leaf_bad_fp

/* Frames of three sizes, found by the stack pointer. */
caller sp_inner, "push_space 0x40", "pop_space 0x40", leaf_bad_fp
caller sp_middle, "push_space 0x12340", "pop_space 0x12340", sp_inner
caller chain_sp, push_return, pop_return, sp_middle

/*
 * A frame found by the frame pointer, with a stack pointer that no table
 * knows, below one that has used the frame pointer for something else.
 */
begin fp_inner
	push_fp
	set_fp	-1
	call	leaf
label fp_inner_return
	pop_fp
	ret
end fp_inner

begin chain_fp
	push_frame
	unknown_sp
	call	fp_inner
label chain_fp_return
	sp_from_fp
	pop_frame
	ret
end chain_fp

/*
 * A call that never returns, at its function's end: the return address is the
 * next function's, whose frame is of another size.
 */
begin never_returns
	getppid
label never_returns_ip
	jump_to	chain_noreturn_resume
end never_returns

begin noreturn_inner
	push_space 0x90
	call	never_returns
end noreturn_inner

begin after_noreturn
label noreturn_inner_return
	push_kept
	call	leaf
	pop_kept
	ret
end after_noreturn

begin chain_noreturn
	push_frame
	store_address 1f, chain_noreturn_resume
	call	noreturn_inner
label chain_noreturn_return
	trap
1:	sp_from_fp
	pop_frame
	ret
end chain_noreturn

#define push_deep	push_kept
#define pop_deep	pop_kept

#else /* !SFRAME */

begin leaf
	push_frame
	getppid
label leaf_ip
	pop_frame
	ret
end leaf

begin frame_inner
	push_frame
	grow	0x120
	call	leaf
label frame_inner_return
	sp_from_fp
	pop_frame
	ret
end frame_inner

caller chain_frames, push_frame, pop_frame, frame_inner

/* As Go's runtime does: on another stack, with the frame pointer of this one. */
.macro switch name, to, callee
begin \name
	push_frame
	load_sp	\to
	call	\callee
label \name\()_return
	sp_from_fp
	pop_frame
	ret
end \name
.endm

switch chain_switch, switch_to, frame_inner
/* Of three stacks. */
switch chain_switch_twice, switch_to + 8, chain_switch

/* A function that has no frame calls nobody. */
begin frameless
	getppid
label frameless_ip
	ret
end frameless

caller chain_leaf, push_frame, pop_frame, frameless

#define push_deep	push_frame
#define pop_deep	pop_frame

#endif /* !SFRAME */

/* As many frames as its argument says, of which all but the last are the same. */
begin chain_deep
	push_deep
	count_down 1f
	call	chain_deep
label chain_deep_return
	.cfi_remember_state
	pop_deep
	ret
	.cfi_restore_state
1:	call	leaf
label chain_deep_last_return
	pop_deep
	ret
end chain_deep

	.bss
	.balign	8
variable vdso_clock_gettime
variable vdso_clock
variable chain_noreturn_resume
#ifndef SFRAME
variable switch_to, 16
#endif
