/* SPDX-License-Identifier: GPL-2.0 */
/* Frames, calls and operations for chain_macros.S. */

/* Where a struct ucontext has the instruction pointer. */
#define UC_PC		440

/* What holds the first arguments, and what calls keep. */
#define ARG0		x0
#define ARG1		x1
#define ARG2		x2
#define KEPT		x19
#define RETURN_COLUMN	x30

	.arch	armv8.3-a

/* A frame of so many bytes with a frame record at its bottom, as gcc makes it. */
.macro push_record size=16, first=x29
	stp	\first, x30, [sp, #-\size]!
	.cfi_def_cfa_offset \size
	.cfi_offset \first, -\size
	.cfi_offset x30, -\size + 8
.endm

.macro pop_record size=16, first=x29
	ldp	\first, x30, [sp], #\size
	.cfi_def_cfa sp, 0
	.cfi_restore \first
	.cfi_restore x30
.endm

/* A frame that the frame pointer leads to. */
.macro push_frame
	push_record
	mov	x29, sp
	.cfi_def_cfa_register x29
.endm

.macro pop_frame
	pop_record
.endm

/* A frame that keeps the frame pointer, or another register, or neither. */
.macro push_fp
	push_record
.endm

.macro pop_fp
	pop_record
.endm

.macro push_kept
	push_record 16, KEPT
.endm

.macro pop_kept
	pop_record 16, KEPT
.endm

.macro push_return
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
.endm

.macro pop_return
	ldr	x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x30
.endm

.macro push_space size
	.if	\size < 512
	push_record \size
	.else
	sub	sp, sp, #\size >> 12, lsl #12
	.cfi_adjust_cfa_offset \size & ~0xfff
	sub	sp, sp, #\size & 0xfff
	.cfi_adjust_cfa_offset \size & 0xfff
	stp	x29, x30, [sp, #0x10]
	.cfi_rel_offset x29, 0x10
	.cfi_rel_offset x30, 0x18
	.endif
.endm

.macro pop_space size
	.if	\size < 512
	pop_record \size
	.else
	ldp	x29, x30, [sp, #0x10]
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #\size & 0xfff
	.cfi_adjust_cfa_offset -(\size & 0xfff)
	add	sp, sp, #\size >> 12, lsl #12
	.cfi_adjust_cfa_offset -(\size & ~0xfff)
	.endif
.endm

/* Within push_frame: variables, of which the table does not need to know. */
.macro grow size
	sub	sp, sp, #\size
.endm

/* A stack pointer that no table knows. */
.macro unknown_sp
	mov	x9, sp
	and	x9, x9, #0xff0
	add	x9, x9, #0x100
	sub	sp, sp, x9
.endm

.macro sp_from_fp
	mov	sp, x29
.endm

.macro fp_from_sp
	mov	x29, sp
.endm

/* Take stack pointer and frame pointer from the arguments. */
.macro stack_given
	mov	sp, x0
	mov	x29, x1
.endm

.macro set_fp value
	mov	x29, #\value
.endm

.macro load reg, symbol
	adrp	\reg, \symbol
	ldr	\reg, [\reg, #:lo12:\symbol]
.endm

.macro store reg, symbol, by
	adrp	\by, \symbol
	str	\reg, [\by, #:lo12:\symbol]
.endm

.macro getppid
	mov	x8, #__NR_getppid
	svc	#0
.endm

/* The system call, with the arguments of the function one further on. */
.macro given_syscall
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	svc	#0
.endm

.macro exit_group
	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0
.endm

.macro sigreturn
	mov	x8, #__NR_rt_sigreturn
	svc	#0
.endm

.macro call target
	bl	\target
.endm

.macro jmp target
	b	\target
.endm

/* Call the first argument with the second. */
.macro call_given
	mov	x9, x0
	mov	w0, w1
	blr	x9
.endm

/* Subtract 1 from the first argument, and go where it is 0. */
.macro count_down zero
	subs	w0, w0, #1
	b.eq	\zero
.endm

.macro store_address at, symbol
	adr	x9, \at
	store	x9, \symbol, x10
.endm

.macro store_sp symbol
	mov	x9, sp
	store	x9, \symbol, x10
.endm

.macro load_sp symbol
	load	x9, \symbol
	mov	sp, x9
.endm

.macro address_to_sp symbol
	adrp	x9, \symbol
	add	x9, x9, #:lo12:\symbol
	mov	sp, x9
.endm

.macro jump_to symbol
	load	x9, \symbol
	br	x9
.endm

/* Faults, with a size that a handler skips. */
.macro trap
	udf	#0
.endm

.macro skip_trap context
	ldr	x9, [\context, #UC_PC]
	add	x9, x9, #4
	str	x9, [\context, #UC_PC]
.endm
