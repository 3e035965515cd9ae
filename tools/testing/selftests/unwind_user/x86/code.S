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

code leaf_code, LEAF_SIZE
	mov	$__NR_getppid, %eax
	syscall
	mov	(%rsp), %rax
	ret
code_end leaf_code, LEAF_SIZE

code caller_code, CALLER_SIZE
	push	%rdi
	mov	$__NR_getppid, %eax
	syscall
	pop	%rdi
	ret
code_end caller_code, CALLER_SIZE

code synth_code, SYNTH_CODE_SIZE
	syscall
	jmp	*(%r15)
code_end synth_code, SYNTH_CODE_SIZE

code restorer_code, RESTORER_SIZE
	mov	$__NR_rt_sigreturn, %rax
	syscall
code_end restorer_code, RESTORER_SIZE

	.section .note.GNU-stack, "", @progbits
