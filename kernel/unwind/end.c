// SPDX-License-Identifier: GPL-2.0
/*
 * How user stacks ended: what administrators see.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/unwind_user.h>

#define CREATE_TRACE_POINTS
#include <trace/events/unwind_user.h>

struct unwind_user_counts {
	unsigned long	ends[NR_UNWIND_USER_ENDS];
	unsigned long	guessed;
};

static DEFINE_PER_CPU(struct unwind_user_counts, unwind_user_counts);

/**
 * unwind_user_ended - Take note of how a stack ended
 * @trace: The stack
 * @last:  How its last frame was found, UNWIND_USER_TYPE_NONE for the topmost; or how
 *	   an address behind that was found that is no code
 *
 * Context: Process context.
 */
void unwind_user_ended(const struct unwind_stacktrace *trace, enum unwind_user_type last)
{
	this_cpu_inc(unwind_user_counts.ends[trace->end]);
	if (trace->guessed)
		this_cpu_inc(unwind_user_counts.guessed);
	trace_unwind_user_end(trace, last);
}

#ifdef CONFIG_DEBUG_FS

static const char * const end_names[NR_UNWIND_USER_ENDS] = {
	[UNWIND_USER_END_NONE]		= "none",
	[UNWIND_USER_END_COMPLETE]	= "complete",
	[UNWIND_USER_END_NO_INFO]	= "no-information",
	[UNWIND_USER_END_FAULT]		= "fault",
	[UNWIND_USER_END_MALFORMED]	= "malformed",
	[UNWIND_USER_END_BAD_FRAME]	= "bad-frame",
	[UNWIND_USER_END_DEPTH]		= "depth",
	[UNWIND_USER_END_BUDGET]	= "budget",
	[UNWIND_USER_END_UNSUPPORTED]	= "unsupported",
	[UNWIND_USER_END_RULE]		= "rule",
};

static unsigned long sum_of(const unsigned long __percpu *count)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		/* Other CPUs go on counting. */
		sum += data_race(*per_cpu_ptr(count, cpu));
	}
	return sum;
}

static int ends_show(struct seq_file *file, void *unused)
{
	unsigned int end;

	for (end = UNWIND_USER_END_COMPLETE; end < NR_UNWIND_USER_ENDS; end++)
		seq_printf(file, "%-15s %10lu\n", end_names[end],
			   sum_of(&unwind_user_counts.ends[end]));
	seq_printf(file, "%-15s %10lu\n", "guessed", sum_of(&unwind_user_counts.guessed));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ends);

static int __init unwind_user_debugfs(void)
{
	struct dentry *dir = debugfs_create_dir("unwind_user", NULL);

	debugfs_create_file("ends", 0444, dir, NULL, &ends_fops);
	return 0;
}
late_initcall(unwind_user_debugfs);

#endif /* CONFIG_DEBUG_FS */
