/* SPDX-License-Identifier: GPL-2.0 */
/* Frames, calls and operations for chain_macros.S. */

/* Where a struct ucontext has these. */
#define UC_RSP		160
#define UC_RIP		168
#define UC_EFLAGS	176
#define TRAP_FLAG	0x100

/* What holds the first arguments, and what calls keep. */
#define ARG0		%rdi
#define ARG1		%rsi
#define ARG2		%rdx
#define KEPT		%rbx
#define RETURN_COLUMN	%rip

.macro push_reg reg
	pushq	\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
.endm

.macro pop_reg reg
	popq	\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
.endm

/* A frame that the frame pointer leads to. */
.macro push_frame
	push_reg %rbp
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
.endm

.macro pop_frame
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
.endm

/* A frame that keeps the frame pointer, or another register, or neither. */
.macro push_fp
	push_reg %rbp
.endm

.macro pop_fp
	pop_reg	%rbp
.endm

.macro push_kept
	push_reg KEPT
.endm

.macro pop_kept
	pop_reg	KEPT
.endm

.macro push_return
	push_reg %rbx
	push_reg %r12
	push_reg %r13
.endm

.macro pop_return
	pop_reg	%r13
	pop_reg	%r12
	pop_reg	%rbx
.endm

.macro push_space size
	subq	$\size, %rsp
	.cfi_adjust_cfa_offset \size
.endm

.macro pop_space size
	addq	$\size, %rsp
	.cfi_adjust_cfa_offset -\size
.endm

/* Within push_frame: variables, of which the table does not need to know. */
.macro grow size
	subq	$\size, %rsp
.endm

/* A stack pointer that no table knows. */
.macro unknown_sp
	movq	%rsp, %rax
	andl	$0xff0, %eax
	addl	$0x100, %eax
	subq	%rax, %rsp
	andq	$-16, %rsp
.endm

.macro sp_from_fp
	movq	%rbp, %rsp
.endm

.macro fp_from_sp
	movq	%rsp, %rbp
.endm

/* Take stack pointer and frame pointer from the arguments. */
.macro stack_given
	movq	%rdi, %rsp
	movq	%rsi, %rbp
.endm

.macro set_fp value
	movq	$\value, %rbp
.endm

.macro getppid
	movl	$__NR_getppid, %eax
	syscall
.endm

/* The system call, with the arguments of the function one further on. */
.macro given_syscall
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	syscall
.endm

.macro exit_group
	xorl	%edi, %edi
	movl	$__NR_exit_group, %eax
	syscall
.endm

.macro sigreturn
	movq	$__NR_rt_sigreturn, %rax
	syscall
.endm

/* Call the first argument with the second. */
.macro call_given
	movq	%rdi, %rax
	movl	%esi, %edi
	call	*%rax
.endm

/* Subtract 1 from the first argument, and go where it is 0. */
.macro count_down zero
	decl	%edi
	jz	\zero
.endm

.macro store_address at, symbol
	leaq	\at(%rip), %rax
	movq	%rax, \symbol(%rip)
.endm

.macro store_sp symbol
	movq	%rsp, \symbol(%rip)
.endm

.macro load_sp symbol
	movq	\symbol(%rip), %rsp
.endm

.macro address_to_sp symbol
	leaq	\symbol(%rip), %rsp
.endm

.macro jump_to symbol
	jmp	*\symbol(%rip)
.endm

/* Faults, with a size that a handler skips. */
.macro trap
	ud2
.endm

.macro skip_trap context
	addq	$2, UC_RIP(\context)
.endm
