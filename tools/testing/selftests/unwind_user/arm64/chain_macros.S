/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How functions, labels and frames are written in the assembly of these tests.
 */
#ifndef CHAIN_MACROS_S
#define CHAIN_MACROS_S

.macro begin name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size	\name, . - \name
	known_code \name
.endm

/* From a label up to here is one function, for chain_function_at(). */
.macro known_code name
.Lend_\name:
	.pushsection chain_functions, "a", @progbits
	.quad	\name, .Lend_\name
	.popsection
.endm

.macro label name
	.globl	\name
\name:
.endm

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

/* The same with the CFA from the frame pointer. */
.macro push_frame
	push_record
	mov	x29, sp
	.cfi_def_cfa_register x29
.endm

.macro pop_frame
	pop_record
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

#endif /* CHAIN_MACROS_S */
