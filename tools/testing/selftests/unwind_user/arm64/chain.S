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
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	mov	x0, sp
	bl	_start_c
label start_return
	udf	#0
end _start

/*
 * void chain_call(void (*chain)(int), int depth)
 *
 * What calls the scenarios. Their stacks end here, by table and by frame pointer: what
 * is below does not matter.
 */
begin chain_call
	.cfi_undefined x30
	stp	x29, x30, [sp, #-16]!
	mov	x29, #0
	mov	x9, x0
	mov	w0, w1
	blr	x9
label chain_call_return
	ldp	x29, x30, [sp], #16
	ret
end chain_call

/* The same with a stack that goes on to the program's start. */
begin chain_call_on
	push_frame
	mov	x9, x0
	mov	w0, w1
	blr	x9
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
	push_record 48
	str	x19, [sp, #16]
	.cfi_rel_offset x19, 16
#ifdef SFRAME
	mov	x29, #0x1238
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
	ldr	x19, [sp, #16]
	.cfi_restore x19
	pop_record 48
	ret
end chain_vdso

#ifdef SFRAME

/* The system call that is sampled; nothing is on the stack. */
begin leaf
	getppid
label leaf_ip
	ret
end leaf

/* The same with a frame pointer that leads nowhere. */
begin leaf_bad_fp
	push_record
	mov	x29, #0x1238
	getppid
label leaf_bad_fp_ip
	pop_record
	ret
end leaf_bad_fp

/* Frames of three sizes, found by the stack pointer. */
begin sp_inner
	push_record 0x50
	bl	leaf_bad_fp
label sp_inner_return
	pop_record 0x50
	ret
end sp_inner

begin sp_middle
	sub	sp, sp, #0x12, lsl #12
	.cfi_adjust_cfa_offset 0x12000
	sub	sp, sp, #0x340
	.cfi_adjust_cfa_offset 0x340
	stp	x29, x30, [sp, #0x10]
	.cfi_rel_offset x29, 0x10
	.cfi_rel_offset x30, 0x18
	bl	sp_inner
label sp_middle_return
	ldp	x29, x30, [sp, #0x10]
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #0x340
	.cfi_adjust_cfa_offset -0x340
	add	sp, sp, #0x12, lsl #12
	.cfi_adjust_cfa_offset -0x12000
	ret
end sp_middle

/* The return address is saved, and no frame pointer. */
begin chain_sp
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
	bl	sp_middle
label chain_sp_return
	ldr	x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x30
	ret
end chain_sp

/*
 * A frame found by the frame pointer, with a stack pointer that no table
 * knows, below one that has used x29 for something else.
 */
begin fp_inner
	push_record
	mov	x29, #-1
	bl	leaf
label fp_inner_return
	pop_record
	ret
end fp_inner

begin chain_fp
	push_frame
	mov	x9, sp
	and	x9, x9, #0xff0
	add	x9, x9, #0x100
	sub	sp, sp, x9
	bl	fp_inner
label chain_fp_return
	mov	sp, x29
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
	load	x9, chain_noreturn_resume
	br	x9
end never_returns

begin noreturn_inner
	push_record 0x90
	bl	never_returns
end noreturn_inner

begin after_noreturn
label noreturn_inner_return
	push_record
	bl	leaf
	pop_record
	ret
end after_noreturn

begin chain_noreturn
	push_frame
	adr	x9, 1f
	store	x9, chain_noreturn_resume, x10
	bl	noreturn_inner
label chain_noreturn_return
	udf	#0
1:	mov	sp, x29
	pop_frame
	ret
end chain_noreturn

/* As many frames as w0 says, of which all but the last are the same. */
begin chain_deep
	push_record 16, x19
	subs	w0, w0, #1
	b.eq	1f
	bl	chain_deep
label chain_deep_return
	.cfi_remember_state
	pop_record 16, x19
	ret
	.cfi_restore_state
1:	bl	leaf
label chain_deep_last_return
	pop_record 16, x19
	ret
end chain_deep

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
	sub	sp, sp, #0x120
	bl	leaf
label frame_inner_return
	mov	sp, x29
	pop_frame
	ret
end frame_inner

begin chain_frames
	push_frame
	bl	frame_inner
label chain_frames_return
	pop_frame
	ret
end chain_frames

/* As Go's runtime does: on another stack, with the frame pointer of this one. */
begin chain_switch
	push_frame
	load	x9, switch_to
	mov	sp, x9
	bl	frame_inner
label switch_return
	mov	sp, x29
	pop_frame
	ret
end chain_switch

/* Of three stacks. */
begin chain_switch_twice
	push_frame
	load	x9, switch_to + 8
	mov	sp, x9
	bl	chain_switch
label switch_twice_return
	mov	sp, x29
	pop_frame
	ret
end chain_switch_twice

/* A function that has no frame calls nobody. */
begin frameless
	getppid
label frameless_ip
	ret
end frameless

begin chain_leaf
	push_frame
	bl	frameless
label chain_leaf_return
	pop_frame
	ret
end chain_leaf

begin chain_deep
	push_frame
	subs	w0, w0, #1
	b.eq	1f
	bl	chain_deep
label chain_deep_return
	.cfi_remember_state
	pop_frame
	ret
	.cfi_restore_state
1:	bl	leaf
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
