// SPDX-License-Identifier: GPL-2.0
/*
 * x86-64 for the walker of user stacks: registers by their DWARF numbers, and
 * signal frames.
 */
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include <asm/ptrace.h>
#include <asm/sigframe.h>

/* Registers in the order of their DWARF numbers, and where they are. */
#define UNWIND_USER_REGISTERS(type) {					\
	offsetof(type, ax), offsetof(type, dx), offsetof(type, cx),	\
	offsetof(type, bx), offsetof(type, si), offsetof(type, di),	\
	offsetof(type, bp), offsetof(type, sp),				\
	offsetof(type, r8), offsetof(type, r9), offsetof(type, r10),	\
	offsetof(type, r11), offsetof(type, r12), offsetof(type, r13),	\
	offsetof(type, r14), offsetof(type, r15),			\
}

static const u8 in_pt_regs[] = UNWIND_USER_REGISTERS(struct pt_regs);
static const u8 in_sigcontext[] = UNWIND_USER_REGISTERS(struct sigcontext_64);

/**
 * arch_unwind_user_register - Get a register of the topmost frame
 * @regs:  All registers
 * @reg:   DWARF number of the wanted one
 * @value: Where to put it
 *
 * Return: 0, or -ENOENT if there is no such register.
 */
int arch_unwind_user_register(const struct pt_regs *regs, unsigned int reg,
			      unsigned long *value)
{
	if (reg >= ARRAY_SIZE(in_pt_regs))
		return -ENOENT;

	reg = array_index_nospec(reg, ARRAY_SIZE(in_pt_regs));
	*value = *(const unsigned long *)((const void *)regs + in_pt_regs[reg]);
	return 0;
}

/**
 * arch_unwind_user_saved_register - Get a register of a frame that a signal interrupted
 * @state: The frame that the signal interrupted
 * @reg:   DWARF number of the wanted one
 * @value: Where to put it
 *
 * Return: 0, -ENOENT if there is no such register, or -EFAULT.
 */
int arch_unwind_user_saved_register(struct unwind_user_state *state, unsigned int reg,
				    unsigned long *value)
{
	if (reg >= ARRAY_SIZE(in_sigcontext))
		return -ENOENT;

	reg = array_index_nospec(reg, ARRAY_SIZE(in_sigcontext));
	return unwind_user_copy(state, value, state->context + in_sigcontext[reg],
				sizeof(*value));
}

/*
 * What restorers do. The kernel's frame has no other mark: 64-bit programs bring
 * their own restorer, and gdb and libgcc look at its code, too.
 */
static const struct {
	unsigned int len;
	unsigned int syscall;
	u8 code[9];
} restorers[] = {
	/* mov $__NR_rt_sigreturn, %rax; syscall */
	{ 9, 7, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov $__NR_rt_sigreturn, %eax; syscall */
	{ 7, 5, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
};

/* Compare code, within the text only: a device may be mapped beside it. */
static bool is_at(struct unwind_user_state *state, unsigned long ip, const u8 *code,
		  unsigned int len)
{
	u8 there[sizeof(restorers[0].code)];

	if (ip < state->text_start || ip >= state->text_end || state->text_end - ip < len)
		return false;
	return !unwind_user_copy(state, there, ip, len) && !memcmp(there, code, len);
}

/**
 * arch_unwind_user_is_restorer - Say whether the code of a frame is a restorer's
 * @state: The frame, with the bounds of the text that it is in
 *
 * Return: Whether it is. Only the topmost frame can be in the middle of it, or in
 *	   its system call, which returns behind it.
 */
bool arch_unwind_user_is_restorer(struct unwind_user_state *state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(restorers); i++) {
		unsigned long ip = state->ip;

		if (is_at(state, ip, restorers[i].code, restorers[i].len))
			return true;
		if (state->topmost &&
		    (is_at(state, ip - restorers[i].syscall, restorers[i].code,
			   restorers[i].len) ||
		     is_at(state, ip - restorers[i].len, restorers[i].code, restorers[i].len)))
			return true;
	}
	return false;
}

/**
 * arch_unwind_user_interrupted - Take the registers of the frame that a signal interrupted
 * @state: The frame of the restorer; its ip, sp, fp and context become those of then
 *
 * Return: 0; -EFAULT if the signal's frame cannot be read; -EINVAL if it is not
 *	   on the stack, or what was interrupted is not 64-bit code.
 */
int arch_unwind_user_interrupted(struct unwind_user_state *state)
{
	unsigned long context = state->sp + offsetof(struct ucontext, uc_mcontext);
	const size_t len = offsetof(struct sigcontext_64, err);
	struct sigcontext_64 saved;
	struct pt_regs regs = {};

	if (!unwind_user_is_on_stack(state, sizeof(struct ucontext)))
		return -EINVAL;
	if (unwind_user_copy(state, &saved, context, len))
		return -EFAULT;
	regs.cs = saved.cs;
	if (!user_64bit_mode(&regs))
		return -EINVAL;

	state->ip = saved.ip;
	state->sp = saved.sp;
	state->fp = saved.bp;
	state->context = context;
	return 0;
}
