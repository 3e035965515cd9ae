/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registering unwind tables, and tables made by hand. What is not said to return something else
 * returns a negative errno if it fails, or a number.
 */
#ifndef TABLES_H
#define TABLES_H

#include <assert.h>
#include <linux/prctl.h>
#include <linux/unwind_tables.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "machine.h"
#include "code.h"
#include "sampler.h"
#include "sysctl.h"

/* Memory, for mmap() and mprotect(). */
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)
#define RW		(PROT_READ | PROT_WRITE)
#define RX		(PROT_READ | PROT_EXEC)

long tables_call(unsigned long operation, void *array, unsigned long count, unsigned long size);
int tables_one(unsigned long operation, const struct unwind_table *table);

#define do_register(table)	tables_one(PR_UNWIND_TABLES_REGISTER, table)
#define do_unregister(table)	tables_one(PR_UNWIND_TABLES_UNREGISTER, table)

/* Who registered a table, and what was found out about it. */
enum table_origin { TABLE_BY_EXEC, TABLE_BY_PRCTL, TABLE_BY_DISCOVERY };
enum table_state { TABLE_UNCHECKED, TABLE_GOOD, TABLE_DISABLED, TABLE_MISSING };

/* A table as /proc/self/unwind_tables lists it. */
struct listed {
	struct unwind_table table;
	enum table_origin origin;
	enum table_state state;
};

/* List up to @count tables, by system calls only. Returns how many there are, or an error. */
long tables_list(struct listed *tables, unsigned long count);
long tables_count(void);
bool same_ranges(const struct unwind_table *a, const struct unwind_table *b);
/* Find a registered table. Its state is TABLE_MISSING if it is not there. */
struct listed tables_find(const struct unwind_table *wanted);
bool registered(const struct unwind_table *wanted);
/* Describe an SFrame table, for a registration. */
struct unwind_table ranges(const void *text, size_t text_len, const void *table, size_t table_len);

/* An SFrame table of one or two functions that share their only row. */
struct hand_table {
	__u16 magic;
	__u8 version;
	__u8 flags;
	__u8 abi;
	__s8 fixed_fp;
	__s8 fixed_ra;
	__u8 aux_len;
	__u32 functions;
	__u32 rows;
	__u32 rows_len;
	__u32 index_at;		/* from the end of the header */
	__u32 rows_at;
	struct {
		__u32 start[2];	/* from the start of the table, of 64 bits */
		__u32 size;
		__u32 rows;
	} index[2];
	__u16 row_count;
	__u8 width_info;
	__u8 kind;
	__u8 block;
	__u8 row_start;
	__u8 row_info;
	__s8 row_cfa;
	__s8 row_ra;		/* where return addresses may be anywhere */
	__u8 unused[3];
};

static_assert(sizeof(struct hand_table) == 28 + 2 * 16 + 5 + 7, "layout");

/* Where things are that tests break, and the reason that the kernel then gives. */
#define VERSION_OFFSET		2
#define VERSION_STATE		"disabled:version@0x2"
#define ROW_INFO_OFFSET		offsetof(struct hand_table, row_info)

/* Let the @nth function of a table, which will be at @at, be a leaf. */
void set_function(struct hand_table *table, int nth, const void *at, const void *function);
/* Make a table, which will be at @at, of one leaf. */
struct hand_table table_for(const void *at, const void *function);
/* Let the functions of a table be callers, whose return address is the only word on the stack. */
void set_callers(struct hand_table *table);
/* Make a table, which will be at @at, of one function that nobody calls. */
struct hand_table table_outermost(const void *at, const void *function);

/*
 * Twelve pages, of which 1 to 4 are text and 6 to 9 a table; nobody may touch
 * those around. There is a leaf at the start of each page of text, and the table
 * knows the first.
 */
#define LAYOUT_PAGES	12
#define TEXT_PAGE	1
#define TABLE_PAGE	6
#define PART_PAGES	4

struct layout {
	unsigned char *area;
	unsigned char *text;
	struct hand_table *table;
	struct unwind_table good;
};

void write_code(void *at, const void *code, size_t len);
void write_leaf(void *at);
int layout_make(struct layout *layout);

/* How a stack goes on behind a leaf. */
enum leaf_stack {
	LEAF_FOUND,	/* at its caller: by the table */
	LEAF_OUTERMOST,	/* not at all, as the table says */
	LEAF_LOST,	/* at its caller's caller: by frame pointer */
	LEAF_WRONG,	/* elsewhere */
	LEAF_NONE,	/* there was no stack */
};

/* Call a leaf that is sampled. A walk by frame pointer skips this function. */
enum leaf_stack call_leaf(struct sampler *sampler, const void *leaf);

/* Why tests are skipped. */
#define NO_TABLES	"no PR_UNWIND_TABLES; see config"
#define NO_STACKS	"no deferred stacks: errno %d; see config"

bool tables_missing(void);
bool ended_well(pid_t pid);
int write_string(const char *path, const char *text);

/* A line of /proc/PID/unwind_tables. */
struct line {
	struct unwind_table table;
	char format[16];
	char origin[16];
	char state[64];
	char path[256];
};

/* Read the unwind_tables file of a process. Returns the number of lines, or an error. */
int proc_all_lines(pid_t pid, struct line *lines, int max);
int proc_lines(pid_t pid, struct line *lines, int max);
struct line *line_of(struct line *lines, int n, const struct unwind_table *table);
/* Find the state of a table in this process' file. It is empty if there is no such table. */
const char *state_of(const struct unwind_table *table);
/* Describe a page of a layout's text as a range of its own, for a registration. */
struct unwind_table page_of(const struct layout *layout, int page);
long batch_call(unsigned long operation, struct unwind_table *batch, unsigned long count);

#endif /* TABLES_H */
