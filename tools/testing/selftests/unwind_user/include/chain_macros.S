/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How functions and labels are written in the assembly of these tests. Frames, calls and a
 * few operations have the same names on all architectures, in machine_macros.S.
 */
#ifndef CHAIN_MACROS_S
#define CHAIN_MACROS_S

#include <asm/unistd.h>

#include "machine_macros.S"

.macro begin name
#ifdef FUNCTION_SECTIONS
	.section .text.\name, "ax", @progbits
#endif
	begin_bare \name
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	end_bare \name
	known_code \name
.endm

/* A function without a table. */
.macro begin_bare name
	.globl	\name
	.type	\name, @function
\name:
.endm

.macro end_bare name
	.size	\name, . - \name
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

.macro variable name, size=8
label \name
	.skip	\size
.endm

/* A function that calls another one; its frame is made and ended by these macros. */
.macro caller name, frame, unframe, callee
begin \name
	\frame
	call	\callee
label \name\()_return
	\unframe
	ret
end \name
.endm

	.section .note.GNU-stack, "", @progbits
	.text

#endif /* CHAIN_MACROS_S */
