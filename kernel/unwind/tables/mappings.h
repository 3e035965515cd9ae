/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is mapped where.
 */
#ifndef _UNWIND_TABLES_MAPPINGS_H
#define _UNWIND_TABLES_MAPPINGS_H

#include <linux/mm_types.h>

/*
 * Whether all of a range is mapped with all of @flags, and is memory. The caller
 * holds the mmap lock of @mm.
 */
bool unwind_tables_range_is(struct mm_struct *mm, unsigned long start, unsigned long end,
			    vm_flags_t flags);

/* How many ranges of text with a table an address space may have: a sysctl. */
unsigned int unwind_tables_most(void);

#endif /* _UNWIND_TABLES_MAPPINGS_H */
