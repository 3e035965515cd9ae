// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of user memory. A walk runs with page faults disabled, so a read of memory that is
 * not there fails. A walk may wait for it here, and try again.
 */
#include <linux/pagemap.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "user.h"

/**
 * unwind_user_wait_for - Wait for user memory that is not there
 * @walk: The state of the walk, with how often it may still wait; this takes one off
 * @addr: Address of the first byte
 * @len:  How many bytes
 *
 * Context: May sleep, if the walk may wait.
 * Return: Whether the memory is there, so that the read may be tried again.
 */
bool unwind_user_wait_for(struct unwind_tables_walk *walk, unsigned long addr, unsigned int len)
{
	bool there;

	if (!walk->waits)
		return false;
	walk->waits--;
	pagefault_enable();
	there = !fault_in_readable((const char __user *)addr, len);
	pagefault_disable();
	walk->learned |= there;
	return there;
}

/**
 * unwind_user_copy - Copy user memory
 * @state: The walk
 * @to:	   Where to
 * @addr:  Where from; the caller knows that this is memory, not a device
 * @len:   How many bytes
 *
 * Return: 0 or -EFAULT.
 */
int unwind_user_copy(struct unwind_user_state *state, void *to, unsigned long addr,
		     unsigned int len)
{
	do {
		if (!copy_from_user_nofault(to, (const void __user *)addr, len))
			return 0;
	} while (unwind_user_wait_for(&state->tables, addr, len));
	return -EFAULT;
}

static int read_word(const void __user *from, unsigned int ws, unsigned long *word)
{
	u32 half;

	if (IS_ENABLED(CONFIG_64BIT) && ws == sizeof(half)) {
		if (get_user(half, (const u32 __user *)from))
			return -EFAULT;
		*word = half;
		return 0;
	}
	scoped_user_read_access_size(from, sizeof(*word), fault)
		unsafe_get_user(*word, (const unsigned long __user *)from, fault);
	return 0;
fault:
	return -EFAULT;
}

/**
 * unwind_user_read - Read a word of the stack
 * @state: The walk, with the bounds of the stack
 * @addr:  The word's address
 * @word:  Where to put it
 *
 * Return: 0; -EINVAL if it is not on the stack; -EFAULT if it cannot be read.
 */
int unwind_user_read(struct unwind_user_state *state, unsigned long addr, unsigned long *word)
{
	if (addr < state->stack_start || addr >= state->stack_end ||
	    state->stack_end - addr < state->ws)
		return -EINVAL;
	do {
		if (!read_word((const void __user *)addr, state->ws, word))
			return 0;
	} while (unwind_user_wait_for(&state->tables, addr, state->ws));
	return -EFAULT;
}
