/* SPDX-License-Identifier: GPL-2.0 */
#include "chain_macros.S"
#include "code.h"

.macro code name
	.globl	\name
	.type	\name, @object
\name:
.endm

.macro code_end name, size
	.size	\name, \size
	.if	. - \name - \size
	.error	"\name has another size"
	.endif
.endm

	.section .rodata
	.balign	4

#ifdef __x86_64__
code leaf_code
	getppid
	mov	(%rsp), %rax
	ret
code_end leaf_code, LEAF_SIZE

code caller_code
	push	%rdi
	getppid
	pop	%rdi
	ret
code_end caller_code, CALLER_SIZE

code synth_code
	syscall
	jmp	*(%r15)
code_end synth_code, SYNTH_CODE_SIZE
#else
code leaf_code
	getppid
	mov	x0, x30
	ret
	nop
code_end leaf_code, LEAF_SIZE

code caller_code
	mov	x9, x30
	mov	x30, x0
	getppid
	mov	x30, x9
	ret
code_end caller_code, CALLER_SIZE

code synth_code
	svc	#0
	ldr	x16, [x28]
	br	x16
code_end synth_code, SYNTH_CODE_SIZE
#endif

code restorer_code
	sigreturn
code_end restorer_code, RESTORER_SIZE
