// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unwind tables for generated code: SFrame, version 3, for the kernel.
 *
 * The kernel reads a table's header once and keeps it. So a published table has room: an
 * index of a fixed number of functions, of which those that are not used yet are empty, and
 * room for rows. A function is appended by writing its rows and then its entry, while others
 * may be searching the table.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables.h"
#include "unwind_jit.h"

/* A table's header. Offsets count from its end. */
struct sframe_header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint8_t abi;
	int8_t fixed_fp;
	int8_t fixed_ra;
	uint8_t aux_len;
	uint32_t functions;
	uint32_t rows;
	uint32_t rows_len;
	uint32_t index_offset;
	uint32_t rows_offset;
};

#define SFRAME_MAGIC		0xdee2
#define SFRAME_VERSION		3
#define SFRAME_SORTED		0x01	/* the index is, by address */
#define SFRAME_PC_RELATIVE	0x04	/* starts count from where they stand */
#define SFRAME_AMD64		3
#define SFRAME_AMD64_FIXED_RA	-8	/* the return address is at CFA - 8 */

/* An entry of the index. */
struct sframe_function {
	int64_t start;
	uint32_t size;
	uint32_t rows_offset;
};

/* What stands before the rows of a function: their number, and the size of their offsets. */
#define ATTRIBUTE_LEN		5
#define ATTRIBUTE_ROWS		0
#define ATTRIBUTE_INFO		2
#define MAX_ROWS		UINT16_MAX

/* A row is its offset, this byte, and words: the CFA, and where the frame pointer is. */
#define ROW_FROM_SP		0x01
#define ROW_WORDS(nr)		((nr) << 1)
#define ROW_WIDTH(code)		((code) << 5)

/*
 * The header does not start at a page, but so that the index behind it is aligned: the
 * start of a function is written at once.
 */
#define HEADER_AT		(sizeof(struct sframe_function) * 2 - sizeof(struct sframe_header))
#define INDEX_AT		(HEADER_AT + sizeof(struct sframe_header))

/* The least room of a table: with it, all is in two pages. */
#define MIN_FUNCTIONS		128
#define MIN_ROWS_LEN		2048

/*
 * How many tables are kept that the kernel had before. A lookup reads a table without a
 * lock, and its task may be preempted meanwhile. If the memory gets another table then,
 * that stack is wrong.
 */
#define OLD_TABLES		4

/* A function, with its attribute and rows as tables have them. */
struct function {
	uint64_t start;
	uint32_t size;
	uint32_t len;
	uint8_t *rows;
};

/* A table in memory. */
struct table {
	uint8_t *memory;
	size_t mapped;
	struct sframe_function *index;
	uint8_t *rows;
	size_t functions;		/* how many the index has */
	size_t used;			/* how many of them are not empty */
	size_t rows_len;
	size_t rows_used;
};

struct unwind_jit {
	uint64_t start;
	uint64_t end;
	bool downwards;
	bool registered;
	bool stale;			/* the table does not say everything, or too much */
	bool appended;			/* something was, since the last time of publishing */
	struct function *functions;	/* in the order in which they are appended */
	size_t nr;
	size_t room;
	struct table table;		/* what the kernel has */
	struct table old[OLD_TABLES];	/* what it had before, the newest one first */
};

/* Which entry of the table the function @nth is. */
static size_t place(const struct unwind_jit *region, const struct table *table, size_t nth)
{
	return region->downwards ? table->functions - 1 - nth : nth;
}

/*
 * Where empty functions start. It is such that an empty one that has got its size, but not
 * its start yet, does not reach into the region.
 */
static uint64_t nowhere(const struct unwind_jit *region)
{
	uint64_t size = region->end - region->start;

	if (!region->downwards)
		return region->end;
	return region->start > size ? region->start - size : 0;
}

/* Make a function of an entry that is empty. Whoever finds its start finds all of it. */
static void write_entry(struct sframe_function *entry, uint64_t start, uint32_t size,
			uint32_t rows_offset)
{
	__atomic_store_n(&entry->rows_offset, rows_offset, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->size, size, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->start, start - (uintptr_t)&entry->start, __ATOMIC_RELEASE);
}

/*
 * Whether function @nth, the first one that the table does not have, can be appended while
 * others search the table.
 */
static bool has_room(const struct unwind_jit *region, size_t nth)
{
	const struct function *function = &region->functions[nth];
	const struct table *table = &region->table;

	if (nth != table->used || table->used == table->functions)
		return false;
	if (function->len > table->rows_len - table->rows_used)
		return false;
	/* Of a region at the very start of memory: see nowhere(). */
	return !region->downwards || nowhere(region) + function->size <= region->start;
}

/* Append function @nth. */
static void append(const struct unwind_jit *region, struct table *table, size_t nth)
{
	const struct function *function = &region->functions[nth];

	memcpy(table->rows + table->rows_used, function->rows, function->len);
	write_entry(&table->index[place(region, table, nth)], function->start, function->size,
		    table->rows_used);
	table->rows_used += function->len;
	table->used++;
}

static void unmap(struct table *table)
{
	if (table->memory)
		munmap(table->memory, table->mapped);
	*table = (struct table){ 0 };
}

/* The kernel has another table. Keep the one that it had instead of the oldest one. */
static void replace_table(struct unwind_jit *region, const struct table *table)
{
	unmap(&region->old[OLD_TABLES - 1]);
	memmove(&region->old[1], &region->old[0], (OLD_TABLES - 1) * sizeof(region->old[0]));
	region->old[0] = region->table;
	region->table = *table;
}

/* Write a table of all functions, with as much room again. Return 0 or -ENOMEM. */
static int write_table(const struct unwind_jit *region, struct table *table)
{
	size_t page = sysconf(_SC_PAGESIZE), functions = 2 * region->nr;
	size_t rows_len = ATTRIBUTE_LEN, mapped, nth;
	void *memory;
	struct sframe_header header = {
		.magic = SFRAME_MAGIC,
		.version = SFRAME_VERSION,
		.flags = SFRAME_SORTED | SFRAME_PC_RELATIVE,
		.abi = SFRAME_AMD64,
		.fixed_ra = SFRAME_AMD64_FIXED_RA,
	};

	for (nth = 0; nth < region->nr; nth++)
		rows_len += region->functions[nth].len;
	rows_len *= 2;
	if (functions < MIN_FUNCTIONS)
		functions = MIN_FUNCTIONS;
	if (rows_len < MIN_ROWS_LEN)
		rows_len = MIN_ROWS_LEN;

	mapped = INDEX_AT + functions * sizeof(*table->index) + rows_len;
	mapped = (mapped + page - 1) & -page;
	/* More than a table may have. */
	if (mapped > UINT32_MAX)
		return -ENOMEM;
	memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	table->memory = memory;
	table->mapped = mapped;
	table->index = (struct sframe_function *)(table->memory + INDEX_AT);
	table->functions = functions;
	table->used = 0;
	table->rows = (uint8_t *)(table->index + functions);
	table->rows_len = table->memory + mapped - table->rows;
	/* Empty functions have an attribute of zeros: no rows. */
	table->rows_used = ATTRIBUTE_LEN;

	header.functions = functions;
	header.rows_len = table->rows_len;
	header.rows_offset = functions * sizeof(*table->index);
	memcpy(table->memory + HEADER_AT, &header, sizeof(header));

	for (nth = 0; nth < functions; nth++)
		write_entry(&table->index[nth], nowhere(region), 0, 0);
	for (nth = 0; nth < region->nr; nth++)
		append(region, table, nth);
	return 0;
}

/* How many functions come before one that starts at @start, in the order of appending. */
static size_t count_before(const struct unwind_jit *region, uint64_t start)
{
	size_t low = 0, high = region->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		bool below = region->functions[mid].start < start;

		if (below != region->downwards)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool overlaps(const struct unwind_jit *region, size_t nth, uint64_t start, uint64_t end)
{
	const struct function *function = &region->functions[nth];

	if (nth >= region->nr)
		return false;
	return function->start < end && start < function->start + function->size;
}

/* The code of the least width that holds @row's words: 1 << code bytes each. */
static unsigned int width_code(const struct unwind_jit_row *row)
{
	int32_t low = row->cfa < row->fp ? row->cfa : row->fp;
	int32_t high = row->cfa < row->fp ? row->fp : row->cfa;

	if (low >= INT8_MIN && high <= INT8_MAX)
		return 0;
	return low >= INT16_MIN && high <= INT16_MAX ? 1 : 2;
}

/* Write the lowest bytes of a number. Return where they end. */
static uint8_t *write_number(uint8_t *at, uint32_t number, size_t bytes)
{
	memcpy(at, &number, bytes);
	return at + bytes;
}

static uint8_t *write_row(uint8_t *at, const struct unwind_jit_row *row, size_t offset_bytes)
{
	unsigned int code = width_code(row);
	uint8_t info = row->base == UNWIND_JIT_SP ? ROW_FROM_SP : 0;

	at = write_number(at, row->offset, offset_bytes);
	if (row->base == UNWIND_JIT_OUTERMOST) {
		*at++ = 0;
		return at;
	}
	*at++ = info | ROW_WORDS(row->fp ? 2 : 1) | ROW_WIDTH(code);
	at = write_number(at, row->cfa, 1 << code);
	return row->fp ? write_number(at, row->fp, 1 << code) : at;
}

static bool rows_good(const struct unwind_jit_row *rows, size_t nr, size_t size)
{
	size_t i;

	if (!nr || nr > MAX_ROWS || rows[0].offset)
		return false;
	for (i = 0; i < nr; i++) {
		if (rows[i].offset >= size || (i && rows[i].offset <= rows[i - 1].offset))
			return false;
		if ((unsigned int)rows[i].base > UNWIND_JIT_OUTERMOST)
			return false;
	}
	return true;
}

/* Put rows into @function as they stand in a table. Return 0 or -ENOMEM. */
static int encode(struct function *function, const struct unwind_jit_row *rows, size_t nr)
{
	/* What the kernel reads fastest is offsets of one byte, and few functions need more. */
	unsigned int code = rows[nr - 1].offset <= UINT8_MAX ? 0 :
			    rows[nr - 1].offset <= UINT16_MAX ? 1 : 2;
	const size_t longest = (1 << code) + 1 + 2 * sizeof(int32_t);
	uint8_t *memory = calloc(1, ATTRIBUTE_LEN + nr * longest), *at, *shrunk;
	size_t i;

	if (!memory)
		return -ENOMEM;
	write_number(memory + ATTRIBUTE_ROWS, nr, 2);
	memory[ATTRIBUTE_INFO] = code;
	at = memory + ATTRIBUTE_LEN;
	for (i = 0; i < nr; i++)
		at = write_row(at, &rows[i], 1 << code);

	function->len = at - memory;
	shrunk = realloc(memory, function->len);
	function->rows = shrunk ? shrunk : memory;
	return 0;
}

/* Make room for one more function. */
static int make_room(struct unwind_jit *region)
{
	size_t room = region->room ? 2 * region->room : MIN_FUNCTIONS;
	struct function *functions;

	if (region->nr < region->room)
		return 0;
	functions = realloc(region->functions, room * sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	region->functions = functions;
	region->room = room;
	return 0;
}

static struct tables_entry kernel_entry(const struct unwind_jit *region, const struct table *table)
{
	return (struct tables_entry){
		.text_start = region->start,
		.text_end = region->end,
		.table_start = (uintptr_t)table->memory + HEADER_AT,
		.table_end = (uintptr_t)table->memory + table->mapped,
		.format = TABLES_SFRAME,
	};
}

struct unwind_jit *unwind_jit_open(void *code, size_t size, unsigned int flags)
{
	uint64_t start = (uintptr_t)code;
	struct unwind_jit *region;

	if (!size || start + size < start || flags & ~UNWIND_JIT_DOWNWARDS) {
		errno = EINVAL;
		return NULL;
	}
#ifndef __x86_64__
	errno = ENOTSUP;
	return NULL;
#endif
	if (tables_call(TABLES_REGISTER, NULL)) {
		errno = ENOTSUP;
		return NULL;
	}
	region = calloc(1, sizeof(*region));
	if (!region)
		return NULL;
	region->start = start;
	region->end = start + size;
	region->downwards = flags & UNWIND_JIT_DOWNWARDS;
	return region;
}

int unwind_jit_add(struct unwind_jit *region, const void *start, size_t size,
		   const struct unwind_jit_row *rows, size_t nr_rows)
{
	struct function function = { .start = (uintptr_t)start, .size = size };
	size_t nth;
	int ret;

	if (!region)
		return 0;
	if (!size || size > UINT32_MAX || function.start < region->start ||
	    function.start >= region->end || size > region->end - function.start ||
	    !rows_good(rows, nr_rows, size))
		return -EINVAL;
	nth = count_before(region, function.start);
	if (overlaps(region, nth, function.start, function.start + size) ||
	    (nth && overlaps(region, nth - 1, function.start, function.start + size)))
		return -EEXIST;

	ret = make_room(region);
	if (!ret)
		ret = encode(&function, rows, nr_rows);
	if (ret)
		return ret;
	memmove(&region->functions[nth + 1], &region->functions[nth],
		(region->nr - nth) * sizeof(function));
	region->functions[nth] = function;
	region->nr++;

	if (region->registered && !region->stale && has_room(region, nth)) {
		append(region, &region->table, nth);
		region->appended = true;
		return 0;
	}
	region->stale = true;
	return 1;
}

int unwind_jit_remove(struct unwind_jit *region, const void *start, size_t size)
{
	uint64_t from = (uintptr_t)start, to = from + size;
	size_t first, end, nth;

	if (!region)
		return 0;
	if (to < from)
		return -EINVAL;
	first = count_before(region, region->downwards ? to : from);
	end = count_before(region, region->downwards ? from : to);
	if (first == end)
		return 0;

	for (nth = first; nth < end; nth++)
		free(region->functions[nth].rows);
	memmove(&region->functions[first], &region->functions[end],
		(region->nr - end) * sizeof(*region->functions));
	region->nr -= end - first;
	region->stale = true;
	return 1;
}

/* Register the table, in place of the one that the kernel has. */
static int register_table(const struct unwind_jit *region, const struct table *table)
{
	struct tables_entry entry = kernel_entry(region, table);

	return tables_call(TABLES_REGISTER, &entry);
}

int unwind_jit_publish(struct unwind_jit *region)
{
	struct table table = { 0 };
	int ret;

	if (!region || !(region->stale || region->appended))
		return 0;
	if (!region->stale) {
		/* The table is good, but the kernel may remember that it said less. */
		ret = register_table(region, &region->table);
		region->appended = ret;
		return ret;
	}

	ret = write_table(region, &table);
	if (!ret)
		ret = register_table(region, &table);
	if (ret) {
		unmap(&table);
		return ret;
	}
	replace_table(region, &table);
	region->registered = true;
	region->stale = false;
	region->appended = false;
	return 0;
}

void unwind_jit_close(struct unwind_jit *region)
{
	struct tables_entry entry;
	size_t nth;

	if (!region)
		return;
	if (region->registered) {
		entry = kernel_entry(region, &region->table);
		tables_call(TABLES_UNREGISTER, &entry);
	}
	for (nth = 0; nth < OLD_TABLES; nth++)
		unmap(&region->old[nth]);
	unmap(&region->table);
	for (nth = 0; nth < region->nr; nth++)
		free(region->functions[nth].rows);
	free(region->functions);
	free(region);
}
