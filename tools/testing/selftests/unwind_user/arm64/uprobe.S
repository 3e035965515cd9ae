/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions to be probed, on top of those of chain.S.
 *
 * Where a probe is, and where functions return to, there is a label. What a
 * probe has to execute in the instruction's place is emulated for some, and stepped
 * elsewhere for others.
 */
#include <asm/unistd.h>

#include "chain_macros.S"

/* Where a struct ucontext has the instruction pointer. */
#define UC_PC	440

#ifdef SFRAME
.macro frame
	push_record 0x40
.endm
.macro unframe
	pop_record 0x40
.endm
#else
.macro frame
	push_frame
.endm
.macro unframe
	pop_frame
.endm
#endif

	.arch	armv8.3-a
	.text

/* The first instruction is probed. */
begin probed_store
	push_frame
	pop_frame
	ret
end probed_store

begin probed_sub
	frame
label sub_at
	sub	sp, sp, #0x40
#ifdef SFRAME
	.cfi_adjust_cfa_offset 0x40
#endif
	add	sp, sp, #0x40
#ifdef SFRAME
	.cfi_adjust_cfa_offset -0x40
#endif
	unframe
	ret
end probed_sub

/* One that has a frame and nothing else. */
begin inner
	frame
label inner_at
	nop
	unframe
	ret
end inner

begin probed_call
	frame
label call_at
	bl	inner
	unframe
	ret
end probed_call

begin probed_adr
	frame
label adr_at
	adr	x9, inner
	unframe
	ret
end probed_adr

begin probed_jmp
	frame
	unframe
label jmp_at
	b	inner
end probed_jmp

begin probed_leaf
	nop
label leaf_at
	mov	x9, #1
	ret
end probed_leaf

begin outer_of_leaf
	frame
	bl	probed_leaf
label outer_of_leaf_return
	nop
	unframe
	ret
end outer_of_leaf

begin probed_signed
	paciasp
	.cfi_negate_ra_state
	frame
label signed_at
	nop
	bl	inner
label signed_return
	unframe
	autiasp
	.cfi_negate_ra_state
	ret
end probed_signed

/* Steps on memory that is not there yet. */
begin probed_fault
	frame
	load	x9, fault_page
label fault_at
	ldr	w9, [x9]
	unframe
	ret
end probed_fault

begin outer
	frame
label outer_at
	nop
	bl	inner
label outer_return
	unframe
	ret
end outer

/* Returns where the function returns to that it goes on as. */
begin tail_caller
	b	outer
end tail_caller

/* Recursion; as deep as w0 says. */
begin recursive
	frame
	subs	w0, w0, #1
	b.eq	1f
	bl	recursive
label recursive_return
	b	2f
1:	bl	inner
label recursive_last_return
2:	unframe
	ret
end recursive

/* A function that is left without a return. */
begin jumper
	frame
	mov	x9, sp
	store	x9, jumper_sp, x10
	bl	thrower
	udf	#0
1:	bl	inner
label jumper_return
	unframe
	ret
end jumper

begin thrower
	load	x9, jumper_sp
	mov	sp, x9
	b	1b
end thrower

/* Handler of SIGILL, and what it returns to, which nothing describes. */
begin handler
	frame
	str	x2, [sp, #-16]!
#ifdef SFRAME
	.cfi_adjust_cfa_offset 16
#endif
	bl	inner
label handler_return
	ldr	x2, [sp], #16
#ifdef SFRAME
	.cfi_adjust_cfa_offset -16
#endif
	ldr	x9, [x2, #UC_PC]
	add	x9, x9, #4
	str	x9, [x2, #UC_PC]
	unframe
	ret
end handler

	nop
label restorer
	mov	x8, #__NR_rt_sigreturn
	svc	#0

begin interrupted
	frame
label interrupted_at
	udf	#0
label interrupted_behind
	unframe
	ret
end interrupted

	.bss
	.balign	8
label fault_page
	.quad	0
jumper_sp:
	.quad	0

	.section .note.GNU-stack, "", @progbits
