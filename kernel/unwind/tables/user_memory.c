// SPDX-License-Identifier: GPL-2.0
/*
 * Reading tables in user memory.
 */
#include <linux/fault-inject-usercopy.h>
#include <linux/instrumented.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "bisect.h"
#include "tables.h"

/* Copy the next bytes, as many as @type has. */
#define read_next(type)								\
do {										\
	type next;								\
										\
	unsafe_get_user(next, (const type __user *)from, fault);		\
	put_unaligned(next, (type *)to);					\
	to += sizeof(type);							\
	from += sizeof(type);							\
	len -= sizeof(type);							\
} while (0)

/*
 * Copy bytes in words, and in a single user access: each lookup does this a few times,
 * and copy_from_user() is made for more bytes.
 */
static __always_inline int read_words(void *to, const void __user *table, unsigned int len)
{
	instrument_copy_from_user_before(to, table, len);

	scoped_user_read_access_size(table, len, fault) {
		const void __user *from = table;

		while (len >= 4 * sizeof(u64)) {
			read_next(u64);
			read_next(u64);
			read_next(u64);
			read_next(u64);
		}
		if (len & (2 * sizeof(u64))) {
			read_next(u64);
			read_next(u64);
		}
		if (len & sizeof(u64))
			read_next(u64);
		if (len & sizeof(u32))
			read_next(u32);
		if (len & sizeof(u16))
			read_next(u16);
		if (len & sizeof(u8))
			read_next(u8);
	}
	return 0;
fault:
	return -EFAULT;
}

/**
 * unwind_tables_read - Copy a few bytes of a table
 * @to:	     Where to
 * @addr:    Where from, any address
 * @len:     How many
 * @missing: Where to put the address of a byte that is not in memory. A fault that was
 *	     injected leaves it as it is: nobody waits for that.
 *
 * Context: Page faults are disabled.
 * Return: 0, or -EFAULT; then @to has any bytes.
 */
int unwind_tables_read(void *to, unsigned long addr, unsigned int len, unsigned long *missing)
{
	if (should_fail_usercopy())
		return -EFAULT;
	if (likely(!read_words(to, (const void __user *)addr, len)))
		return 0;
	*missing = unwind_tables_missing(addr, len);
	return -EFAULT;
}
