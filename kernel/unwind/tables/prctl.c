// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: prctl(PR_UNWIND_TABLES).
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#include <linux/compat.h>
#include <linux/prctl.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/unwind_tables.h>
#include <linux/unwind_user.h>

static int table_from_user(struct unwind_table_info *info,
			   const struct unwind_table __user *user, size_t size)
{
	struct unwind_table table;
	int ret = copy_struct_from_user(&table, sizeof(table), user, size);

	if (ret)
		return ret;
	if (table.flags)
		return -EINVAL;
	/* What ENUMERATE fills in is never input, but could become so. */
	if (table.state || table.origin)
		return -EINVAL;

	*info = (struct unwind_table_info) {
		.text_start = table.text_start,
		.text_end = table.text_end,
		.table_start = table.table_start,
		.table_end = table.table_end,
		.header = table.header,
		.format = table.format,
		.origin = UNWIND_TABLE_BY_PRCTL,
	};
	return 0;
}

static int table_to_user(struct unwind_table __user *user, size_t size,
			 const struct unwind_table_info *info)
{
	struct unwind_table table = {
		.text_start = info->text_start,
		.text_end = info->text_end,
		.table_start = info->table_start,
		.table_end = info->table_end,
		.header = info->header,
		.format = info->format,
		.state = info->state,
		.origin = info->origin,
	};

	return copy_struct_to_user(user, size, &table, sizeof(table), NULL);
}

/*
 * Killing ends this, other signals do not: part of the registrations would not
 * be an answer, and there are not so many.
 */
static long enumerate(struct mm_struct *mm, void __user *tables,
		      unsigned long count, size_t size)
{
	struct unwind_table_info infos[UNWIND_TABLE_FORMATS];
	unsigned long from = 0, n = 0;
	unsigned int nr, i;

	while ((nr = __unwind_tables_next(mm, from, infos))) {
		from = infos[0].text_end;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		for (i = 0; i < nr; i++) {
			if (infos[i].format == UNWIND_TABLE_ABSENT)
				continue;
			if (n < count && table_to_user(tables + n * size, size, &infos[i]))
				return -EFAULT;
			n++;
		}
	}
	return n;
}

static int change(struct mm_struct *mm, unsigned long operation,
		  struct unwind_table_info *info)
{
	switch (operation) {
	case PR_UNWIND_TABLES_REGISTER:
		return unwind_tables_register(mm, info);
	case PR_UNWIND_TABLES_UNREGISTER:
		return unwind_tables_unregister(mm, info);
	case PR_UNWIND_TABLES_UPDATE:
		return unwind_tables_update(mm, info);
	default:
		return -EINVAL;
	}
}

/**
 * unwind_tables_prctl - prctl(PR_UNWIND_TABLES)
 * @operation: PR_UNWIND_TABLES_REGISTER, _UNREGISTER, _UPDATE or _ENUMERATE
 * @tables:    Array of struct unwind_table
 * @count:     How many elements it has
 * @size:      Bytes of an element
 *
 * Return: For _ENUMERATE, how many tables there are. For the others,
 *	   how many elements were processed, up to the first that failed or to
 *	   a signal; the error of the first element if that has failed.
 */
long unwind_tables_prctl(unsigned long operation, struct unwind_table __user *tables,
			 unsigned long count, unsigned long size)
{
	struct mm_struct *mm = current->mm;
	struct unwind_table_info info;
	unsigned long n;
	int ret;

	BUILD_BUG_ON(sizeof(struct unwind_table) != UNWIND_TABLE_SIZE_VER0);

	/* The tables' rules are those of 64-bit programs. */
	if (in_compat_syscall() || arch_unwind_user_unsupported())
		return -EINVAL;
	if (operation > PR_UNWIND_TABLES_ENUMERATE)
		return -EINVAL;
	if (size < UNWIND_TABLE_SIZE_VER0)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (count > UNWIND_TABLE_MAX_COUNT)
		return -EINVAL;
	if (operation == PR_UNWIND_TABLES_ENUMERATE)
		return enumerate(mm, tables, count, size);

	for (n = 0; n < count; n++) {
		/* The first element is processed in any case: the caller goes on. */
		if (n && signal_pending(current))
			return n;
		ret = table_from_user(&info, (void __user *)tables + n * size, size);
		if (!ret)
			ret = change(mm, operation, &info);
		if (ret)
			return n ?: ret;
	}
	return n;
}
