// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The index of an .eh_frame, .eh_frame_hdr, which linkers make and JIT compilers do not.
 *
 * Reference: "Exception Frames" of the Linux Standard Base. What is refused here the kernel
 * does not read either.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"
#include "unwind_jit.h"

/* Encodings of pointers: a format and what they count from. */
#define PE_ABSPTR	0x00
#define PE_ULEB128	0x01
#define PE_UDATA2	0x02
#define PE_UDATA4	0x03
#define PE_UDATA8	0x04
#define PE_SIGNED	0x08
#define PE_SLEB128	0x09
#define PE_SDATA2	0x0a
#define PE_SDATA4	0x0b
#define PE_SDATA8	0x0c
#define PE_FORMAT	0x0f
#define PE_PCREL	0x10	/* from its own place */
#define PE_DATAREL	0x30	/* from the start of the index */
#define PE_ALIGNED	0x50	/* there is padding before it */

/* A record with a length of 64 bits, which nobody makes. */
#define LONG_RECORD	0xffffffff

/* The index: a header, and an entry for each function. */
struct index_header {
	uint8_t version;
	uint8_t eh_frame_encoding;
	uint8_t count_encoding;
	uint8_t entry_encoding;
	uint32_t eh_frame_start[2];	/* a number of 64 bits that is not aligned */
	uint32_t count;
};

struct index_entry {
	int64_t start;
	int64_t fde;
};

/* What is left of the bytes that something is read from. */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;		/* there were not so many */
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
	uint64_t number = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->bad = true;
		return 0;
	}
	memcpy(&number, cursor->at, bytes);
	cursor->at += bytes;
	return number;
}

/* Pass a number of variable length, signed or not. */
static void skip_leb128(struct cursor *cursor)
{
	while (take(cursor, 1) & 0x80)
		;
}

static void skip_pointer(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ULEB128:
	case PE_SLEB128:
		skip_leb128(cursor);
		break;
	case PE_UDATA2:
	case PE_SDATA2:
		take(cursor, 2);
		break;
	case PE_UDATA4:
	case PE_SDATA4:
		take(cursor, 4);
		break;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SIGNED:
	case PE_SDATA8:
		take(cursor, 8);
		break;
	default:
		cursor->bad = true;
	}
	if ((encoding & ~PE_FORMAT) == PE_ALIGNED)
		cursor->bad = true;
}

static uint64_t take_number(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_UDATA4:
		return take(cursor, 4);
	case PE_SDATA4:
		return (int32_t)take(cursor, 4);
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return take(cursor, 8);
	default:
		cursor->bad = true;
		return 0;
	}
}

/* The encoding of the pointers to functions of a CIE, which begins behind its id. */
static uint8_t function_encoding(struct cursor *cursor)
{
	const uint8_t version = take(cursor, 1), *letters = cursor->at;
	uint8_t encoding = PE_ABSPTR;

	if (version != 1 && version != 3)
		cursor->bad = true;
	while (take(cursor, 1))
		;
	skip_leb128(cursor);		/* factor of code, */
	skip_leb128(cursor);		/* of data, */
	if (version == 1)		/* and where the return address is */
		take(cursor, 1);
	else
		skip_leb128(cursor);
	if (cursor->bad || !*letters)
		return encoding;

	if (*letters++ != 'z')
		cursor->bad = true;
	skip_leb128(cursor);		/* the length of what follows */
	for (; *letters && !cursor->bad; letters++) {
		switch (*letters) {
		case 'R':
			encoding = take(cursor, 1);
			break;
		case 'P':
			skip_pointer(cursor, take(cursor, 1));
			break;
		case 'L':
			take(cursor, 1);
			break;
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			cursor->bad = true;
		}
	}
	if (encoding & ~(PE_FORMAT | PE_PCREL))
		cursor->bad = true;
	return encoding;
}

/*
 * Take the record that the cursor is at. Say where the function starts that it is of, or
 * that it is of none; and what of the record is left.
 */
static bool take_function(struct cursor *cursor, const uint8_t *eh_frame, uint64_t *start)
{
	struct cursor record = *cursor, cie = *cursor;
	const uint8_t *id_at, *place;
	uint64_t id, size, len;
	uint8_t encoding;

	len = take(&record, 4);
	if (!record.bad && !len) {
		cursor->at = cursor->end;
		return false;
	}
	if (record.bad || len == LONG_RECORD || len > (size_t)(record.end - record.at)) {
		cursor->bad = true;
		return false;
	}
	id_at = record.at;
	record.end = id_at + len;
	cursor->at = record.end;

	id = take(&record, 4);
	if (!record.bad && !id)
		return false;
	if (record.bad || id > (size_t)(id_at - eh_frame)) {
		cursor->bad = true;
		return false;
	}
	cie.at = id_at - id;
	len = take(&cie, 4);
	if (cie.bad || !len || len > (size_t)(cie.end - cie.at)) {
		cursor->bad = true;
		return false;
	}
	cie.end = cie.at + len;
	if (take(&cie, 4))
		cie.bad = true;
	encoding = function_encoding(&cie);

	place = record.at;
	*start = take_number(&record, encoding);
	size = take_number(&record, encoding & PE_FORMAT);
	cursor->bad = cie.bad || record.bad;
	if (cursor->bad || !*start || !size)
		return false;
	if (encoding & PE_PCREL)
		*start += (uintptr_t)place;
	return true;
}

/* Entries may be at any address. All are less than 2^63 bytes from the index. */
static int compare(const void *one, const void *other)
{
	struct index_entry a, b;

	memcpy(&a, one, sizeof(a));
	memcpy(&b, other, sizeof(b));
	if (a.start != b.start)
		return a.start < b.start ? -1 : 1;
	return a.fde < b.fde ? -1 : a.fde > b.fde;
}

ssize_t unwind_jit_eh_frame_index(void *index, size_t room, const void *eh_frame, size_t len)
{
	struct cursor cursor = { .at = eh_frame, .end = (const uint8_t *)eh_frame + len };
	uint8_t *entries = (uint8_t *)index + sizeof(struct index_header);
	const uint64_t from = (uintptr_t)index;
	struct index_header header = {
		.version = 1,
		.eh_frame_encoding = PE_PCREL | PE_SDATA8,
		.count_encoding = PE_UDATA4,
		.entry_encoding = PE_DATAREL | PE_SDATA8,
	};
	size_t needed = sizeof(header);
	uint64_t distance;
	uint32_t nr = 0;

	/* A table is not larger. */
	if (len > UINT32_MAX)
		return -EINVAL;
	while (cursor.at < cursor.end && !cursor.bad) {
		uint64_t start, fde = (uintptr_t)cursor.at;
		struct index_entry entry;

		if (!take_function(&cursor, eh_frame, &start))
			continue;
		entry.start = start - from;
		entry.fde = fde - from;
		needed += sizeof(entry);
		if (needed <= room)
			memcpy(entries + nr * sizeof(entry), &entry, sizeof(entry));
		nr++;
	}
	if (cursor.bad)
		return -EINVAL;
	if (needed > room)
		return needed;

	distance = (uintptr_t)eh_frame - from - offsetof(struct index_header, eh_frame_start);
	memcpy(header.eh_frame_start, &distance, sizeof(distance));
	header.count = nr;
	memcpy(index, &header, sizeof(header));
	qsort(entries, nr, sizeof(struct index_entry), compare);
	return needed;
}

static struct tables_entry kernel_entry(const void *code, size_t size)
{
	return (struct tables_entry){
		.text_start = (uintptr_t)code,
		.text_end = (uintptr_t)code + size,
		.format = TABLES_EH_FRAME,
	};
}

int unwind_jit_eh_frame_register(const void *code, size_t size, const void *table, size_t len,
				 const void *index)
{
	struct tables_entry entry = kernel_entry(code, size);

	entry.table_start = (uintptr_t)table;
	entry.table_end = (uintptr_t)table + len;
	entry.header = (uintptr_t)index;
	return tables_call(TABLES_REGISTER, &entry);
}

int unwind_jit_eh_frame_unregister(const void *code, size_t size)
{
	struct tables_entry entry = kernel_entry(code, size);

	return tables_call(TABLES_UNREGISTER, &entry);
}
