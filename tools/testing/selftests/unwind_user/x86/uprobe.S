/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of this architecture to be probed. */
#include "uprobe_macros.S"

#ifdef SFRAME
.macro need_frame
.endm
.macro unneed_frame
.endm
#else
.macro need_frame
	push_frame
.endm
.macro unneed_frame
	pop_frame
.endm
#endif

/* The first instruction is probed in these. */
begin probed_push
	push_frame
	pop_frame
	ret
end probed_push

begin probed_endbr
	endbr64
	ret
end probed_endbr

/* The first but for the frame that the way by frame pointer needs. */
begin probed_sub
	need_frame
label sub_at
	subq	$0x40, %rsp
#ifdef SFRAME
	.cfi_adjust_cfa_offset 0x40
#endif
	addq	$0x40, %rsp
#ifdef SFRAME
	.cfi_adjust_cfa_offset -0x40
#endif
	unneed_frame
	ret
end probed_sub

/* Within a page, or the kernel does not optimise it. */
	.balign	32
begin probed_nop10
	need_frame
label nop10_at
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	unneed_frame
	ret
end probed_nop10

/* Steps on memory that is not there yet. */
begin probed_fault
	frame
	movq	fault_page(%rip), %rax
label fault_at
	movl	(%rax), %eax
	unframe
	ret
end probed_fault

/* Returns with a trap after each instruction, so also after those of a trampoline. */
begin stepped
	need_frame
	pushfq
	orl	$TRAP_FLAG, (%rsp)
	popfq
	unneed_frame
	ret
end stepped

/* The same in the trampoline of an optimised probe, if %edi is not 0. */
	.balign	32
begin stepped_nop10
	need_frame
	testl	%edi, %edi
	jz	stepped_nop10_at
	pushfq
	orl	$TRAP_FLAG, (%rsp)
	popfq
label stepped_nop10_at
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	unneed_frame
	ret
end stepped_nop10

/*
 * Handler of SIGTRAP: calls a function if the program is elsewhere, and lets it run
 * once it is back.
 */
begin step_handler
	frame
	movq	UC_RIP(%rdx), %rax
	leaq	__executable_start(%rip), %rcx
	cmpq	%rcx, %rax
	jb	1f
	leaq	etext(%rip), %rcx
	cmpq	%rcx, %rax
	jae	1f
	cmpq	$0, steps_elsewhere(%rip)
	je	2f
	andl	$~TRAP_FLAG, UC_EFLAGS(%rdx)
	jmp	2f
1:	incq	steps_elsewhere(%rip)
	call	inner
label step_handler_return
2:	unframe
	ret
end step_handler

/* Goes to %rdi, with %rsi in place of a return address. */
begin return_to
	movq	%rsp, return_to_sp(%rip)
	pushq	%rsi
	jmp	*%rdi
end return_to

/* Handler of the signal that this ends with: returns from return_to(). */
begin return_to_handler
	movq	return_to_sp(%rip), %rax
	movq	%rax, UC_RSP(%rdx)
	leaq	1f(%rip), %rax
	movq	%rax, UC_RIP(%rdx)
1:	ret
end return_to_handler

	.bss
	.balign	8
variable steps_elsewhere
variable return_to_sp
