// SPDX-License-Identifier: GPL-2.0
/*
 * arm64 for the walker of user stacks: registers by their DWARF numbers, and signal frames.
 */
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/unwind_user.h>

#include <asm/ptrace.h>
#include <asm/sigcontext.h>
#include <asm/sysreg.h>
#include <asm/ucontext.h>

/* DWARF number of the stack pointer. Those below are x0 to x30. */
#define REG_SP	31

/* The kernel's part of a signal frame begins with this. */
#define CONTEXT	(sizeof(struct siginfo) + offsetof(struct ucontext, uc_mcontext))

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
	if (reg == REG_SP) {
		*value = regs->sp;
		return 0;
	}
	if (reg >= ARRAY_SIZE(regs->regs))
		return -ENOENT;

	*value = regs->regs[array_index_nospec(reg, ARRAY_SIZE(regs->regs))];
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
	/* The stack pointer is behind the others. */
	if (reg > REG_SP)
		return -ENOENT;

	reg = array_index_nospec(reg, REG_SP + 1);
	return unwind_user_copy(state, value,
				state->context + offsetof(struct sigcontext, regs[0]) +
				reg * sizeof(*value), sizeof(*value));
}

/**
 * arch_unwind_user_is_restorer - Say whether the code of a frame is a restorer's
 * @state: The frame, with the bounds of the text that it is in
 *
 * Return: Whether it is. Only the topmost frame can be in the middle of it, or in its system
 *	   call, whose address is behind it.
 */
bool arch_unwind_user_is_restorer(struct unwind_user_state *state)
{
	/* mov x8, #__NR_rt_sigreturn; svc #0 */
	static const __le32 code[] = { cpu_to_le32(0xd2801168), cpu_to_le32(0xd4000001) };
	__le32 there[ARRAY_SIZE(code)];
	unsigned int last = 0;

	if (state->topmost)
		last = state->regs->syscallno == __NR_rt_sigreturn ? 2 : 1;
	for (unsigned int i = 0; i <= last; i++) {
		const unsigned long ip = state->ip - i * sizeof(*code);

		if (ip >= state->text_start && ip < state->text_end &&
		    state->text_end - ip >= sizeof(code) &&
		    !unwind_user_copy(state, there, ip, sizeof(code)) &&
		    !memcmp(there, code, sizeof(code)))
			return true;
	}
	return false;
}

/**
 * arch_unwind_user_interrupted - Take the registers of the frame that a signal interrupted
 * @state: The frame of the restorer; its ip, sp, fp and context become those of then
 *
 * Return: 0; -EFAULT if the signal's frame cannot be read; -EINVAL if it is not on the stack,
 *	   or what was interrupted is not 64-bit code.
 */
int arch_unwind_user_interrupted(struct unwind_user_state *state)
{
	const unsigned long context = state->sp + CONTEXT;
	struct {
		u64 fp, lr, sp, pc, pstate;
	} saved;

	static_assert(offsetof(struct sigcontext, pstate) ==
		      offsetof(struct sigcontext, regs[29]) + 4 * sizeof(u64));

	if (!unwind_user_is_on_stack(state, CONTEXT + sizeof(struct sigcontext)))
		return -EINVAL;
	if (unwind_user_copy(state, &saved, context + offsetof(struct sigcontext, regs[29]),
			     sizeof(saved)))
		return -EFAULT;
	if (saved.pstate & PSR_MODE32_BIT)
		return -EINVAL;

	state->ip = saved.pc;
	state->sp = arch_unwind_user_untag(saved.sp);
	state->fp = arch_unwind_user_untag(saved.fp);
	state->context = context;
	return 0;
}

/**
 * arch_unwind_user_is_loaded - Say whether user addresses are those of current->mm
 *
 * While EFI's runtime services run, and in the middle of a context switch, TTBR0 is another's.
 * Where PAN is emulated, it is set from the thread's copy for each access.
 *
 * Context: Any.
 * Return: Whether they are.
 */
bool arch_unwind_user_is_loaded(void)
{
	u64 ttbr0;

#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	if (system_uses_ttbr0_pan())
		ttbr0 = READ_ONCE(current_thread_info()->ttbr0);
	else
#endif
		ttbr0 = read_sysreg(ttbr0_el1);
	return (ttbr0 & TTBRx_EL1_BADDR_MASK) == phys_to_ttbr(virt_to_phys(current->mm->pgd));
}
