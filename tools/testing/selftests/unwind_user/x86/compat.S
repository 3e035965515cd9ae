/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of 32 bits, or of x32, that causes page faults where compat_test.c
 * knows what is on its stack: at its start, in a function with a frame pointer,
 * in the vDSO, in the function once its frame pointer is gone, and behind one
 * that has no frame.
 */
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/errno.h>

#include "compat.h"

/* Of <linux/prctl.h>, which is not for assembly, and <linux/unwind_tables.h>. */
#define PR_UNWIND_TABLES		82
#define PR_UNWIND_TABLES_REGISTER	0
#define UNWIND_TABLE_SIZE_VER0		48

#ifdef __x86_64__
#define REG(name)	%r##name
.macro exit status
	movl	$__NR_exit, %eax
	movl	$\status, %edi
	syscall
.endm
.macro forget page
	movl	$__NR_madvise, %eax
	movl	\page, %edi
	andl	$-4096, %edi
	movl	$4096, %esi
	movl	$4, %edx
	syscall
.endm
/* prctl(PR_UNWIND_TABLES, PR_UNWIND_TABLES_REGISTER, ...), as programs of 64 bits call it. */
.macro list_tables
	movl	$(__NR_prctl & ~__X32_SYSCALL_BIT), %eax
	movl	$PR_UNWIND_TABLES, %edi
	movl	$PR_UNWIND_TABLES_REGISTER, %esi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	movl	$UNWIND_TABLE_SIZE_VER0, %r8d
	syscall
.endm
#else
#define REG(name)	%e##name
.macro exit status
	movl	$__NR_exit, %eax
	movl	$\status, %ebx
	int	$0x80
.endm
/* madvise(MADV_DONTNEED): the next access causes a page fault. */
.macro forget page
	movl	$__NR_madvise, %eax
	movl	\page, %ebx
	andl	$-4096, %ebx
	movl	$4096, %ecx
	movl	$4, %edx
	int	$0x80
.endm
.macro list_tables
	movl	$__NR_prctl, %eax
	movl	$PR_UNWIND_TABLES, %ebx
	movl	$PR_UNWIND_TABLES_REGISTER, %ecx
	xorl	%edx, %edx
	xorl	%esi, %esi
	movl	$UNWIND_TABLE_SIZE_VER0, %edi
	int	$0x80
.endm
#endif

	.text
	.globl	_start
_start:
	list_tables
	cmpl	$-EINVAL, %eax
	jne	registers
	/* Over the arguments and the environment, to the auxiliary vector. */
	movl	(REG(sp)), %ecx
	leal	8(REG(sp), REG(cx), 4), %esi
1:	movl	(REG(si)), %eax
	addl	$4, %esi
	testl	%eax, %eax
	jnz	1b
2:	movl	(REG(si)), %eax
	movl	4(REG(si)), %edi
	addl	$8, %esi
	testl	%eax, %eax
	jz	no_vdso
	cmpl	$AT_SYSINFO_EHDR, %eax
	jne	2b
	/* The first byte of it that is a ret is a function as good as any. */
3:	incl	%edi
	cmpb	$0xc3, (REG(di))
	jne	3b
	jmp	4f

	.org	COMPAT_RETURN - COMPAT_TEXT - 5
4:	call	framed
	call	bare
	exit	0

no_vdso:
	exit	COMPAT_NO_VDSO

registers:
	exit	COMPAT_REGISTERS

	.org	COMPAT_BARE_RETURN - COMPAT_TEXT - 5
bare:
	call	deep
	ret

	.org	COMPAT_FRAMED - COMPAT_TEXT - 0x20
framed:
	push	REG(bp)
	mov	REG(sp), REG(bp)
	jmp	1f
	.org	COMPAT_FRAMED - COMPAT_TEXT
1:	movl	%edi, first_page
	forget	first_page
	testl	%eax, %eax
	jnz	no_vdso
	movl	first_page, %eax
	call	*REG(ax)
	movl	$1, %ebp
	jmp	2f
	.org	COMPAT_LOST - COMPAT_TEXT
2:	movl	$0, second_page
	pop	REG(bp)
	ret

	.org	COMPAT_DEEP - COMPAT_TEXT - 0x20
deep:
	push	REG(bp)
	mov	REG(sp), REG(bp)
	jmp	1f
	.org	COMPAT_DEEP - COMPAT_TEXT
1:	movl	$0, third_page
	pop	REG(bp)
	ret

	.bss
	.balign	4096
first_page:
	.skip	4096
second_page:
	.skip	4096
third_page:
	.skip	4096

	.section .note.GNU-stack, "", @progbits
