/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registering unwind tables, and tables made by hand.
 *
 * For programs with a C library, after kselftest_harness.h.
 */
#ifndef TABLES_H
#define TABLES_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/prctl.h>
#include <linux/unwind_tables.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler.h"

#define PAGE	4096UL

/* The system call as it is: a number of elements or a negative errno. */
static inline long tables_call(unsigned long operation, void *array,
			       unsigned long count, unsigned long size)
{
	long ret = syscall(__NR_prctl, PR_UNWIND_TABLES, operation, array, count, size);

	return ret < 0 ? -errno : ret;
}

/* The same for one element: 0 or a negative errno. */
static inline int tables_one(unsigned long operation, const struct unwind_table *table)
{
	long ret = tables_call(operation, (void *)table, 1, sizeof(*table));

	if (ret == 1)
		return 0;
	return ret < 0 ? ret : -EPROTO;
}

#define do_register(table)	tables_one(PR_UNWIND_TABLES_REGISTER, table)
#define do_unregister(table)	tables_one(PR_UNWIND_TABLES_UNREGISTER, table)
#define do_update(table)	tables_one(PR_UNWIND_TABLES_UPDATE, table)

static inline long tables_list(struct unwind_table *tables, unsigned long count)
{
	return tables_call(PR_UNWIND_TABLES_ENUMERATE, tables, count, sizeof(*tables));
}

static inline long tables_count(void)
{
	return tables_list(NULL, 0);
}

static inline bool same_ranges(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->text_start == b->text_start && a->text_end == b->text_end &&
	       a->table_start == b->table_start && a->table_end == b->table_end;
}

/* What is known about a registered table; its state is -1 if it is not there. */
static inline struct unwind_table tables_find(const struct unwind_table *wanted)
{
	struct unwind_table all[256];
	long count = tables_list(all, 256);

	for (long i = 0; i < count && i < 256; i++) {
		if (same_ranges(&all[i], wanted))
			return all[i];
	}
	return (struct unwind_table){ .state = -1 };
}

static inline bool registered(const struct unwind_table *wanted)
{
	return tables_find(wanted).state != (__u32)-1;
}

static inline struct unwind_table ranges(const void *text, size_t text_len,
					 const void *table, size_t table_len)
{
	return (struct unwind_table){
		.text_start = (unsigned long)text,
		.text_end = (unsigned long)text + text_len,
		.table_start = (unsigned long)table,
		.table_end = (unsigned long)table + table_len,
		.format = UNWIND_TABLE_SFRAME,
	};
}

/*
 * A function that makes a system call to be sampled, and returns where it
 * returns to. It has no frame: by frame pointer its caller is skipped.
 *
 *	mov	$__NR_getppid, %eax
 *	syscall
 *	mov	(%rsp), %rax
 *	ret
 */
static const unsigned char leaf_code[] = {
	0xb8, 0x6e, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x48, 0x8b, 0x04, 0x24, 0xc3,
};

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
};

static_assert(sizeof(struct hand_table) == 28 + 2 * 16 + 5 + 3, "layout");

/* Where things are that tests break, and the reason that the kernel then gives. */
#define VERSION_OFFSET		2
#define VERSION_REASON		4
#define VERSION_STATE		"disabled:version@0x2"
#define ROW_INFO_OFFSET		(sizeof(struct hand_table) - 2)

/* Say where a function is, in a table that is going to stand at an address. */
static inline void set_function(struct hand_table *table, int nth, const void *at,
				const void *function)
{
	long start = (long)function - (long)at;

	memcpy(table->index[nth].start, &start, sizeof(start));
	table->index[nth].size = sizeof(leaf_code);
}

/*
 * A table that is going to stand at an address, for a function like leaf_code:
 * the caller's frame is at rsp+8.
 */
static inline struct hand_table table_for(const void *at, const void *function)
{
	struct hand_table table = {
		.magic = 0xdee2,
		.version = 3,
		.flags = 1,	/* sorted */
		.abi = 3,	/* AMD64 */
		.fixed_ra = -8,
		.functions = 1,
		.rows = 1,
		.rows_len = 5 + 3,
		.rows_at = 2 * 16,
		.row_count = 1,
		.row_info = 0x03,	/* from SP, one word of a byte */
		.row_cfa = 8,
	};

	set_function(&table, 0, at, function);
	return table;
}

/* The same table, which says that nobody has called the function. */
static inline struct hand_table table_outermost(const void *at, const void *function)
{
	struct hand_table table = table_for(at, function);

	table.row_info = 0;
	table.rows_len = 5 + 2;
	return table;
}

/*
 * Twelve pages, of which 1 to 4 are text and 6 to 9 a table; nobody may touch
 * those around. There is a leaf at the start of each page of text, and the table
 * knows the first.
 */
#define PLACE_PAGES	12
#define TEXT_PAGE	1
#define TABLE_PAGE	6
#define PART_PAGES	4

struct place {
	unsigned char *area;
	unsigned char *text;
	struct hand_table *table;
	struct unwind_table good;
};

static inline void write_leaf(void *at)
{
	memcpy(at, leaf_code, sizeof(leaf_code));
}

/* Make a place; returns 0 or a negative errno. */
static inline int place_make(struct place *place)
{
	unsigned char *area = mmap(NULL, PLACE_PAGES * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return -errno;
	place->area = area;
	place->text = area + TEXT_PAGE * PAGE;
	place->table = (struct hand_table *)(area + TABLE_PAGE * PAGE);
	for (int i = 0; i < PART_PAGES; i++)
		write_leaf(place->text + i * PAGE);
	*place->table = table_for(place->table, place->text);
	place->good = ranges(place->text, PART_PAGES * PAGE, place->table, PART_PAGES * PAGE);

	if (mprotect(place->text, PART_PAGES * PAGE, PROT_READ | PROT_EXEC) ||
	    mprotect(area, TEXT_PAGE * PAGE, PROT_NONE) ||
	    mprotect(area + (TEXT_PAGE + PART_PAGES) * PAGE, PAGE, PROT_NONE) ||
	    mprotect(area + (TABLE_PAGE + PART_PAGES) * PAGE, 2 * PAGE, PROT_NONE))
		return -errno;
	return 0;
}

/* How a stack goes on behind a leaf. */
enum walk {
	WALK_FOUND,	/* at its caller: by the table */
	WALK_OUTERMOST,	/* not at all, as the table says */
	WALK_LOST,	/* at its caller's caller: by frame pointer */
	WALK_WRONG,	/* elsewhere */
	WALK_NONE,	/* there was no stack */
};

static inline enum walk chain_of_leaf(struct sampler *sampler, unsigned long caller,
				      unsigned long skipped_to)
{
	static __thread struct chain chain;
	const char *error = sampler_chain(sampler, &chain);

	if (error) {
		ksft_print_msg("%s\n", error);
		return WALK_NONE;
	}
	if (chain.nr == 1)
		return WALK_OUTERMOST;
	if (chain.ips[1] == caller)
		return WALK_FOUND;
	return chain.ips[1] == skipped_to ? WALK_LOST : WALK_WRONG;
}

/*
 * Call a leaf and see. Who does that has a frame pointer, is skipped if that is
 * followed, and returns to this address: the function this is inlined into, too.
 */
static inline enum walk walk(struct sampler *sampler, const void *leaf)
{
	unsigned long caller = ((unsigned long (*)(void))leaf)();

	return chain_of_leaf(sampler, caller, (unsigned long)__builtin_return_address(0));
}

/* Why tests are skipped. */
#define NO_TABLES	"no PR_UNWIND_TABLES; see config"
#define NO_STACKS	"no deferred stacks: errno %d; see config"

static inline bool tables_missing(void)
{
	return tables_count() == -EINVAL;
}

/* Whether an error of sampler_open() says that it cannot be had here. */
static inline bool stacks_missing(int error)
{
	return error == EINVAL || error == ENOENT || error == EACCES || error == EPERM;
}

/* Whether a child has exited with 0. */
static inline bool ended_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* Write a string to a file; returns 0 or a negative errno. */
static inline int write_string(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

/* A line of /proc/PID/unwind_tables. */
struct line {
	struct unwind_table table;
	char format[16];
	char origin[16];
	char state[64];
	char path[256];
};

/* Read the file of a process; returns the number of lines or a negative errno. */
static inline int proc_all_lines(pid_t pid, struct line *lines, int max)
{
	char path[64], text[1024];
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/unwind_tables", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (n < max && fgets(text, sizeof(text), file)) {
		struct line *line = &lines[n++];

		memset(line, 0, sizeof(*line));
		if (sscanf(text, "%llx-%llx %llx-%llx %15s %15s %63s %255[^\n]",
			   &line->table.text_start, &line->table.text_end,
			   &line->table.table_start, &line->table.table_end, line->format,
			   line->origin, line->state, line->path) < 7)
			n = -EPROTO;
		if (n < 0)
			break;
	}
	fclose(file);
	return n;
}

/* The same, without the texts that are known to have no table. */
static inline int proc_lines(pid_t pid, struct line *lines, int max)
{
	int n = proc_all_lines(pid, lines, max), kept = 0;

	for (int i = 0; i < n; i++) {
		if (strcmp(lines[i].format, "none"))
			lines[kept++] = lines[i];
	}
	return n < 0 ? n : kept;
}

/* The line that has the ranges, or NULL. */
static inline struct line *line_of(struct line *lines, int n, const struct unwind_table *table)
{
	for (int i = 0; i < n; i++) {
		if (same_ranges(&lines[i].table, table))
			return &lines[i];
	}
	return NULL;
}

/* A page of the place's text as a range of its own. */
static inline struct unwind_table page_of(const struct place *place, int page)
{
	return ranges(place->text + page * PAGE, PAGE, place->table, PART_PAGES * PAGE);
}

/* One call for several. */
static inline long batch_call(unsigned long operation, struct unwind_table *batch,
			      unsigned long count)
{
	return tables_call(operation, batch, count, sizeof(*batch));
}

#endif /* TABLES_H */
