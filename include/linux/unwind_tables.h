/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of user space: what other parts of the kernel call.
 */
#ifndef _LINUX_UNWIND_TABLES_H
#define _LINUX_UNWIND_TABLES_H

#include <linux/errno.h>
#include <linux/mm_types.h>
#include <uapi/linux/unwind_tables.h>

/* Not a format: the kernel knows that there is no table. */
#define UNWIND_TABLE_ABSENT		0
/* A text has at most one table of each format. */
#define UNWIND_TABLE_FORMATS		2

/* Who registered a table. */
enum unwind_table_origin {
	UNWIND_TABLE_BY_EXEC,
	UNWIND_TABLE_BY_PRCTL,
	UNWIND_TABLE_BY_DISCOVERY,
};

/* The state of a table. */
enum unwind_table_state {
	UNWIND_TABLE_UNCHECKED,
	UNWIND_TABLE_GOOD,
	UNWIND_TABLE_DISABLED,
};

/**
 * struct unwind_table_info - A line of /proc/PID/unwind_tables
 * @text_start:	   Address of the first byte of text
 * @text_end:	   Address after the last byte of text
 * @table_start:   Address of the table's first byte
 * @table_end:	   Address after the last byte that the table may use
 * @header:	   Address of the header of an .eh_frame table, .eh_frame_hdr
 * @format:	   The table's format, UNWIND_TABLE_SFRAME, _EH_FRAME or _ABSENT
 * @origin:	   Who registered it, an enum unwind_table_origin
 * @state:	   The table's state, an enum unwind_table_state
 * @reason_offset: Where a disabled table is malformed, in bytes from its start
 * @reason:	   Why the table is disabled, or why there is none, in a word; or NULL
 */
struct unwind_table_info {
	unsigned long text_start;
	unsigned long text_end;
	unsigned long table_start;
	unsigned long table_end;
	unsigned long header;
	unsigned int format;
	unsigned int origin;
	unsigned int state;
	unsigned int reason_offset;
	const char *reason;
};

#ifdef CONFIG_UNWIND_USER_TABLES

long unwind_tables_prctl(unsigned long operation, struct unwind_table __user *tables,
			 unsigned long count, unsigned long size);

/*
 * Fills in @infos for the first text that ends above @from: one for each table, or one if
 * the text has none. Returns their number, or 0 if there is no such text. @mm must have
 * users.
 */
unsigned int unwind_tables_next(struct mm_struct *mm, unsigned long from,
				struct unwind_table_info infos[UNWIND_TABLE_FORMATS]);

/**
 * unwind_tables_exec - Register the tables of a program or its interpreter
 * @mm:	     current->mm, where exec has mapped it
 * @bias:    What was added to the addresses of the file
 * @headers: Its program headers, of 64 bits
 * @len:     How many bytes these have
 *
 * This does not read the tables; most are never used. It ignores all errors: the program
 * starts.
 *
 * Context: Process context, takes the mmap lock.
 */
void unwind_tables_exec(struct mm_struct *mm, unsigned long bias, const void *headers,
			size_t len);

/* For the inline functions below. */
void __unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm);
void __unwind_tables_unmap(struct mm_struct *mm, unsigned long start, unsigned long end);
void __unwind_tables_free(struct unwind_tables *tables);

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
 * @oldmm: The one that it becomes a copy of
 *
 * If there is no memory, @mm gets no tables. That is no reason for fork() to fail.
 *
 * Context: Process context, may sleep. The caller holds the mmap lock of @oldmm
 *	    for writing.
 */
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm)
{
	if (READ_ONCE(oldmm->unwind_tables))
		__unwind_tables_dup(mm, oldmm);
}

/**
 * unwind_tables_unmap - Remove the texts of memory that is unmapped
 * @mm:	   The address space
 * @start: Address of the first byte that is unmapped
 * @end:   Address after the last one
 *
 * Memory that a child does not get, or gets empty, is unmapped in the child.
 *
 * Context: Process context, may sleep. The caller holds the mmap lock of @mm
 *	    for writing, or nobody else uses @mm.
 */
static inline void unwind_tables_unmap(struct mm_struct *mm, unsigned long start,
				       unsigned long end)
{
	if (READ_ONCE(mm->unwind_tables))
		__unwind_tables_unmap(mm, start, end);
}

/**
 * unwind_tables_exit - Free the registry of an address space
 * @mm: The address space, which has lost its last user
 *
 * Context: Process context, may sleep.
 */
static inline void unwind_tables_exit(struct mm_struct *mm)
{
	if (mm->unwind_tables)
		__unwind_tables_free(mm->unwind_tables);
	mm->unwind_tables = NULL;
}

#else /* !CONFIG_UNWIND_USER_TABLES */

static inline long unwind_tables_prctl(unsigned long operation,
				       struct unwind_table __user *tables,
				       unsigned long count, unsigned long size)
{
	return -EINVAL;
}

static inline void unwind_tables_init(struct mm_struct *mm) {}
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm) {}
static inline void unwind_tables_unmap(struct mm_struct *mm, unsigned long start,
				       unsigned long end) {}
static inline void unwind_tables_exec(struct mm_struct *mm, unsigned long bias,
				      const void *headers, size_t len) {}
static inline void unwind_tables_exit(struct mm_struct *mm) {}

#endif /* !CONFIG_UNWIND_USER_TABLES */

#endif /* _LINUX_UNWIND_TABLES_H */
