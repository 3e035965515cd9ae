/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of functions that are probed. */
#include "chain_macros.S"

#ifdef SFRAME
.macro frame
	push_space 0x40
.endm
.macro unframe
	pop_space 0x40
.endm
#else
.macro frame
	push_frame
.endm
.macro unframe
	pop_frame
.endm
#endif

/* A function that is probed where the caller is found, also by frame pointer. */
.macro begin_probed name
begin \name
#ifdef __x86_64__
label \name\()_at
	frame
#else
	frame
label \name\()_at
	nop
#endif
.endm
