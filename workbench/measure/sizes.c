// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a lookup in programs of many sizes.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration as
 * frames.c does. Then, for each format, number of functions, number of rows and
 * position: these three, the function and the row of the position, and the instructions
 * of a frame there, if the kernel has not seen it before and if it has.
 *
 * The programs have no code, only addresses and registered tables: of SFrame, and of
 * .eh_frame with .eh_frame_hdr, both as GNU as and ld write them. All functions of a
 * program have the same number of rows, and share none: the largest table has 120 MB.
 *
 * A lookup reads rows from the function's first one on, in both formats. So positions are
 * spread over all rows. The stacks are those of counted.h.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kselftest.h"

#include "tables.h"
#include "synth.h"
#include "eh_frame.h"
#include "clock.h"
#include "forget.h"
#include "counted.h"

/* An odd number, so the median is one of them; coprime to the stride, which mixes functions. */
#define POSITIONS	63
#define STRIDE		29
/* Bytes of text that a row holds for. */
#define ROW_LENGTH	8U
#define MOST_ROWS	1000

static const unsigned int sizes[] = { 10, 1000, 30000 };
static const unsigned int rows[] = { 10, 100, MOST_ROWS };

/* A program that has no code. */
struct program {
	unsigned int functions, rows;
	/* The entry of each function: its rows, or its FDE. */
	unsigned char described[EH_FDE_HEAD + 8 + 4 * MOST_ROWS];
	unsigned int described_size;
	/* The table is behind the text. */
	unsigned char *text, *table;
	unsigned long text_size, table_size;
	struct unwind_table ranges;
};

static struct counted counted;

static unsigned long function_size(const struct program *program)
{
	return (unsigned long)program->rows * ROW_LENGTH;
}

static unsigned char *function_start(const struct program *program, unsigned int nth)
{
	return program->text + nth * function_size(program);
}

/* The distance of the CFA from rsp: the function pushes words, then removes all at once. */
static unsigned char cfa_offset(unsigned int row)
{
	return 8 + row % 8 * 8;
}

/* Make room for the text, and for a table of this size. Returns NULL or an error. */
static const char *make_room(struct program *program, unsigned long table_size)
{
	unsigned char *area;

	program->text_size = (program->functions * function_size(program) + PAGE - 1) & -PAGE;
	program->table_size = table_size;
	area = mmap(NULL, program->text_size + table_size, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED ||
	    mprotect(area + program->text_size, table_size, PROT_READ | PROT_WRITE))
		return "no memory";
	program->text = area;
	program->table = area + program->text_size;
	program->ranges = ranges(program->text, program->text_size,
				 program->table, program->table_size);
	return NULL;
}

/* A function's attribute and rows. Their starts have one byte if this is enough, or two. */
static void sframe_describe(struct program *program)
{
	bool wide = function_size(program) > 256;
	unsigned char *at = program->described;

	*at++ = program->rows;
	*at++ = program->rows >> 8;
	*at++ = wide;
	*at++ = 0;
	*at++ = 0;
	for (unsigned int row = 0; row < program->rows; row++) {
		*at++ = row * ROW_LENGTH;
		if (wide)
			*at++ = row * ROW_LENGTH >> 8;
		*at++ = 0x03;	/* from SP, one word of a byte */
		*at++ = cfa_offset(row);
	}
	program->described_size = at - program->described;
}

static const char *sframe_make(struct program *program)
{
	unsigned int functions = program->functions;
	struct table_header *header;
	struct table_entry *index;
	unsigned char *all_rows;
	const char *error;

	sframe_describe(program);
	error = make_room(program, sizeof(*header) +
			  functions * (sizeof(*index) + program->described_size));
	if (error)
		return error;
	header = (struct table_header *)program->table;
	index = (struct table_entry *)(header + 1);
	all_rows = (unsigned char *)(index + functions);
	*header = (struct table_header){
		.magic = 0xdee2,
		.version = 3,
		.flags = 1 | 4,	/* sorted; a start is relative to its own field */
		.abi = 3,	/* AMD64 */
		.fixed_ra = -8,
		.functions = functions,
		.rows = functions * program->rows,
		.rows_len = functions * program->described_size,
		.rows_at = functions * sizeof(*index),
	};
	for (unsigned int i = 0; i < functions; i++) {
		long start = function_start(program, i) - (unsigned char *)&index[i];

		memcpy(index[i].start, &start, sizeof(start));
		index[i].size = function_size(program);
		index[i].rows = i * program->described_size;
		memcpy(all_rows + index[i].rows, program->described, program->described_size);
	}
	return NULL;
}

/* The common part of all FDEs. The first row is that of the CIE. */
static void eh_describe(struct program *program)
{
	struct eh_fde *fde = (struct eh_fde *)program->described;
	unsigned char *at = fde->program;

	memset(program->described, 0, sizeof(program->described));
	for (unsigned int row = 1; row < program->rows; row++) {
		*at++ = ADVANCE(ROW_LENGTH);
		*at++ = DEF_CFA_OFFSET;
		*at++ = cfa_offset(row);
	}
	program->described_size = (at - program->described + 7) & ~7U;
	fde->length = program->described_size - 4;
	fde->size = function_size(program);
}

/* .eh_frame_hdr with its index, a CIE, and an FDE for each function. */
static const char *eh_make(struct program *program)
{
	static const unsigned char cie[24] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		DEF_CFA, SP, 8, SAVED(RETURN_ADDRESS), 1,
	};
	unsigned int functions = program->functions;
	struct {
		__u8 version, pointer_encoding, count_encoding, index_encoding;
		__s32 pointer;
		__u32 count;
		struct {
			__s32 start, fde;
		} index[];
	} *header;
	unsigned long header_size = (sizeof(*header) + functions * 8 + 7) & ~7UL;
	unsigned char *records;
	const char *error;

	eh_describe(program);
	/* A length of 0 ends the section. */
	error = make_room(program, header_size + sizeof(cie) +
			  (unsigned long)functions * program->described_size + 4);
	if (error)
		return error;
	program->ranges.format = UNWIND_TABLE_EH_FRAME;
	program->ranges.header = (unsigned long)program->table;
	header = (void *)program->table;
	records = program->table + header_size;
	header->version = 1;
	header->pointer_encoding = 0x1b;
	header->count_encoding = 0x03;
	header->index_encoding = 0x3b;
	header->pointer = records - (unsigned char *)&header->pointer;
	header->count = functions;
	memcpy(records, cie, sizeof(cie));
	for (unsigned int i = 0; i < functions; i++) {
		struct eh_fde *fde = (void *)(records + sizeof(cie) +
					      (unsigned long)i * program->described_size);
		unsigned char *start = function_start(program, i);

		memcpy(fde, program->described, program->described_size);
		fde->cie = (unsigned char *)&fde->cie - records;
		fde->start = start - (unsigned char *)&fde->start;
		header->index[i].start = start - program->table;
		header->index[i].fde = (unsigned char *)fde - program->table;
	}
	return NULL;
}

static const struct format {
	const char *name;
	const char *(*make)(struct program *program);
} formats[] = {
	{ "sframe", sframe_make },
	{ "eh_frame", eh_make },
};

/* Check that the walk finds the caller by this row. Returns NULL or an error. */
static const char *check_row(unsigned long entry, unsigned long at, unsigned int row)
{
	struct chain *chain = &counted.synth.chain;
	/* The return addresses to both functions are below this word. */
	unsigned long *word = &counted.stack[2 + cfa_offset(row) / 8 - 1];
	const char *error;

	counted_put(&counted, entry, at);
	*word = entry + 1;
	synth_enter(&counted.synth.frame);
	*word = 0;
	error = sampler_chain(&counted.synth.sampler, chain);
	if (error)
		return error;
	if (chain->nr != 4 || chain->ips[2] != at + 1 || chain->ips[3] != entry + 1 ||
	    chain->guessed)
		return "the stack has other frames than expected";
	return NULL;
}

/* The measured frame is at this row of a function. */
static const char *measure_at(const struct program *program, const struct format *format,
			      unsigned int function, unsigned int row)
{
	unsigned long entry = (unsigned long)program->text;
	unsigned long at = (unsigned long)function_start(program, function) +
			   row * ROW_LENGTH + ROW_LENGTH / 2;
	unsigned long base[2], costs[2];
	const char *error = check_row(entry, at, row);

	if (error)
		return error;
	for (int i = 0; i < 2; i++) {
		counted_put(&counted, entry, 0);
		base[i] = counted_cost(&counted, i == 0);
		counted_put(&counted, entry, at);
		costs[i] = counted_cost(&counted, i == 0);
	}
	printf("%s %u %u %u %u %lu %lu\n", format->name, program->functions, program->rows,
	       function, row, costs[0] - base[0], costs[1] - base[1]);
	return NULL;
}

static const char *measure(struct program *program, const struct format *format)
{
	const char *error = format->make(program);

	if (error)
		return error;
	if (do_register(&program->ranges))
		return "cannot register the table";
	for (unsigned int i = 0; i < POSITIONS && !error; i++) {
		unsigned int mixed = i * STRIDE % POSITIONS;

		/* The middle of one of POSITIONS parts of the functions, and of the rows. */
		error = measure_at(program, format,
				   (2 * mixed + 1) * program->functions / (2 * POSITIONS),
				   (2 * i + 1) * program->rows / (2 * POSITIONS));
	}
	if (do_unregister(&program->ranges) ||
	    munmap(program->text, program->text_size + program->table_size))
		return "cannot unregister the table";
	return error;
}

int main(void)
{
	static struct program program;
	const char *error = counted_make(&counted);

	if (error) {
		printf("%s\n", error);
		return 1;
	}
	printf("clock %lu\n", calibration());
	for (unsigned int i = 0; i < ARRAY_SIZE(formats); i++) {
		for (unsigned int j = 0; j < ARRAY_SIZE(sizes) * ARRAY_SIZE(rows); j++) {
			program.functions = sizes[j / ARRAY_SIZE(rows)];
			program.rows = rows[j % ARRAY_SIZE(rows)];
			error = measure(&program, &formats[i]);
			if (error) {
				printf("%s, %u functions, %u rows: %s\n", formats[i].name,
				       program.functions, program.rows, error);
				return 1;
			}
		}
	}
	return 0;
}
