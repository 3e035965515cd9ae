/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions to be probed, on top of those of chain.S.
 *
 * Where a probe is, and where functions return to, there is a label. What a
 * probe has to execute in the instruction's place is emulated for some, and stepped
 * elsewhere for others.
 */
#include "uprobe_macros.S"

begin_probed inner
	unframe
	ret
end inner

begin_probed outer
	call	inner
label outer_return
	unframe
	ret
end outer

begin probed_call
	frame
label call_at
	call	inner
	unframe
	ret
end probed_call

begin probed_jmp
	frame
	unframe
label jmp_at
	jmp	inner
end probed_jmp

/* Returns where the function returns to that it goes on as. */
begin tail_caller
	jmp	outer
end tail_caller

/* Recursion; as deep as its argument says. */
begin recursive
	frame
	count_down 1f
	call	recursive
label recursive_return
	jmp	2f
1:	call	inner
label recursive_last_return
2:	unframe
	ret
end recursive

/* A function that is left without a return. */
begin jumper
	frame
	store_sp jumper_sp
	call	thrower
	trap
1:	call	inner
label jumper_return
	unframe
	ret
end jumper

begin thrower
	load_sp	jumper_sp
	jmp	1b
end thrower

/* Handler of SIGILL, and what it returns to, which nothing describes. */
begin handler
	frame
	call	inner
label handler_return
	skip_trap ARG2
	unframe
	ret
end handler

	nop
label restorer
	sigreturn

begin interrupted
	frame
label interrupted_at
	trap
label interrupted_behind
	unframe
	ret
end interrupted

	.bss
	.balign	8
variable fault_page
variable jumper_sp
