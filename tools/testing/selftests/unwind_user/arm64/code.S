/* SPDX-License-Identifier: GPL-2.0 */
#include <asm/unistd.h>

#include "code.h"

.macro code name, size
	.globl	\name
	.type	\name, @object
	.size	\name, \size
\name:
.endm

.macro code_end name, size
	.if	. - \name - \size
	.error	"\name has another size"
	.endif
.endm

	.section .rodata
	.balign	4

code leaf_code, LEAF_SIZE
	mov	x8, #__NR_getppid
	svc	#0
	mov	x0, x30
	ret
	nop
code_end leaf_code, LEAF_SIZE

code caller_code, CALLER_SIZE
	mov	x9, x30
	mov	x30, x0
	mov	x8, #__NR_getppid
	svc	#0
	mov	x30, x9
	ret
code_end caller_code, CALLER_SIZE

code synth_code, SYNTH_CODE_SIZE
	svc	#0
	ldr	x16, [x28]
	br	x16
code_end synth_code, SYNTH_CODE_SIZE

code restorer_code, RESTORER_SIZE
	mov	x8, #__NR_rt_sigreturn
	svc	#0
code_end restorer_code, RESTORER_SIZE

	.section .note.GNU-stack, "", @progbits
