/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of user space: the C face of kernel/unwind/tables/.
 */
#ifndef _LINUX_UNWIND_TABLES_H
#define _LINUX_UNWIND_TABLES_H

#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/unwind_user_types.h>

/*
 * What the lookups of one stack may cost, in rows stepped over (a read in a
 * table's index counts as four). 510 frames with twenty reads and a hundred
 * rows each are below it.
 */
#define UNWIND_TABLES_BUDGET	(128 * 1024)

#ifdef CONFIG_UNWIND_USER_TABLES

/**
 * unwind_tables_register - Say which table describes a range of text
 * @mm:		 The address space that both are in
 * @table_start: Address of the table's first byte
 * @table_end:	 Address after the last byte that the table may use
 * @text_start:	 Address of the first byte of text
 * @text_end:	 Address after the last byte of text
 *
 * Neither range is looked at: the table is checked when it is first used, and
 * one that turns out to be malformed is not used again.
 *
 * Context: Process context, may sleep. @mm must have users.
 * Return: 0, -EINVAL if a range is empty or the table larger than 4 GiB,
 *	   -EEXIST if part of the text is registered already, or -ENOMEM.
 */
int unwind_tables_register(struct mm_struct *mm,
			   unsigned long table_start, unsigned long table_end,
			   unsigned long text_start, unsigned long text_end);

int __unwind_tables_lookup(struct unwind_tables *tables, unsigned long ip,
			   struct unwind_user_frame *frame, u32 *budget);
void __unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm);
void __unwind_tables_free(struct unwind_tables *tables);

/**
 * unwind_tables_registered - Whether an address space has tables
 * @mm: The address space
 *
 * Context: Any. @mm must have users.
 * Return: Whether anything was ever registered.
 */
static inline bool unwind_tables_registered(const struct mm_struct *mm)
{
	return READ_ONCE(mm->unwind_tables);
}

/**
 * unwind_tables_lookup - Find the rule for an address in the current process
 * @mm:	    current->mm
 * @ip:	    The address
 * @frame:  Where to put the rule
 * @budget: What the lookup may cost; what it did cost is taken off
 *
 * Context: Faultable: the tables are in user memory.
 * Return: 0 and @frame; -ENOENT if no table says anything about @ip, -EFAULT
 *	   if the table could not be read, -EINVAL if it is malformed, or
 *	   -E2BIG if the budget is used up.
 */
static inline int unwind_tables_lookup(struct mm_struct *mm, unsigned long ip,
				       struct unwind_user_frame *frame,
				       u32 *budget)
{
	/* Pairs with the cmpxchg() that publishes a new registry. */
	struct unwind_tables *tables = smp_load_acquire(&mm->unwind_tables);

	return tables ? __unwind_tables_lookup(tables, ip, frame, budget) : -ENOENT;
}

/**
 * unwind_tables_init - Start an address space without tables
 * @mm: The new address space, perhaps a bytewise copy of another
 */
static inline void unwind_tables_init(struct mm_struct *mm)
{
	mm->unwind_tables = NULL;
}

/**
 * unwind_tables_dup - Give a new address space the tables of another
 * @mm:	   The new address space, which only the caller uses
 * @oldmm: The one that it is a copy of
 *
 * Without memory, @mm ends up without tables. That is no reason to fail.
 *
 * Context: Process context, may sleep. @oldmm must have users.
 */
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm)
{
	if (unwind_tables_registered(oldmm))
		__unwind_tables_dup(mm, oldmm);
}

/**
 * unwind_tables_exit - Free what an address space registered
 * @mm: The address space, which has lost its last user
 *
 * Context: Process context, may sleep.
 */
static inline void unwind_tables_exit(struct mm_struct *mm)
{
	if (unwind_tables_registered(mm))
		__unwind_tables_free(mm->unwind_tables);
	mm->unwind_tables = NULL;
}

#else /* !CONFIG_UNWIND_USER_TABLES */

static inline int unwind_tables_register(struct mm_struct *mm,
					 unsigned long table_start,
					 unsigned long table_end,
					 unsigned long text_start,
					 unsigned long text_end)
{
	return -EOPNOTSUPP;
}

static inline bool unwind_tables_registered(const struct mm_struct *mm)
{
	return false;
}

static inline int unwind_tables_lookup(struct mm_struct *mm, unsigned long ip,
				       struct unwind_user_frame *frame,
				       u32 *budget)
{
	return -ENOENT;
}

static inline void unwind_tables_init(struct mm_struct *mm) {}
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm) {}
static inline void unwind_tables_exit(struct mm_struct *mm) {}

#endif /* !CONFIG_UNWIND_USER_TABLES */

#endif /* _LINUX_UNWIND_TABLES_H */
