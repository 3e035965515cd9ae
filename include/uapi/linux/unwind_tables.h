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

/*
 * How many elements a call may have. A program never registers more texts than
 * this.
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
 *
 * To unregister a table, only @text_start, @text_end and @format count.
 */
struct unwind_table {
	__u64 text_start;
	__u64 text_end;
	__u64 table_start;
	__u64 table_end;
	__u64 header;
	__u32 format;
	__u32 flags;
};

#define UNWIND_TABLE_SIZE_VER0	48	/* sizeof first published struct */

#endif /* _UAPI_LINUX_UNWIND_TABLES_H */
