// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: registering them, and what administrators see.
 */
#define pr_fmt(fmt) "unwind_tables: " fmt

#include <linux/fs.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/unwind_tables.h>

#define CREATE_TRACE_POINTS
#include <trace/events/unwind_tables.h>

DEFINE_STATIC_KEY_TRUE(unwind_tables_used);

/* How many ranges of text with a table an address space may have. */
static unsigned int unwind_tables_max = 4096;
/* How many children got no tables, because there was no memory for them. */
static atomic_long_t unwind_tables_lost;

/* Whether all of a range is mapped with all of @flags, and is memory. */
static bool range_is(struct mm_struct *mm, unsigned long start, unsigned long end,
		     vm_flags_t flags)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > start || (vma->vm_flags & flags) != flags ||
		    vma->vm_flags & (VM_IO | VM_PFNMAP))
			return false;
		start = vma->vm_end;
	}
	return start >= end;
}

/*
 * Look at the mappings and register in one go: whoever unmaps holds the mmap
 * lock for writing, so it either does that before and the check fails, or
 * after and finds the registration.
 *
 * The table's bytes are not looked at. They may change at any time, and most
 * tables are never used.
 */
static int check_and(struct mm_struct *mm, const struct unwind_table_info *info,
		     bool update)
{
	int ret;

	if (info->text_start >= info->text_end || info->text_end > TASK_SIZE_MAX ||
	    info->table_start >= info->table_end || info->table_end > TASK_SIZE_MAX)
		return -EINVAL;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	if (!range_is(mm, info->text_start, info->text_end, VM_EXEC) ||
	    !range_is(mm, info->table_start, info->table_end, VM_READ))
		ret = -EACCES;
	else if (update)
		ret = __unwind_tables_replace(mm, info);
	else
		ret = __unwind_tables_insert(mm, info, READ_ONCE(unwind_tables_max));
	mmap_read_unlock(mm);

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
 *	   has 4 GiB or more; -EACCES if some of the text is not executable
 *	   memory or some of the table not readable memory; -EEXIST if some of
 *	   the text has a table already; -ENOSPC if there are too many; -ENOMEM;
 *	   -EINTR if the task is being killed.
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
 * Return: 0; -ENOENT if there is no such text; -EINVAL, -EACCES, -ENOMEM or
 *	   -EINTR as unwind_tables_register().
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
 * @info: The range of text, just as it was registered; the rest is filled in
 *
 * Context: Process context, may sleep. @mm must have users.
 * Return: 0, or -ENOENT if there is no such text.
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

/* Name the file that the text is mapped from. */
static const char *text_name(const struct unwind_table_info *info, char *name, size_t size)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	strscpy(name, "no file", size);
	if (mmap_read_lock_killable(mm))
		return name;
	vma = vma_lookup(mm, info->text_start);
	if (vma && vma->vm_file)
		snprintf(name, size, "%pD4", vma->vm_file);
	mmap_read_unlock(mm);

	return name;
}

void unwind_tables_disabled(const struct unwind_table_info *info)
{
	char name[256];

	trace_unwind_tables_disable(info);
	/* The text is named, under the mmap lock, only if this is printed. */
	pr_debug("%s[%d]: table at %lx of text %lx-%lx (%s) disabled: %s at 0x%x\n",
		 current->comm, task_pid_nr(current), info->table_start,
		 info->text_start, info->text_end, text_name(info, name, sizeof(name)),
		 info->reason_name, info->reason_offset);
}

/* How many mappings text or a table may be in, or a child does not get it. */
#define MOST_MAPPINGS	64

/* Whether all of a range was dupped. */
static bool is_dupped(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;
	unsigned int mappings = 0;

	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > start || vma->vm_flags & VM_WIPEONFORK ||
		    ++mappings > MOST_MAPPINGS)
			return false;
		start = vma->vm_end;
	}
	return start >= end;
}

/* See unwind_tables_check(). */
void __unwind_tables_check(struct mm_struct *mm)
{
	struct unwind_table_info info;
	unsigned long from = 0;

	while (__unwind_tables_next(mm, from, &info)) {
		from = info.text_end;
		if ((!is_dupped(mm, info.text_start, info.text_end) ||
		     !is_dupped(mm, info.table_start, info.table_end)) &&
		    !__unwind_tables_remove(mm, &info))
			unwind_tables_dropped(&info);
		cond_resched();
	}
}

void unwind_tables_not_dupped(void)
{
	atomic_long_inc(&unwind_tables_lost);
}

static const struct ctl_table unwind_tables_sysctls[] = {
	{
		.procname	= "unwind_tables",
		.data		= &unwind_tables_used.key,
		.maxlen		= sizeof(unwind_tables_used),
		.mode		= 0644,
		.proc_handler	= proc_do_static_key,
	},
	{
		.procname	= "unwind_tables_max",
		.data		= &unwind_tables_max,
		.maxlen		= sizeof(unwind_tables_max),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_INT_MAX,
	},
	{
		.procname	= "unwind_tables_lost",
		.data		= &unwind_tables_lost,
		.maxlen		= sizeof(unwind_tables_lost),
		.mode		= 0444,
		.proc_handler	= proc_doulongvec_minmax,
	},
};

static int __init unwind_tables_init_sysctls(void)
{
	register_sysctl_init("kernel", unwind_tables_sysctls);
	return 0;
}
late_initcall(unwind_tables_init_sysctls);
