/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_ARM64_UNWIND_USER_H
#define _ASM_ARM64_UNWIND_USER_H

#ifdef CONFIG_UNWIND_USER

#include <linux/cpufeature.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <linux/uaccess.h>
#include <linux/unwind_user_types.h>
#include <asm/compiler.h>
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <asm/vdso.h>

/* 32-bit programs have frame pointers in other registers, and no tables. */
static inline int unwind_user_word_size(struct pt_regs *regs)
{
	return compat_user_mode(regs) ? 0 : sizeof(u64);
}

/* A frame record has the caller's frame pointer and the return address: see the AAPCS64. */
#define ARCH_INIT_USER_FP_FRAME(ws)			\
	.cfa_off	= 2 * (ws),			\
	.ra_off		= -1 * (ws),			\
	.fp_off		= -2 * (ws),			\
	.cfa_from	= UNWIND_USER_REG(UNWIND_USER_FP), \
	.ra_from	= UNWIND_USER_AT_CFA,		\
	.fp_from	= UNWIND_USER_AT_CFA,

/* It may be anywhere in the frame. */
#define ARCH_UNWIND_USER_FP_LOSES_SP	true

/* x30, the link register. */
#define ARCH_UNWIND_USER_RA		30

int arch_unwind_user_register(const struct pt_regs *regs, unsigned int reg,
			      unsigned long *value);

#define arch_unwind_user_register arch_unwind_user_register

/* "General-purpose Registers" of the AAPCS64, but for the frame pointer. */
static inline bool arch_unwind_user_is_preserved(unsigned int reg)
{
	return reg >= 19 && reg <= 28;
}

#define arch_unwind_user_is_preserved arch_unwind_user_is_preserved

/* Functions sign return addresses before they store them. This needs no key. */
static inline unsigned long arch_unwind_user_return_address(unsigned long word)
{
	return ptrauth_strip_user_insn_pac(word);
}

#define arch_unwind_user_return_address arch_unwind_user_return_address

/* With MTE, memory can be read by a pointer with its tag only. */
static inline unsigned long arch_unwind_user_untag(unsigned long addr)
{
	return system_supports_mte() ? addr : untagged_addr(addr);
}

#define arch_unwind_user_untag arch_unwind_user_untag

/* Handlers return to the vDSO, unless the program has a restorer of its own. */
static inline bool arch_unwind_user_maybe_signal(unsigned long ip, unsigned long word)
{
	return unlikely(ip == (unsigned long)VDSO_SYMBOL(current->mm->context.vdso, sigtramp));
}

#define arch_unwind_user_maybe_signal arch_unwind_user_maybe_signal

/* Those of C libraries have neither a table nor a place. */
#define ARCH_UNWIND_USER_PLAIN_RESTORER	true

/* A thread returns from clone() like its parent, with another result and another stack. */
static inline bool arch_unwind_user_is_new_thread(const struct pt_regs *regs)
{
	return !regs->regs[0] &&
	       (regs->syscallno == __NR_clone || regs->syscallno == __NR_clone3);
}

#define arch_unwind_user_is_new_thread arch_unwind_user_is_new_thread

static inline bool arch_unwind_user_unsupported(void)
{
	return test_thread_flag(TIF_32BIT);
}

#define arch_unwind_user_unsupported arch_unwind_user_unsupported

bool arch_unwind_user_is_loaded(void);
#define arch_unwind_user_is_loaded arch_unwind_user_is_loaded

bool arch_unwind_user_is_restorer(struct unwind_user_state *state);
int arch_unwind_user_interrupted(struct unwind_user_state *state);
int arch_unwind_user_saved_register(struct unwind_user_state *state, unsigned int reg,
				    unsigned long *value);

#endif /* CONFIG_UNWIND_USER */

#endif /* _ASM_ARM64_UNWIND_USER_H */
