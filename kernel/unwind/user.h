/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the walk over user stacks share.
 */
#ifndef _KERNEL_UNWIND_USER_H
#define _KERNEL_UNWIND_USER_H

#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

/*
 * The frame pointer of a frame if it is not known. No CFA is a whole number of words above
 * it, so unwind_user_follow() needs no test for it.
 */
#define UNWIND_USER_FP_UNKNOWN	(~0UL)

/* stack.c */
void unwind_user_find_stack(struct unwind_user_state *state);
bool unwind_user_extend_stack(struct unwind_user_state *state, unsigned long cfa);
bool unwind_user_find_other_stack(struct unwind_user_state *state, unsigned long cfa);
bool unwind_user_find_text(struct unwind_user_state *state, unsigned long addr);
bool unwind_user_is_text(struct unwind_user_state *state, unsigned long addr);
bool unwind_user_is_no_text(struct unwind_user_state *state, unsigned long addr);

/* frame.c */
int unwind_user_register(const struct unwind_user_state *state, unsigned int reg,
			 unsigned long *value);
int unwind_user_apply(struct unwind_user_state *state, const struct unwind_user_frame *frame,
		      s32 cfa_above);

/*
 * Take the mmap lock of the current task for reading, unless that has to wait for others
 * and this stack may not.
 */
static inline int unwind_user_lock_mappings(void)
{
	if (current->unwind_info.at_once)
		return mmap_read_trylock(current->mm) ? 0 : -EAGAIN;
	return mmap_read_lock_killable(current->mm);
}

/* Read a word of the stack. */
static inline int unwind_user_read(const struct unwind_user_state *state, unsigned long addr,
				   unsigned long *word)
{
	const void __user *from = (const void __user *)addr;

	if (addr < state->stack_start || addr >= state->stack_end ||
	    state->stack_end - addr < state->ws)
		return -EINVAL;
#ifdef CONFIG_64BIT
	if (state->ws == sizeof(int)) {
		unsigned int data;
		int ret = get_user(data, (unsigned int __user *)addr);
		*word = data;
		return ret;
	}
#endif
	scoped_user_read_access_size(from, sizeof(long), fault)
		unsafe_get_user(*word, (const unsigned long __user *)from, fault);
	return 0;
fault:
	return -EFAULT;
}

#endif /* _KERNEL_UNWIND_USER_H */
