/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Unwind tables that a process registers, so that profilers can follow its
 * stacks: prctl(PR_UNWIND_TABLES, operation, array, count, size).
 *
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#ifndef _UAPI_LINUX_UNWIND_TABLES_H
#define _UAPI_LINUX_UNWIND_TABLES_H

#include <linux/types.h>

/* Formats of tables. */
#define UNWIND_TABLE_SFRAME	1	/* SFrame, version 3 */
#define UNWIND_TABLE_EH_FRAME	2	/* .eh_frame, with .eh_frame_hdr */

/* What is known about a table. */
#define UNWIND_TABLE_UNCHECKED	0	/* it was not used yet */
#define UNWIND_TABLE_GOOD	1	/* its header is good */
#define UNWIND_TABLE_DISABLED	2	/* it is malformed, and not used */

/* Where a table comes from. */
#define UNWIND_TABLE_BY_EXEC	0	/* exec registered it */
#define UNWIND_TABLE_BY_PRCTL	1	/* the program registered it */
#define UNWIND_TABLE_BY_DISCOVERY 2	/* the kernel found it in a mapped file */

/*
 * How many elements a call may have. An address space never has more tables
 * than this.
 */
#define UNWIND_TABLE_MAX_COUNT	(1 << 20)

/**
 * struct unwind_table - A range of text and a table that describes it
 * @text_start:    Address of the first byte of text
 * @text_end:	   Address after the last byte of text
 * @table_start:   Address of the table's first byte
 * @table_end:	   Address after the last byte that the table may use
 * @header:	   For UNWIND_TABLE_EH_FRAME the address of .eh_frame_hdr, which is
 *		   in the table, too; else 0
 * @format:	   The table's format, UNWIND_TABLE_SFRAME or _EH_FRAME
 * @flags:	   Must be 0
 * @state:	   UNWIND_TABLE_UNCHECKED, _GOOD or _DISABLED
 * @origin:	   UNWIND_TABLE_BY_EXEC, _BY_PRCTL or _BY_DISCOVERY
 *
 * PR_UNWIND_TABLES_ENUMERATE fills in @state and @origin. For the other
 * operations both must be 0.
 */
struct unwind_table {
	__u64 text_start;
	__u64 text_end;
	__u64 table_start;
	__u64 table_end;
	__u64 header;
	__u32 format;
	__u32 flags;
	__u32 state;
	__u32 origin;
};

#define UNWIND_TABLE_SIZE_VER0	56	/* sizeof first published struct */

#endif /* _UAPI_LINUX_UNWIND_TABLES_H */
