/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How functions, labels and frames are written in the assembly of these tests.
 */
#ifndef CHAIN_MACROS_S
#define CHAIN_MACROS_S

.macro begin name
#ifdef FUNCTION_SECTIONS
	.section .text.\name, "ax", @progbits
#endif
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

.macro push_reg reg
	pushq	\reg
	.cfi_adjust_cfa_offset 8
.endm

.macro pop_reg reg
	popq	\reg
	.cfi_adjust_cfa_offset -8
.endm

.macro push_frame
	push_reg %rbp
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
.endm

.macro pop_frame
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
.endm

/* Where a struct ucontext has the instruction pointer and the flags. */
#define UC_RIP		168
#define UC_EFLAGS	176
#define TRAP_FLAG	0x100

#endif /* CHAIN_MACROS_S */
