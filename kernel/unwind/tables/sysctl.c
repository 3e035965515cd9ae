// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: the settings for administrators.
 */
#include <linux/init.h>
#include <linux/sysctl.h>

#include "tables.h"

unsigned int unwind_tables_level = UNWIND_TABLES_DISCOVERED;

/* Limit of texts that exec and the program may register. */
unsigned int unwind_tables_max = 4096;
static unsigned int unwind_tables_highest_max = UNWIND_TABLE_MAX_COUNT;

static const struct ctl_table unwind_tables_sysctls[] = {
	{
		.procname	= "unwind_tables",
		.data		= &unwind_tables_level,
		.maxlen		= sizeof(unwind_tables_level),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_THREE,
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
