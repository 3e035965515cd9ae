/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stack has a limited number of reads that may wait for user memory.
 */
#ifndef _UNWIND_TABLES_WAIT_H
#define _UNWIND_TABLES_WAIT_H

#include <linux/types.h>
#include <linux/uaccess.h>

/**
 * struct unwind_tables_wait - Whether a read may wait
 * @left:    How many more reads of the stack may
 * @waiting: This one does
 */
struct unwind_tables_wait {
	unsigned int	*left;
	bool		waiting;
};

/*
 * Whether to try a read again that has faulted. All of a lookup runs with page
 * faults disabled, but for a read that is tried again.
 */
static inline bool unwind_tables_wait_begin(struct unwind_tables_wait *wait)
{
	if (wait->waiting || !*wait->left)
		return false;
	--*wait->left;
	wait->waiting = true;
	pagefault_enable();
	return true;
}

static inline void unwind_tables_wait_end(const struct unwind_tables_wait *wait)
{
	if (unlikely(wait->waiting))
		pagefault_disable();
}

#endif /* _UNWIND_TABLES_WAIT_H */
