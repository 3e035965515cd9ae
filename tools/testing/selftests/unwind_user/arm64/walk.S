/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More stacks that are known to the byte: signed return addresses, those that are still
 * in a register, frame records at any place, code without a table, signal frames, and
 * stacks that are left for another. Linked with chain.S.
 */
#include <asm/unistd.h>

#include "chain_macros.S"

	.arch	armv8.3-a
	.text

/* --- Signed return addresses --- */

begin signed_inner
	paciasp
	.cfi_negate_ra_state
	push_record 0x40
	bl	leaf_bad_fp
label signed_inner_return
	pop_record 0x40
	autiasp
	.cfi_negate_ra_state
	ret
end signed_inner

begin chain_signed
	paciasp
	.cfi_negate_ra_state
	push_record 0x20
	store	x30, signed_word, x9
	mov	x29, sp
	bl	signed_inner
label chain_signed_return
	pop_record 0x20
	autiasp
	.cfi_negate_ra_state
	ret
end chain_signed

/* With the other key, and the CFA from the frame pointer. */
begin chain_signed_b
	.cfi_b_key_frame
	pacibsp
	.cfi_negate_ra_state
	push_frame
	sub	sp, sp, #0x60
	bl	signed_inner
label chain_signed_b_return
	mov	sp, x29
	pop_frame
	autibsp
	.cfi_negate_ra_state
	ret
end chain_signed_b

/* --- Return addresses in registers --- */

/* As helpers of atomic operations: the link register is used for something else. */
begin in_register
	mov	x13, x30
	.cfi_register x30, x13
	mov	x30, #0x1234
	getppid
label in_register_ip
	mov	x30, x13
	.cfi_restore x30
	ret
end in_register

begin chain_in_register
	push_record
	bl	in_register
label chain_in_register_return
	pop_record
	ret
end chain_in_register

/* --- Frame records anywhere in the frame --- */

/* A frame of @size bytes with a record at @at; both are made in registers. */
.macro record name, size, at, callee, from_fp=0
begin \name
	sub	sp, sp, #\size & 0xfff
	.cfi_adjust_cfa_offset \size & 0xfff
	sub	sp, sp, #\size >> 12, lsl #12
	.cfi_adjust_cfa_offset \size & ~0xfff
	add	x9, sp, #\at >> 12, lsl #12
	stp	x29, x30, [x9, #\at & 0xfff]
	.cfi_rel_offset x29, \at
	.cfi_rel_offset x30, \at + 8
	add	x29, x9, #\at & 0xfff
	.if	\from_fp
	.cfi_def_cfa x29, \size - \at
	.endif
	bl	\callee
label \name\()_return
	mov	x9, x29
	.if	\from_fp
	.cfi_def_cfa x9, \size - \at
	.endif
	ldp	x29, x30, [x9]
	.cfi_restore x29
	.cfi_restore x30
	.if	\from_fp
	.cfi_def_cfa sp, \size
	.endif
	add	sp, sp, #\size & 0xfff
	.cfi_adjust_cfa_offset -(\size & 0xfff)
	add	sp, sp, #\size >> 12, lsl #12
	.cfi_adjust_cfa_offset -(\size & ~0xfff)
	ret
end \name
.endm

record record_0, 0x20, 0, leaf_bad_fp
record record_240, 0x200, 240, record_0
record record_4096, 0x3010, 0x1000, record_240
/* There, gas has no room for it in a row of two bytes' words. */
record record_32768, 0x9000, 0x8000, record_4096
/* As LLVM does: at the top, and the CFA is from the frame pointer. */
record record_top, 0x90, 0x80, record_32768, 1

begin chain_records
	push_record
	bl	record_top
label chain_records_return
	pop_record
	ret
end chain_records

/* A stack pointer that no table knows, in two frames. */
begin by_fp_inner
	push_frame
	and	x9, x29, #0xff0
	add	x9, x9, #0x100
	sub	sp, sp, x9
	bl	leaf_bad_fp
label by_fp_inner_return
	mov	sp, x29
	pop_frame
	ret
end by_fp_inner

begin chain_by_fp
	push_frame
	and	x9, x29, #0xff0
	add	x9, x9, #0x100
	sub	sp, sp, x9
	bl	by_fp_inner
label chain_by_fp_return
	mov	sp, x29
	pop_frame
	ret
end chain_by_fp

/* The frame of what calls this is gone. */
begin tail_inner
	push_record 0x60
	pop_record 0x60
	b	leaf_bad_fp
end tail_inner

begin chain_tail
	push_record 16, x19
	bl	tail_inner
label chain_tail_return
	pop_record 16, x19
	ret
end chain_tail

/* A frame pointer whose highest byte says something else. */
begin chain_tagged
	push_frame
	orr	x29, x29, #0x7f00000000000000
	sub	sp, sp, #0x40
	bl	leaf
label chain_tagged_return
	and	x29, x29, #0x00ffffffffffffff
	mov	sp, x29
	pop_frame
	ret
end chain_tagged

/* --- Code that nobody has described --- */

.macro begin_bare name
	.globl	\name
	.type	\name, @function
\name:
.endm

.macro end_bare name
	.size	\name, . - \name
.endm

/* Called through a register, by chain_call(). */
begin_bare bare_alone
	getppid
label bare_alone_ip
	ret
end_bare bare_alone

begin chain_bare
	push_record 0x30
	mov	x29, sp
	bl	bare_alone
label chain_bare_return
	pop_record 0x30
	ret
end chain_bare

/* Through a signed pointer. */
begin chain_bare_blraaz
	push_record 0x30
	mov	x29, sp
	adr	x9, bare_alone
	paciza	x9
	blraaz	x9
label chain_bare_blraaz_return
	pop_record 0x30
	ret
end chain_bare_blraaz

/* As an entry of a PLT: it jumps on. */
begin_bare bare_stub
	getppid
label bare_stub_ip
	load	x17, bare_stub_target
	br	x17
end_bare bare_stub

begin chain_bare_stub
	push_record 0x30
	mov	x29, sp
	bl	bare_stub
label chain_bare_stub_return
	pop_record 0x30
	ret
end chain_bare_stub

/* Entries of a PLT, and a veneer, as linkers make them. */
	.balign	16
label stub_entry
	adrp	x16, stub_targets
	ldr	x17, [x16, #:lo12:stub_targets]
	add	x16, x16, #:lo12:stub_targets
	br	x17
	known_code stub_entry

	.balign	16
label stub_bti
	hint	#34
	adrp	x16, stub_targets
	ldr	x17, [x16, #:lo12:stub_targets]
	add	x16, x16, #:lo12:stub_targets
	br	x17
	known_code stub_bti

	.balign	16
label stub_veneer
	adrp	x16, leaf_bad_fp
	add	x16, x16, #:lo12:leaf_bad_fp
	br	x16
	known_code stub_veneer
	.balign	16

/* The first entry stores two registers for the dynamic linker's resolver. */
label stub_first
	stp	x16, x30, [sp, #-16]!
	adrp	x16, stub_targets + 8
	ldr	x17, [x16, #:lo12:stub_targets + 8]
	add	x16, x16, #:lo12:stub_targets + 8
	br	x17
	nop
	nop
	nop
	known_code stub_first

/* As glibc's, whose CFA does not count what the stub has pushed. */
begin stub_resolver
	.cfi_rel_offset x30, 8
	sub	sp, sp, #0x20
	.cfi_adjust_cfa_offset 0x20
	nop
	add	sp, sp, #0x20
	.cfi_adjust_cfa_offset -0x20
	ldp	x16, x30, [sp], #16
	.cfi_same_value x30
	b	leaf_bad_fp
end stub_resolver

.macro chain_stub name, stub
begin \name
	push_record 0x30
	mov	x29, sp
	bl	\stub
label \name\()_return
	pop_record 0x30
	ret
end \name
.endm

chain_stub chain_stub_entry, stub_entry
chain_stub chain_stub_bti, stub_bti
chain_stub chain_stub_veneer, stub_veneer
chain_stub chain_stub_first, stub_first

/* In the middle, with a frame record, and the callers' rules need the stack pointer. */
begin_bare bare_middle
	stp	x29, x30, [sp, #-0x50]!
	mov	x29, sp
	bl	leaf
label bare_middle_return
	ldp	x29, x30, [sp], #0x50
	ret
end_bare bare_middle

begin chain_bare_middle
	push_record 0x30
	mov	x29, sp
	bl	bare_middle
label chain_bare_middle_return
	pop_record 0x30
	ret
end chain_bare_middle

/* The record of the caller is not at the bottom of its frame. */
begin bare_deep_middle
	sub	sp, sp, #0x60
	.cfi_adjust_cfa_offset 0x60
	stp	x29, x30, [sp, #0x20]
	.cfi_rel_offset x29, 0x20
	.cfi_rel_offset x30, 0x28
	add	x29, sp, #0x20
	bl	bare_middle
label bare_deep_middle_return
	ldp	x29, x30, [sp, #0x20]
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #0x60
	.cfi_adjust_cfa_offset -0x60
	ret
end bare_deep_middle

begin chain_bare_middle_deep
	push_record 0x30
	bl	bare_deep_middle
label chain_bare_middle_deep_return
	pop_record 0x30
	ret
end chain_bare_middle_deep

/* Further callers have no frame pointer: it takes the stack pointer to find them. */
begin chain_bare_middle_recovered
	push_record 0x30
	mov	x29, #0x1238
	bl	bare_deep_middle
label chain_bare_middle_recovered_return
	pop_record 0x30
	ret
end chain_bare_middle_recovered

/* The same on top: it may have moved the stack pointer. */
begin chain_bare_lost_fp
	push_record 0x30
	mov	x29, #0x1238
	bl	bare_alone
label chain_bare_lost_fp_return
	pop_record 0x30
	ret
end chain_bare_lost_fp

/* It has called, and keeps its return address where nobody looks. */
begin_bare bare_lost
	stp	x30, x29, [sp, #-0x20]!
	mov	x29, #0x1238
	bl	bare_nothing
	getppid
label bare_lost_ip
	ldp	x30, x29, [sp], #0x20
	ret
end_bare bare_lost

begin_bare bare_nothing
	ret
end_bare bare_nothing

begin chain_bare_lost
	push_record 0x30
	bl	bare_lost
	pop_record 0x30
	ret
end chain_bare_lost

/* --- Signals --- */

/* Where a struct ucontext has the instruction pointer. */
#define UC_PC	440

/*
 * Handler of SIGILL: is sampled, or, if that is wanted, interrupted itself; then
 * goes on behind the udf.
 */
begin handler
	push_record 16, x19
	store	x30, handler_returns_to, x9
	mov	x19, x2
	load	x10, nest
	store	xzr, nest, x9
	cbz	x10, 1f
label handler_udf
	udf	#0
	b	2f
1:	bl	leaf_bad_fp
label handler_return
2:	ldr	x9, [x19, #UC_PC]
	add	x9, x9, #4
	str	x9, [x19, #UC_PC]
	pop_record 16, x19
	ret
end handler

/* What handlers return to: a C library has this, without a table. */
	nop
label restorer
	mov	x8, #__NR_rt_sigreturn
	svc	#0
	udf	#0
	known_code restorer

/* Interrupted in the middle of a frame, with an x29 that is no frame pointer. */
begin chain_signal
	push_record 0x40
	mov	x29, #0x4321
label chain_signal_udf
	udf	#0
	pop_record 0x40
	ret
end chain_signal

/* In a leaf: the link register has the return address, of then. */
begin signal_leaf
	nop
label signal_leaf_udf
	udf	#0
	ret
end signal_leaf

begin chain_signal_leaf
	push_record
	bl	signal_leaf
label chain_signal_leaf_return
	pop_record
	ret
end chain_signal_leaf

/* At its first instruction: one before is another function's. */
begin before_first
	push_record 0x60
	udf	#0
end before_first

begin signal_first
label signal_first_udf
	udf	#0
	ret
end signal_first

begin chain_signal_first
	push_record
	bl	signal_first
label chain_signal_first_return
	pop_record
	ret
end chain_signal_first

/* While the CFA and the return address are in registers, which only the signal's frame has. */
begin chain_signal_x10
	mov	x10, sp
	.cfi_def_cfa x10, 0
	mov	x11, x30
	.cfi_register x30, x11
	mov	x30, #0
	sub	sp, sp, #0x80
label chain_signal_x10_udf
	udf	#0
	mov	x30, x11
	.cfi_restore x30
	mov	sp, x10
	.cfi_def_cfa sp, 0
	ret
end chain_signal_x10

/* --- Other stacks --- */

/* The first function of a coroutine, in which a signal comes. */
begin coroutine
	.cfi_undefined x30
label coroutine_udf
	udf	#0
	load	x9, coroutine_caller
	mov	sp, x9
	b	chain_coroutine_resume
end coroutine

begin chain_coroutine
	push_frame
	mov	x9, sp
	store	x9, coroutine_caller, x10
	adrp	x9, coroutine_stack_end
	add	x9, x9, #:lo12:coroutine_stack_end
	mov	sp, x9
	b	coroutine
label chain_coroutine_resume
	pop_frame
	ret
end chain_coroutine

	.data
	.balign	8
bare_stub_target:
	.quad	bare_nothing
stub_targets:
	.quad	leaf_bad_fp, stub_resolver

	.bss
	.balign	4096
	.skip	65536
coroutine_stack_end:
	.skip	16
coroutine_caller:
	.quad	0
label nest
	.quad	0
label signed_word
	.quad	0
label handler_returns_to
	.quad	0
label vdso_restorer
	.quad	0

	.section .note.GNU-stack, "", @progbits
