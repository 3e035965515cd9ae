// SPDX-License-Identifier: GPL-2.0
/*
 * Reading tables in user memory.
 */
#include <linux/fault-inject-usercopy.h>
#include <linux/instrumented.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/unwind_tables.h>

/* The next bytes of the copy in unwind_tables_read(), as many as @type has. */
#define read_next(type)								\
do {										\
	type next;								\
										\
	unsafe_get_user(next, (const type __user *)from, fault);		\
	put_unaligned(next, (type *)to);					\
	to += sizeof(type);							\
	from += sizeof(type);							\
	len -= sizeof(type);							\
} while (0)

/**
 * unwind_tables_read - Copy a few bytes of a table
 * @to:	  Where to
 * @addr: Where from, any address
 * @len:  How many
 *
 * In words and a single user access: a lookup does this a few times for each
 * frame, and copy_from_user() is made for more bytes.
 *
 * Context: Faultable.
 * Return: 0, or -EFAULT; then @to has any bytes.
 */
int unwind_tables_read(void *to, unsigned long addr, unsigned int len)
{
	const void __user *table = (const void __user *)addr;

	might_fault();
	if (should_fail_usercopy())
		return -EFAULT;
	instrument_copy_from_user_before(to, table, len);

	scoped_user_read_access_size(table, len, fault) {
		const void __user *from = table;

		while (len >= 2 * sizeof(u64)) {
			read_next(u64);
			read_next(u64);
		}
		if (len & sizeof(u64))
			read_next(u64);
		if (len & sizeof(u32))
			read_next(u32);
		if (len & sizeof(u16))
			read_next(u16);
		if (len & sizeof(u8))
			read_next(u8);
	}
	return 0;
fault:
	return -EFAULT;
}

/* An entry of a table's index. */
struct unwind_tables_entry {
	s64 start;
	u32 size;
	u32 rows;
};

/* Read what follows an entry, as far as the table's rows reach. */
static noinline int read_rows(struct unwind_tables_place *place, unsigned long rows)
{
	memset(place->rows, 0, sizeof(place->rows));
	return place->filled ? unwind_tables_read(place->rows, rows, place->filled) : 0;
}

static __always_inline int
find_entry(unsigned long base, const struct unwind_tables_header *header, unsigned long pc,
	   struct unwind_tables_place *place, bool relative)
{
	const struct unwind_tables_entry __user *index, *low, *entry;
	unsigned long count = header->functions, half, least = 0, most = LONG_MAX, start;
	const u64 __user *rows;
	u32 size, at, left;
	s64 offset;

	index = (void __user *)(base + header->index);
	low = index;
	if (!user_read_access_begin(index, count * sizeof(*index)))
		return -EFAULT;

	/* The last entry at or below @pc is in low..low + count, if there is one. */
	while (count > 1) {
		half = count / 2;
		entry = low + half;
		unsafe_get_user(offset, &entry->start, fault);
		start = (relative ? (unsigned long)entry : base) + offset;
		if (start <= pc) {
			if (unlikely(start < least))
				goto contradiction;
			least = start;
			low = entry;
			count -= half;
		} else {
			if (unlikely(start > most))
				goto contradiction;
			most = start;
			count = half;
		}
	}
	if (unlikely(low == index)) {
		if (!count)
			goto not_found;
		entry = low;
		unsafe_get_user(offset, &entry->start, fault);
		start = (relative ? (unsigned long)entry : base) + offset;
		if (start > most)
			goto contradiction;
		if (start > pc)
			goto not_found;
		least = start;
	}
	place->start = least;
	place->nth = low - index;
	unsafe_get_user(size, &low->size, fault);
	unsafe_get_user(at, &low->rows, fault);
	place->size = size;
	place->at = at;

	/* With words beyond the rows there is no harm, if they are in the same page. */
	left = at < header->rows_len ? header->rows_len - at : 0;
	rows = (void __user *)(base + header->rows + at);
	place->filled = min(left, UNWIND_TABLES_FIRST);
	if (unlikely(left < sizeof(place->rows) &&
		     (!left || offset_in_page(rows) > PAGE_SIZE - sizeof(place->rows))) ||
	    unlikely(!access_ok(rows, sizeof(place->rows)))) {
		user_read_access_end();
		return read_rows(place, (unsigned long)rows);
	}
	unsafe_get_user(place->rows[0], &rows[0], fault);
	unsafe_get_user(place->rows[1], &rows[1], fault);
	unsafe_get_user(place->rows[2], &rows[2], fault);
	unsafe_get_user(place->rows[3], &rows[3], fault);
	unsafe_get_user(place->rows[4], &rows[4], fault);
	unsafe_get_user(place->rows[5], &rows[5], fault);
	user_read_access_end();
	return 0;

not_found:
	user_read_access_end();
	return -ENOENT;
contradiction:
	user_read_access_end();
	place->nth = entry - index;
	return start > LONG_MAX ? -ERANGE : -EINVAL;
fault:
	user_read_access_end();
	return -EFAULT;
}

/**
 * unwind_tables_find - Find the last function at or below an address
 * @base:   Address of the table
 * @header: What is known of it
 * @pc:	    The address
 * @place:  Where to put what was found
 *
 * All in a single user access. This understands no more than it must: what it
 * reads is to be checked.
 *
 * Of the entries of the index that are looked at, each must start between those
 * before, and below 2^63: else its number is in @place->nth.
 *
 * Context: Faultable.
 * Return: 0 and @place; -ENOENT if there is no such function; -EFAULT; -ERANGE
 *	   if an entry starts beyond the address space; -EINVAL if it contradicts
 *	   another.
 */
int unwind_tables_find(unsigned long base, const struct unwind_tables_header *header,
		       unsigned long pc, struct unwind_tables_place *place)
{
	might_fault();
	if (should_fail_usercopy())
		return -EFAULT;
	if (likely(header->pc_relative))
		return find_entry(base, header, pc, place, true);
	return find_entry(base, header, pc, place, false);
}
