// SPDX-License-Identifier: GPL-2.0
#include <linux/prctl.h>
#include <linux/unwind_tables.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "forget.h"

bool forget_rules(void)
{
	static char *text;
	struct unwind_table table = { .format = UNWIND_TABLE_SFRAME };

	if (!text) {
		text = mmap(NULL, 2 * 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (text == MAP_FAILED)
			return false;
	}
	table.text_start = (unsigned long)text;
	table.text_end = table.text_start + 4096;
	table.table_start = table.text_end;
	table.table_end = table.table_start + 4096;

	return syscall(__NR_prctl, PR_UNWIND_TABLES, PR_UNWIND_TABLES_REGISTER, &table, 1L,
		       sizeof(table)) == 1 &&
	       syscall(__NR_prctl, PR_UNWIND_TABLES, PR_UNWIND_TABLES_UNREGISTER, &table, 1L,
		       sizeof(table)) == 1;
}
