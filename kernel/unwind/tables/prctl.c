// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: prctl(PR_UNWIND_TABLES).
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#include <linux/compat.h>
#include <linux/prctl.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "tables.h"

static int change(unsigned long operation, const struct unwind_table __user *user, size_t size)
{
	struct unwind_table table;
	int ret = copy_struct_from_user(&table, sizeof(table), user, size);

	if (ret)
		return ret;
	if (table.flags)
		return -EINVAL;
	if (operation == PR_UNWIND_TABLES_REGISTER)
		return __unwind_tables_register(current->mm, &table);
	return __unwind_tables_unregister(current->mm, &table);
}

/**
 * unwind_tables_prctl - prctl(PR_UNWIND_TABLES)
 * @operation: PR_UNWIND_TABLES_REGISTER or _UNREGISTER
 * @tables:    Array of struct unwind_table
 * @count:     How many elements it has
 * @size:      Bytes of an element
 *
 * Return: How many elements were processed, up to the first that failed or to
 *	   a signal; the error of the first element if that has failed.
 */
long unwind_tables_prctl(unsigned long operation, struct unwind_table __user *tables,
			 unsigned long count, unsigned long size)
{
	unsigned long n;
	int ret;

	BUILD_BUG_ON(sizeof(struct unwind_table) != UNWIND_TABLE_SIZE_VER0);

	/* The tables' rules are those of 64-bit programs. */
	if (in_compat_syscall() || arch_unwind_user_unsupported())
		return -EINVAL;
	if (operation > PR_UNWIND_TABLES_UNREGISTER)
		return -EINVAL;
	if (size < UNWIND_TABLE_SIZE_VER0)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (count > UNWIND_TABLE_MAX_COUNT)
		return -EINVAL;

	for (n = 0; n < count; n++) {
		/* The first element is processed in any case: the caller goes on. */
		if (n && signal_pending(current))
			return n;
		ret = change(operation, (void __user *)tables + n * size, size);
		if (ret)
			return n ?: ret;
	}
	return n;
}
