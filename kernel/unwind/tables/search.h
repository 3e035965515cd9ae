/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The search in a sorted array of offsets.
 *
 * This knows no format: it compares numbers, and says what stands beside the one
 * that it ends at. For the index of SFrame, it also reads what that leads to. Rust
 * makes sense of both, see parse/. The search is in C because a search by single
 * reads would begin and end an access to user memory for each of them, and nothing
 * may be called in between.
 *
 * Nothing is assumed of what is read: user memory may change at any time. What is
 * compared is not read again.
 */
#ifndef _UNWIND_TABLES_SEARCH_H
#define _UNWIND_TABLES_SEARCH_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/swab.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/unroll.h>

#include "bisect.h"

/* The number at an address; jumps to fault: if it cannot be read. */
#define get_number(type, at, user)						\
({										\
	unsigned long __at = (at);						\
	type __number;								\
										\
	if (user)								\
		unsafe_get_user(__number, (const type __user *)__at, fault);	\
	else									\
		__number = get_unaligned((const type *)__at);			\
	__number;								\
})

/* The offset that @raw is. */
static __always_inline s64 raw_offset(u64 raw, bool wide, bool swapped)
{
	if (!wide)
		return (s32)(swapped ? swab32(raw) : raw);
	return swapped ? swab64(raw) : raw;
}

/*
 * The search, for each place and kind of array: what is constant costs nothing.
 * There are @count elements from @first on; the offset of that one counts from
 * @origin. The caller has begun an access to user memory, if they are there.
 *
 * Puts the bytes behind the offset into @rest, as they stand there.
 */
static __always_inline
int unwind_search(unsigned long first, u64 origin, u32 count, u64 key,
		  struct unwind_bisect_element *element, u64 *rest, bool user, bool wide,
		  bool relative, bool swapped)
{
	const unsigned int width = wide ? sizeof(s64) : sizeof(s32);
	const unsigned int shift = wide ? 4 : 3;
	const u64 size = 1 << shift;
	/* What an element at address 0 would count from. */
	const u64 from = origin - (relative ? first : 0);
	/* Bytes of the elements that are left. */
	u64 left = count * size, half;
	u64 raw, start, least = 0, most = U64_MAX;
	unsigned long at, low = first;

	/*
	 * The last element at or below @key is in the @left bytes from @low on,
	 * if there is one. They are at most half as many elements, rounded up,
	 * after each read: that makes 32 reads at most, the one below included.
	 */
	while (left > size) {
		half = left / 2 & -size;
		at = low + half;
		raw = wide ? get_number(u64, at, user) : get_number(u32, at, user);
		start = from + (relative ? at : 0) + raw_offset(raw, wide, swapped);
		if (start <= key) {
			if (unlikely(start < least))
				goto unsorted;
			least = start;
			low = at;
			left -= half;
		} else {
			if (unlikely(start > most))
				goto unsorted;
			most = start;
			left = half;
		}
	}
	if (unlikely(low == first)) {
		/* Element 0 was not looked at. */
		if (!left)
			return -ENOENT;
		at = low;
		raw = wide ? get_number(u64, at, user) : get_number(u32, at, user);
		start = from + (relative ? at : 0) + raw_offset(raw, wide, swapped);
		if (start > most)
			goto unsorted;
		if (start > key)
			return -ENOENT;
		least = start;
	}
	*rest = wide ? get_number(u64, low + width, user) : get_number(u32, low + width, user);
	element->start = least;
	element->nth = (low - first) >> shift;
	return 0;

unsorted:
	element->nth = (at - first) >> shift;
	return -EINVAL;
fault:
	return -EFAULT;
}

/*
 * The address of a block of @len bytes that holds @place: no block is above the last one,
 * whatever the table says. It is masked, for nothing may be called once an access to user
 * memory has begun.
 */
static __always_inline
unsigned long unwind_block_from(const struct unwind_bisect_index *index, unsigned long place,
				unsigned int len)
{
	const unsigned long last = index->last - (len - UNWIND_BISECT_BLOCK);

	return (unsigned long)mask_user_address((const void __user *)min(place, last));
}

/* Read @len bytes into @block. The caller has begun an access to user memory. */
static __always_inline
bool unwind_read_block(struct unwind_bisect_block *block, const u64 __user *from,
		       unsigned int len)
{
	unrolled_full
	for (unsigned int i = 0; i < len / sizeof(u64); i++)
		unsafe_get_user(block->bytes[i], from + i, fault);
	return true;

fault:
	return false;
}

/**
 * unwind_bisect_block - Search an index, and read what the element leads to
 * @index: The index
 * @key:   What to search
 * @block: Where to put what was found
 *
 * What nearly all lookups in SFrame tables do, in a single user access.
 *
 * Whatever fails, unwind_bisect_user() finds out why, and may wait for memory.
 * Faults are injected only there.
 *
 * Context: Page faults are disabled. The memory may be anywhere.
 * Return: How many bytes of what the element leads to are in @block, which is the last
 *	   one that starts at or below @key; 0 if there is none, or it could not be read.
 */
static __always_inline
unsigned int unwind_bisect_block(const struct unwind_bisect_index *index, u64 key,
				 struct unwind_bisect_block *block)
{
	const u64 size = 2 * sizeof(u64) * index->count;
	const unsigned long first = index->first;
	struct unwind_bisect_element element;
	unsigned long place, from;
	unsigned int len;
	union {
		u64	both;
		u32	number[2];
	} rest;

	if (!can_do_masked_user_access())
		return 0;
	if (!user_read_access_begin((const void __user *)first, size))
		return 0;
	if (unwind_search(first, first, index->count, key, &element, &rest.both, true, true, true,
			  false))
		goto out;

	place = index->blocks + rest.number[1];
	if (rest.number[0] > index->small) {
		len = UNWIND_BISECT_LARGE_BLOCK;
		from = unwind_block_from(index, place, len);
		if (!unwind_read_block(block, (const u64 __user *)from, UNWIND_BISECT_LARGE_BLOCK))
			goto out;
	} else {
		len = UNWIND_BISECT_BLOCK;
		from = unwind_block_from(index, place, len);
		if (!unwind_read_block(block, (const u64 __user *)from, UNWIND_BISECT_BLOCK))
			goto out;
	}
	user_read_access_end();

	if (place - from >= len)
		return 0;
	memset((u8 *)block->bytes + len, 0, UNWIND_BISECT_MORE);
	block->at = array_index_nospec(place - from, len);
	block->progress = 0;
	block->state = 0;
	block->element.start = element.start;
	block->element.rest[0] = rest.number[0];
	block->element.rest[1] = rest.number[1];
	block->element.nth = element.nth;
	return len;

out:
	user_read_access_end();
	return 0;
}

/**
 * unwind_bisect_read_on - Read what an element leads to further on
 * @index: The index that the element was found in
 * @block: Where a lookup goes on, and where to put what stands there
 *
 * As unwind_bisect_block(), but without a search.
 *
 * Context: Page faults are disabled. The memory may be anywhere.
 * Return: How many bytes are in @block; 0 if they could not be read.
 */
static __always_inline
unsigned int unwind_bisect_read_on(const struct unwind_bisect_index *index,
				   struct unwind_bisect_block *block)
{
	const unsigned long place = index->blocks + block->element.rest[1] + block->progress;
	const unsigned int len = UNWIND_BISECT_LARGE_BLOCK;
	unsigned long from, at;
	bool done;

	if (!can_do_masked_user_access() || index->small == U32_MAX)
		return 0;
	from = unwind_block_from(index, place, len);
	at = place - from;
	if (at >= len)
		return 0;
	if (!user_read_access_begin((const void __user *)from, len))
		return 0;
	done = unwind_read_block(block, (const u64 __user *)from, len);
	user_read_access_end();

	memset((u8 *)block->bytes + len, 0, UNWIND_BISECT_MORE);
	block->at = array_index_nospec(at, len);
	return done ? len : 0;
}

#endif /* _UNWIND_TABLES_SEARCH_H */
