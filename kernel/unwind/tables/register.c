// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: registering them, and what administrators see.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/unwind_tables.h>

#include "mappings.h"

#define CREATE_TRACE_POINTS
#include <trace/events/unwind_tables.h>

DEFINE_STATIC_KEY_TRUE(unwind_tables_used);
DEFINE_STATIC_KEY_TRUE(unwind_tables_discovery);
DEFINE_STATIC_KEY_TRUE(unwind_tables_eh_frame);

/* How many ranges of text with a table an address space may have. */
static unsigned int unwind_tables_max = 4096;
static unsigned int unwind_tables_highest_max = UNWIND_TABLE_MAX_COUNT / UNWIND_TABLE_FORMATS;

unsigned int unwind_tables_most(void)
{
	return READ_ONCE(unwind_tables_max);
}

/* Whether text and table are where @info says. The caller holds the mmap lock. */
static bool is_mapped(struct mm_struct *mm, const struct unwind_table_info *info)
{
	return unwind_tables_range_is(mm, info->text_start, info->text_end, VM_EXEC) &&
	       unwind_tables_range_is(mm, info->table_start, info->table_end, VM_READ);
}

/*
 * Look at the mappings and register in one go: whoever unmaps holds the mmap
 * lock for writing, so it either does that before and the check fails, or
 * after and finds the registration. What takes memory is done before: fork()
 * and munmap() wait for this lock.
 *
 * The table's bytes are not looked at. They may change at any time, and most
 * tables are never used.
 */
static int check_and(struct mm_struct *mm, const struct unwind_table_info *info,
		     bool update)
{
	struct unwind_tables_entry *entry;
	int ret;

	if (info->text_start >= info->text_end || info->text_end > TASK_SIZE_MAX ||
	    info->table_start >= info->table_end || info->table_end > TASK_SIZE_MAX)
		return -EINVAL;

	entry = __unwind_tables_prepare(mm, info, update);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (mmap_read_lock_killable(mm)) {
		ret = -EINTR;
		goto put;
	}
	if (!is_mapped(mm, info))
		ret = -EACCES;
	else if (update)
		ret = __unwind_tables_replace(mm, entry);
	else
		ret = __unwind_tables_insert(mm, entry, unwind_tables_most());
	mmap_read_unlock(mm);
put:
	__unwind_tables_put(entry);
	return ret;
}

/**
 * unwind_tables_register - Say which table describes a range of text
 * @mm:	  The address space that both are in
 * @info: The ranges, and who says so
 *
 * The table is looked at when it is first used; one that turns out to be
 * malformed is not used again.
 *
 * Context: Process context, takes the mmap lock. @mm must have users.
 * Return: 0; -EINVAL if a range is empty or beyond user space, or the table
 *	   has 4 GiB or more, or no such header; -EACCES if some of the text is not
 *	   executable memory or some of the table not readable memory; -EEXIST if
 *	   some of the text has a table already, other than one of another format
 *	   for just this text; -ENOSPC if there are too many; -ENOMEM; -EINTR if
 *	   the task is being killed.
 */
int unwind_tables_register(struct mm_struct *mm, const struct unwind_table_info *info)
{
	int ret = check_and(mm, info, false);

	if (!ret)
		trace_unwind_tables_register(info);
	return ret;
}

/**
 * unwind_tables_update - Give registered text another table
 * @mm:	  The address space that both are in
 * @info: The ranges; that of the text is just as it was registered
 *
 * Context: As for unwind_tables_register().
 * Return: 0; -ENOENT if nobody has registered a table of this format for this text; -EINVAL,
 *	   -EACCES, -ENOMEM or -EINTR as unwind_tables_register().
 */
int unwind_tables_update(struct mm_struct *mm, const struct unwind_table_info *info)
{
	int ret = check_and(mm, info, true);

	if (!ret)
		trace_unwind_tables_update(info);
	return ret;
}

/**
 * unwind_tables_unregister - Forget which table describes a range of text
 * @mm:	  The address space
 * @info: The range of text, just as it was registered, and the format; the rest is
 *	  filled in
 *
 * Context: Process context, may sleep. @mm must have users.
 * Return: 0; -ENOENT if nobody has registered a table of this format for this text;
 *	   -EINVAL if the format is unknown.
 */
int unwind_tables_unregister(struct mm_struct *mm, struct unwind_table_info *info)
{
	int ret = __unwind_tables_remove(mm, info);

	if (!ret)
		trace_unwind_tables_unregister(info);
	return ret;
}

void unwind_tables_dropped(const struct unwind_table_info *info)
{
	trace_unwind_tables_drop(info);
}

void unwind_tables_discovered(const struct unwind_table_info *info)
{
	if (info->format == UNWIND_TABLE_ABSENT)
		trace_unwind_tables_absent(info);
	else
		trace_unwind_tables_register(info);
}

void unwind_tables_disabled(const struct unwind_table_info *info)
{
	trace_unwind_tables_disable(info);
}

/*
 * How many mappings the check of one registration may look at, on average,
 * beyond those that the address space has.
 */
#define MAPPINGS_EACH	64

/*
 * Whether all of a range, which may be empty, was dupped. Takes the mappings
 * that it has looked at off @left.
 */
static bool is_dupped(struct mm_struct *mm, unsigned long start, unsigned long end,
		      unsigned long *left)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	/* Nothing of it is in question; and for an iterator an end of 0 would be none. */
	if (start >= end)
		return true;
	for_each_vma_range(vmi, vma, end) {
		if (!*left || vma->vm_start > start || vma->vm_flags & VM_WIPEONFORK)
			return false;
		start = vma->vm_end;
		--*left;
	}
	return start >= end;
}

/*
 * See unwind_tables_forget().
 *
 * Texts do not overlap, so that all of them together are in as many pieces as
 * there are texts and mappings. The same holds for tables that do not overlap.
 * Those that do could be in any number: they must not make fork() slow.
 */
void __unwind_tables_forget(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct unwind_table_info infos[UNWIND_TABLE_FORMATS];
	unsigned long left = 2UL * mm->map_count;
	unsigned long from = 0;
	unsigned int nr, i;

	while ((nr = __unwind_tables_touched(mm, from, start, end, infos))) {
		from = infos[0].text_end;
		left += MAPPINGS_EACH;
		if (!is_dupped(mm, max(infos[0].text_start, start),
			       min(infos[0].text_end, end), &left)) {
			__unwind_tables_drop(mm, infos[0].text_start, UNWIND_TABLE_ABSENT);
			continue;
		}
		for (i = 0; i < nr; i++)
			if (!is_dupped(mm, max(infos[i].table_start, start),
				       min(infos[i].table_end, end), &left))
				__unwind_tables_drop(mm, infos[i].text_start, infos[i].format);
	}
}

/* The bits of the sysctl, and the keys that they stand for. */
enum {
	UNWIND_TABLES_USED	= BIT(0),
	UNWIND_TABLES_DISCOVERY	= BIT(1),
	UNWIND_TABLES_EH_FRAME	= BIT(2),
	UNWIND_TABLES_ALL	= UNWIND_TABLES_USED | UNWIND_TABLES_DISCOVERY |
				  UNWIND_TABLES_EH_FRAME,
};

static void set_key(struct static_key *key, bool on)
{
	if (on)
		static_key_enable(key);
	else
		static_key_disable(key);
}

static int unwind_tables_sysctl(const struct ctl_table *table, int write, void *buffer,
				size_t *lenp, loff_t *ppos)
{
	static DEFINE_MUTEX(mutex);
	static unsigned int highest = UNWIND_TABLES_ALL;
	unsigned int bits = 0;
	const struct ctl_table local = {
		.data	= &bits,
		.maxlen	= sizeof(bits),
		.extra1	= SYSCTL_ZERO,
		.extra2	= &highest,
	};
	int ret;

	if (write && !capable(CAP_SYS_ADMIN))
		return -EPERM;

	guard(mutex)(&mutex);
	if (static_key_enabled(&unwind_tables_used.key))
		bits |= UNWIND_TABLES_USED;
	if (static_key_enabled(&unwind_tables_discovery.key))
		bits |= UNWIND_TABLES_DISCOVERY;
	if (static_key_enabled(&unwind_tables_eh_frame.key))
		bits |= UNWIND_TABLES_EH_FRAME;
	ret = proc_douintvec_minmax(&local, write, buffer, lenp, ppos);
	if (!ret && write) {
		set_key(&unwind_tables_used.key, bits & UNWIND_TABLES_USED);
		set_key(&unwind_tables_discovery.key, bits & UNWIND_TABLES_DISCOVERY);
		set_key(&unwind_tables_eh_frame.key, bits & UNWIND_TABLES_EH_FRAME);
	}
	return ret;
}

static const struct ctl_table unwind_tables_sysctls[] = {
	{
		.procname	= "unwind_tables",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= unwind_tables_sysctl,
	},
	{
		.procname	= "unwind_tables_max",
		.data		= &unwind_tables_max,
		.maxlen		= sizeof(unwind_tables_max),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &unwind_tables_highest_max,
	},
};

static int __init unwind_tables_init_sysctls(void)
{
	register_sysctl_init("kernel", unwind_tables_sysctls);
	return 0;
}
late_initcall(unwind_tables_init_sysctls);
