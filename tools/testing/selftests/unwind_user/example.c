// SPDX-License-Identifier: GPL-2.0
/*
 * How a JIT compiler or loader tells the kernel about its unwind tables.
 *
 * This "compiles" two functions into a page of code, one after the other, and
 * says each time which table describes what the page has by now.
 *
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/prctl.h>
#include <linux/unwind_tables.h>

#define EXIT_SKIP	4	/* what selftests exit with that cannot run */

/* SFrame version 3: the header. Offsets count from its end. */
struct sframe_header {
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
	__u32 index_offset;
	__u32 rows_offset;
};

#define SFRAME_MAGIC		0xdee2
#define SFRAME_VERSION		3
#define SFRAME_SORTED		0x01	/* the index is, by address */
#define SFRAME_PC_RELATIVE	0x04	/* starts count from where they stand */
#define SFRAME_AMD64		3
#define SFRAME_AMD64_FIXED_RA	-8	/* the return address is at CFA - 8 */

/* An entry of the index. */
struct sframe_function {
	__s64 start;
	__u32 size;
	__u32 rows_offset;
};

/* What stands before the rows of a function. All this is not aligned. */
struct sframe_attribute {
	__u8 rows[2];			/* the low byte first */
	__u8 info;
	__u8 kind;
	__u8 block;
};

#define SFRAME_ROWS_ADDR1	0	/* info: rows' starts have one byte */
#define SFRAME_DEFAULT		0	/* kind */

/* From the byte at @start of the function on, the CFA is @info plus @cfa. */
struct sframe_row {
	__u8 start;
	__u8 info;
	__s8 cfa;
};

#define SFRAME_FROM_SP		0x01	/* info: the CFA is from the stack pointer, */
#define SFRAME_ONE_WORD		0x02	/* and nothing else is said, in a byte */
#define SFRAME_SP_PLUS		(SFRAME_FROM_SP | SFRAME_ONE_WORD)

/* int add_one(int i) { return i + 1; } */
static const __u8 add_one[] = {
	0x8d, 0x47, 0x01,		/*  0	lea	1(%rdi), %eax	*/
	0xc3,				/*  3	ret			*/
};

static const struct sframe_row add_one_rows[] = {
	{ 0, SFRAME_SP_PLUS, 8 },	/* just called */
};

/* int add_two(int i) { return add_one(add_one(i)); }, 16 bytes behind it */
static const __u8 add_two[] = {
	0x53,				/*  0	push	%rbx		*/
	0xe8, 0xea, 0xff, 0xff, 0xff,	/*  1	call	add_one		*/
	0x89, 0xc7,			/*  6	mov	%eax, %edi	*/
	0xe8, 0xe3, 0xff, 0xff, 0xff,	/*  8	call	add_one		*/
	0x5b,				/* 13	pop	%rbx		*/
	0xc3,				/* 14	ret			*/
};

static const struct sframe_row add_two_rows[] = {
	{ 0, SFRAME_SP_PLUS, 8 },	/* just called */
	{ 1, SFRAME_SP_PLUS, 16 },	/* rbx is pushed */
	{ 14, SFRAME_SP_PLUS, 8 },	/* and popped */
};

/* What is compiled, in ascending order of addresses. */
static const struct function {
	const __u8 *code;
	__u32 size;
	__u32 place;			/* in the page of code */
	const struct sframe_row *rows;
	__u8 nr_rows;
} functions[] = {
	{ add_one, sizeof(add_one), 0, add_one_rows, 1 },
	{ add_two, sizeof(add_two), 16, add_two_rows, 3 },
};

static __u8 *append(__u8 *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

/* Write the table of the first @nr functions to @table. Say where it ends. */
static __u8 *write_table(__u8 *table, const __u8 *code, __u32 nr)
{
	__u8 *entry = table + sizeof(struct sframe_header);
	__u8 *rows = entry + nr * sizeof(struct sframe_function);
	__u8 *at = rows;
	struct sframe_header header = {
		.magic = SFRAME_MAGIC,
		.version = SFRAME_VERSION,
		.flags = SFRAME_SORTED | SFRAME_PC_RELATIVE,
		.abi = SFRAME_AMD64,
		.fixed_ra = SFRAME_AMD64_FIXED_RA,
		.functions = nr,
		.rows_offset = rows - entry,
	};
	__u32 i;

	for (i = 0; i < nr; i++) {
		const struct function *function = &functions[i];
		struct sframe_function described = {
			/* From this entry on: such a table cannot be moved. */
			.start = (intptr_t)(code + function->place) - (intptr_t)entry,
			.size = function->size,
			.rows_offset = at - rows,
		};
		struct sframe_attribute attribute = {
			.rows = { function->nr_rows },
			.info = SFRAME_ROWS_ADDR1,
			.kind = SFRAME_DEFAULT,
		};

		entry = append(entry, &described, sizeof(described));
		at = append(at, &attribute, sizeof(attribute));
		at = append(at, function->rows, function->nr_rows * sizeof(*function->rows));
		header.rows += function->nr_rows;
	}
	header.rows_len = at - rows;
	append(table, &header, sizeof(header));

	return at;
}

static int unwind_tables(unsigned long operation, struct unwind_table *tables, unsigned long nr)
{
	return prctl(PR_UNWIND_TABLES, operation, tables, nr, sizeof(*tables));
}

static void must(int good, const char *what)
{
	if (!good) {
		printf("failed: %s (last error: %s)\n", what, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

/* Print all that is registered. Say where the table of the text is, or 0. */
static __u64 show(const char *when, const __u8 *text)
{
	static const char * const states[] = { "unchecked", "good", "disabled" };
	struct unwind_table *tables;
	__u64 found = 0;
	int nr, i;

	/* Other threads may register meanwhile: what does not fit is only counted. */
	nr = unwind_tables(PR_UNWIND_TABLES_ENUMERATE, NULL, 0);
	must(nr >= 0, "count");
	tables = calloc(nr + 1, sizeof(*tables));
	must(!!tables, "allocate");
	must(unwind_tables(PR_UNWIND_TABLES_ENUMERATE, tables, nr) >= 0, "enumerate");

	printf("%s:\n", when);
	for (i = 0; i < nr; i++) {
		const struct unwind_table *table = &tables[i];

		printf("  text %llx-%llx table %llx-%llx by %s: %s\n",
		       table->text_start, table->text_end,
		       table->table_start, table->table_end,
		       table->origin == UNWIND_TABLE_BY_EXEC ? "exec" : "prctl",
		       table->state <= UNWIND_TABLE_DISABLED ? states[table->state] : "?");
		if (table->text_start == (uintptr_t)text)
			found = table->table_start;
	}
	free(tables);
	return found;
}

int main(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct unwind_table table = { .format = UNWIND_TABLE_SFRAME };
	__u8 *code, *memory, *end;
	int (*function)(int i);

#ifndef __x86_64__
	printf("skipped: the code is x86-64 code\n");
	return EXIT_SKIP;
#endif
	/* How many are registered; but EINVAL where there is no such thing. */
	if (unwind_tables(PR_UNWIND_TABLES_ENUMERATE, NULL, 0) < 0) {
		printf("skipped: no PR_UNWIND_TABLES: %s\n", strerror(errno));
		return EXIT_SKIP;
	}

	code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(code != MAP_FAILED && memory != MAP_FAILED, "mmap");

	/* First the code, then its table, then register: text must be executable. */
	memcpy(code + functions[0].place, functions[0].code, functions[0].size);
	must(!mprotect(code, page, PROT_READ | PROT_EXEC), "mprotect");
	end = write_table(memory, code, 1);

	table.text_start = (uintptr_t)code;
	table.text_end = (uintptr_t)code + page;
	table.table_start = (uintptr_t)memory;
	table.table_end = (uintptr_t)end;
	must(unwind_tables(PR_UNWIND_TABLES_REGISTER, &table, 1) == 1, "register");
	must(show("registered", code) == table.table_start, "find what was registered");

	/* The same text twice is an error. */
	must(unwind_tables(PR_UNWIND_TABLES_REGISTER, &table, 1) == -1 && errno == EEXIST,
	     "be refused");

	/* Another function: a new table at another place, and only then update. */
	must(!mprotect(code, page, PROT_READ | PROT_WRITE), "mprotect");
	memcpy(code + functions[1].place, functions[1].code, functions[1].size);
	must(!mprotect(code, page, PROT_READ | PROT_EXEC), "mprotect");
	table.table_start = (table.table_end + 15) & ~15ULL;
	table.table_end = (uintptr_t)write_table((__u8 *)table.table_start, code, 2);
	must(unwind_tables(PR_UNWIND_TABLES_UPDATE, &table, 1) == 1, "update");
	must(show("updated", code) == table.table_start, "find the new table");
	/* The memory of the old one could be used again now. */

	/* Profilers can follow this one through both functions. */
	function = (void *)(code + functions[1].place);
	must(function(40) == 42, "add two");

	/* Before the memory gets another purpose, though munmap() would do, too. */
	must(unwind_tables(PR_UNWIND_TABLES_UNREGISTER, &table, 1) == 1, "unregister");
	must(!show("unregistered", code), "find it gone");
	must(!munmap(code, page) && !munmap(memory, page), "munmap");

	return EXIT_SUCCESS;
}
