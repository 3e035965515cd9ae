/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two libraries whose functions are at the same offsets and have other frames.
 * LETTER is a or b.  SAVED sets the number of registers that each function saves.
 * ROOM is the number of bytes in its frame that are its own.
 *
 * Each word of these bytes is the address of the decoy, which nothing calls.  If a
 * walker uses the other library's table, it finds such a word in place of the
 * return address, and the decoy is in the stack.  The frame pointer has no meaning.
 */

#define GLUE_(a, b) a ## _ ## b
#define GLUE(a, b) GLUE_(a, b)

	.macro saved_push
#if SAVED > 0
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
#endif
#if SAVED > 1
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
#endif
#if SAVED > 2
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	push %r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
#endif
	.endm

	.macro saved_pop
#if SAVED > 2
	pop %r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	pop %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
#endif
#if SAVED > 1
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
#endif
#if SAVED > 0
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
#endif
	.endm

	/* ROOM bytes. Each word is the decoy. %rdi is the struct swap. */
	.macro open_room room
	sub $\room, %rsp
	.cfi_adjust_cfa_offset \room
	mov 8(%rdi), %rax
	mov $(\room) / 8, %ecx
77:	mov %rax, -8(%rsp, %rcx, 8)
	dec %ecx
	jnz 77b
	.endm

	.macro close_room room
	add $\room, %rsp
	.cfi_adjust_cfa_offset -(\room)
	.endm

	/* Every function starts at a multiple of 256, and is that long. */
	.macro begin name
	.balign 256, 0xcc
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm

	.macro end name
	ret
	.balign 256, 0xcc
	.cfi_endproc
	.size \name, . - \name
	.endm

	.set INNER_ROOM, ROOM + 64
	.set TURN_ROOM, ROOM + 16

	.text

/* long entry(struct swap *swap) */
begin GLUE(LETTER, entry)
	saved_push
	open_room ROOM
	call GLUE(LETTER, inner)
	close_room ROOM
	saved_pop
end GLUE(LETTER, entry)

	.hidden GLUE(LETTER, inner)
begin GLUE(LETTER, inner)
	saved_push
	open_room INNER_ROOM
	mov %rdi, (%rsp)
	call *(%rdi)
	mov (%rsp), %rdi
	mov 8(%rdi), %rax
	mov %rax, (%rsp)
	call GLUE(LETTER, turn)
	close_room INNER_ROOM
	saved_pop
end GLUE(LETTER, inner)

	.hidden GLUE(LETTER, turn)
begin GLUE(LETTER, turn)
	saved_push
	open_room TURN_ROOM
	mov 16(%rdi), %rcx
1:	dec %rcx
	jnz 1b
	mov $1, %eax
	close_room TURN_ROOM
	saved_pop
end GLUE(LETTER, turn)

	.section .note.GNU-stack, "", @progbits
