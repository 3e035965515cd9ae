// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/unwind_tables: which text has which unwind table, and what became
 * of it. See Documentation/userspace-api/unwind_tables.rst.
 */
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/unwind_tables.h>

#include "internal.h"

struct unwind_tables_seq {
	struct mm_struct *mm;
	/* Whether @mm has users because of this. */
	bool held;
	/* The tables of a text, or that it has none. */
	struct unwind_table_info infos[UNWIND_TABLE_FORMATS];
	unsigned int nr;
};

/* A position is an address: the next text is the first that ends behind it. */
static void *tables_find(struct unwind_tables_seq *seq, loff_t pos)
{
	seq->nr = unwind_tables_next(seq->mm, pos, seq->infos);
	return seq->nr ? seq : NULL;
}

static void *tables_start(struct seq_file *m, loff_t *pos)
{
	struct unwind_tables_seq *seq = m->private;

	seq->held = seq->mm && mmget_not_zero(seq->mm);
	return seq->held ? tables_find(seq, *pos) : NULL;
}

static void *tables_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct unwind_tables_seq *seq = m->private;

	*pos = seq->infos[0].text_end;
	return tables_find(seq, *pos);
}

static void tables_stop(struct seq_file *m, void *v)
{
	struct unwind_tables_seq *seq = m->private;

	if (seq->held)
		mmput(seq->mm);
	seq->held = false;
}

static int tables_show_one(struct seq_file *m, const struct unwind_table_info *info)
{
	static const char * const formats[] = {
		[UNWIND_TABLE_ABSENT] = "none",
		[UNWIND_TABLE_SFRAME] = "sframe",
		[UNWIND_TABLE_EH_FRAME] = "eh_frame",
	};
	static const char * const origins[] = {
		[UNWIND_TABLE_BY_EXEC] = "exec",
		[UNWIND_TABLE_BY_PRCTL] = "prctl",
		[UNWIND_TABLE_BY_DISCOVERY] = "discovery",
	};
	static const char * const states[] = {
		[UNWIND_TABLE_UNCHECKED] = "unchecked",
		[UNWIND_TABLE_GOOD] = "good",
		[UNWIND_TABLE_DISABLED] = "disabled",
	};
	struct unwind_tables_seq *seq = m->private;
	struct vm_area_struct *vma;
	const char *name = NULL;

	seq_printf(m, "%08lx-%08lx %08lx-%08lx %08lx %s %s ",
		   info->text_start, info->text_end,
		   info->table_start, info->table_end, info->header,
		   formats[info->format], origins[info->origin]);
	if (info->format == UNWIND_TABLE_ABSENT)
		seq_printf(m, "absent:%s", info->reason);
	else
		seq_puts(m, states[info->state]);
	if (info->state == UNWIND_TABLE_DISABLED)
		seq_printf(m, ":%s@0x%x", info->reason, info->reason_offset);

	if (mmap_read_lock_killable(seq->mm))
		return -EINTR;
	vma = vma_lookup(seq->mm, info->text_start);
	if (vma && vma->vm_file) {
		seq_putc(m, ' ');
		seq_path(m, file_user_path(vma->vm_file), "\n");
	} else if (vma && vma->vm_ops && vma->vm_ops->name) {
		name = vma->vm_ops->name(vma);
	}
	if (name)
		seq_printf(m, " %s", name);
	mmap_read_unlock(seq->mm);
	seq_putc(m, '\n');

	return 0;
}

/* A line for each table. */
static int tables_show(struct seq_file *m, void *v)
{
	struct unwind_tables_seq *seq = m->private;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < seq->nr && !ret; i++)
		ret = tables_show_one(m, &seq->infos[i]);
	return ret;
}

static const struct seq_operations tables_ops = {
	.start	= tables_start,
	.next	= tables_next,
	.stop	= tables_stop,
	.show	= tables_show,
};

static int tables_open(struct inode *inode, struct file *file)
{
	struct unwind_tables_seq *seq = __seq_open_private(file, &tables_ops, sizeof(*seq));

	if (!seq)
		return -ENOMEM;

	/* Who may see the mappings may see this. */
	seq->mm = proc_mem_open(inode, PTRACE_MODE_READ);
	if (IS_ERR(seq->mm)) {
		int ret = PTR_ERR(seq->mm);

		seq_release_private(inode, file);
		return ret;
	}
	return 0;
}

static int tables_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct unwind_tables_seq *seq = m->private;

	if (seq->mm)
		mmdrop(seq->mm);
	return seq_release_private(inode, file);
}

const struct file_operations proc_pid_unwind_tables_operations = {
	.open		= tables_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= tables_release,
};
