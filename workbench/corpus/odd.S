/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with tables of the kinds that compilers seldom or never make.
 *
 * Each has its own section.  The code is nops, except for instructions that CFI
 * describes.  Only _start is ever run, and it exits.  It refers to most of the
 * others; --gc-sections removes the rest.
 */

	.macro	function name:req
	.section .text.\name, "ax", @progbits
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro	end name:req
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* It has no caller: its return address is undefined. */
	function _start
	.cfi_undefined rip
	.irp	name, at_empty, before_empty, signal, signal_flexible, signal_opaque, \
		ra_in_register, ra_elsewhere, cfa_in_register, realigned, \
		fp_in_register, fp_moved, rows_at_borders, large, huge, many_rows, \
		words_2, words_4
	lea	\name(%rip), %rax
	.endr
	mov	$60, %eax		/* exit(0) */
	xor	%edi, %edi
	syscall
	end _start

/* A function without code, at the address of a real one. */
	.section .text.at_empty, "ax", @progbits
	.p2align 4
empty:
	.cfi_startproc
	.cfi_endproc
	.size	empty, 0
	function at_empty
	push	%rbx
	.cfi_adjust_cfa_offset 8
	nop
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	end at_empty

/* The same, but the real one comes first in the table as it is assembled. */
	.section .text.before_empty, "ax", @progbits
	.subsection 1
	.globl	before_empty
	.type	before_empty, @function
before_empty:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	end before_empty
	.subsection 0
	.p2align 4
	.cfi_startproc
	.cfi_endproc

/* One at the end of a section, where no other function begins. */
	.section .text.at_empty, "ax", @progbits
empty_last:
	.cfi_startproc
	.cfi_endproc
	.size	empty_last, 0

/* A signal frame that has rows like any other. */
	function signal
	.cfi_signal_frame
	sub	$128, %rsp
	.cfi_def_cfa_offset 136
	nop
	add	$128, %rsp
	.cfi_def_cfa_offset 8
	end signal

	function signal_flexible
	.cfi_signal_frame
	mov	%rsp, %r11
	.cfi_def_cfa r11, 8
	nop
	end signal_flexible

/* One as in libc: the CFA is an expression, *(rsp + 160). */
	function signal_opaque
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01
	nop
	end signal_opaque

/* A function with such a CFA that is no signal frame has no table. */
	function opaque
	.cfi_escape 0x0f, 5, 0x77, 0x08, 0x06, 0x23, 0x08
	nop
	end opaque

/* These restore the whole state, because gas ignores .cfi_restore of rip alone. */
	function ra_in_register
	.cfi_remember_state
	pop	%r10
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, r10
	nop
	push	%r10
	.cfi_restore_state
	end ra_in_register

	function ra_elsewhere
	.cfi_remember_state
	mov	(%rsp), %rax
	mov	%rax, -24(%rsp)
	.cfi_offset rip, -32
	nop
	.cfi_restore_state
	end ra_elsewhere

	function ra_undefined_midway
	nop
	.cfi_remember_state
	.cfi_undefined rip
	nop
	.cfi_restore_state
	nop
	end ra_undefined_midway

	function cfa_in_register
	mov	%rsp, %r11
	.cfi_def_cfa r11, 8
	sub	$64, %rsp
	nop
	mov	%r11, %rsp
	.cfi_def_cfa rsp, 8
	end cfa_in_register

/* gcc makes such code to realign a stack. */
	function realigned
	lea	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	and	$-64, %rsp
	push	-8(%r10)
	push	%rbp
	mov	%rsp, %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0		/* rbp at *rbp */
	push	%r10
	.cfi_escape 0x0f, 3, 0x76, 0x78, 6	/* CFA in *(rbp - 8) */
	sub	$104, %rsp
	nop
	mov	-8(%rbp), %r10
	.cfi_def_cfa r10, 0
	leave
	.cfi_restore rbp
	lea	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	end realigned

	function fp_in_register
	mov	%rbp, %r8
	.cfi_register rbp, r8
	nop
	mov	%r8, %rbp
	.cfi_restore rbp
	end fp_in_register

/* The frame pointer is at several places, and the base of the CFA or not. */
	function fp_moved
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	sub	$512, %rsp
	mov	(%rbp), %rax
	mov	%rax, -256(%rbp)
	.cfi_offset rbp, -272
	nop
	.cfi_remember_state
	.cfi_restore rbp
	.cfi_def_cfa rsp, 528
	nop
	.cfi_restore_state
	mov	-256(%rbp), %rbp
	add	$520, %rsp
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	end fp_moved

/* Rows change at the last offset that takes one byte, and at the next. */
	function rows_at_borders
	.skip	0xff, 0x90
	.cfi_def_cfa_offset 16
	nop
	.cfi_def_cfa_offset 24
	nop
	.cfi_def_cfa_offset 8
	end rows_at_borders

/* Sizes around the largest one that fits into a byte. */
	.irp	size, 0xff, 0x100, 0x101
	function size_\size
	nop
	.cfi_def_cfa_offset 16
	.skip	\size - 2, 0x90
	.cfi_def_cfa_offset 8
	end size_\size
	.endr

/* Rows at offsets of two bytes, and of four. */
	function large
	nop
	.cfi_def_cfa_offset 16
	.skip	0xf0, 0x90
	.cfi_def_cfa_offset 24
	.skip	0x1000, 0x90
	.cfi_def_cfa_offset 8
	end large

	function huge
	nop
	.cfi_def_cfa_offset 16
	.skip	0xf0, 0x90
	.cfi_def_cfa_offset 24
	.skip	0x10000, 0x90
	.cfi_def_cfa_offset 40
	.skip	0x8000, 0x90
	.cfi_def_cfa_offset 8
	end huge

/* More rows than one byte can count. */
	function many_rows
	.rept	300
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_def_cfa_offset 8
	.endr
	end many_rows

/* CFA offsets of two bytes, and of four. */
	function words_2
	sub	$0x1000, %rsp
	.cfi_adjust_cfa_offset 0x1000
	mov	%rbp, 0xff8(%rsp)
	.cfi_offset rbp, -16
	nop
	mov	0xff8(%rsp), %rbp
	.cfi_restore rbp
	add	$0x1000, %rsp
	.cfi_adjust_cfa_offset -0x1000
	end words_2

	function words_4
	sub	$0x123450, %rsp
	.cfi_adjust_cfa_offset 0x123450
	mov	%rbp, 0x50(%rsp)
	.cfi_offset rbp, -0x123408
	nop
	mov	0x50(%rsp), %rbp
	.cfi_restore rbp
	add	$0x123450, %rsp
	.cfi_adjust_cfa_offset -0x123450
	end words_4

/* Nothing refers to these. */
	function dropped
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	pop	%rbp
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	end dropped

	.section .note.GNU-stack, "", @progbits
