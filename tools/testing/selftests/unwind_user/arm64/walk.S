/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of this architecture: signed return addresses, those that are still in a register,
 * frame records at any place, code without a table, and signals in other frames.
 */
#include "chain_macros.S"

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

caller chain_in_register, push_fp, pop_fp, in_register

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

caller chain_records, push_fp, pop_fp, record_top

/* A stack pointer that no table knows, in two frames. */
begin by_fp_inner
	push_frame
	unknown_sp
	bl	leaf_bad_fp
label by_fp_inner_return
	mov	sp, x29
	pop_frame
	ret
end by_fp_inner

begin chain_by_fp
	push_frame
	unknown_sp
	bl	by_fp_inner
label chain_by_fp_return
	mov	sp, x29
	pop_frame
	ret
end chain_by_fp

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

/* A frame whose record is at its bottom, and the frame pointer there. */
.macro push_stub
	push_record 0x30
	mov	x29, sp
.endm

.macro pop_stub
	pop_record 0x30
.endm

/* The same with a frame pointer that leads nowhere. */
.macro push_lost
	push_record 0x30
	set_fp	0x1238
.endm

caller chain_bare, push_stub, pop_stub, asm_alone

/* Through a signed pointer. */
begin chain_bare_blraaz
	push_record 0x30
	mov	x29, sp
	adr	x9, asm_alone
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

caller chain_bare_stub, push_stub, pop_stub, bare_stub

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

caller chain_stub_entry, push_stub, pop_stub, stub_entry
caller chain_stub_bti, push_stub, pop_stub, stub_bti
caller chain_stub_veneer, push_stub, pop_stub, stub_veneer
caller chain_stub_first, push_stub, pop_stub, stub_first

/* In the middle, with a frame record, and the callers' rules need the stack pointer. */
begin_bare bare_middle
	stp	x29, x30, [sp, #-0x50]!
	mov	x29, sp
	bl	leaf
label bare_middle_return
	ldp	x29, x30, [sp], #0x50
	ret
end_bare bare_middle

caller chain_bare_middle, push_stub, pop_stub, bare_middle

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

caller chain_bare_middle_deep, "push_record 0x30", "pop_record 0x30", bare_deep_middle

/* Further callers have no frame pointer: it takes the stack pointer to find them. */
caller chain_bare_middle_recovered, push_lost, pop_stub, bare_deep_middle

/* The same on top: it may have moved the stack pointer. */
caller chain_bare_lost_fp, push_lost, pop_stub, asm_alone

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

caller chain_bare_lost, push_fp, pop_fp, bare_lost

/* --- Signals --- */

/* In a leaf: the link register has the return address, of then. */
begin signal_leaf
	nop
label signal_leaf_fault
	udf	#0
	ret
end signal_leaf

caller chain_signal_leaf, push_fp, pop_fp, signal_leaf

/* While the CFA and the return address are in registers, which only the signal's frame has. */
begin chain_signal_x10
	mov	x10, sp
	.cfi_def_cfa x10, 0
	mov	x11, x30
	.cfi_register x30, x11
	mov	x30, #0
	sub	sp, sp, #0x80
label chain_signal_x10_fault
	udf	#0
	mov	x30, x11
	.cfi_restore x30
	mov	sp, x10
	.cfi_def_cfa sp, 0
	ret
end chain_signal_x10

	.data
	.balign	8
bare_stub_target:
	.quad	bare_nothing
stub_targets:
	.quad	leaf_bad_fp, stub_resolver

	.bss
	.balign	8
variable signed_word
