// SPDX-License-Identifier: GPL-2.0
/*
 * Search in a sorted array of offsets, wherever that is.
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
#include <linux/errno.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/swab.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "bisect.h"
#include "wait.h"

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
int search(unsigned long first, u64 origin, u32 count, u64 key,
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

/* All of it. */
static __always_inline
int bisect(unsigned long first, u64 origin, u32 count, u64 key,
	   struct unwind_bisect_element *element, bool user, bool wide, bool relative,
	   bool swapped)
{
	const u64 size = wide ? 2 * sizeof(s64) : 2 * sizeof(s32);
	u64 rest = 0;
	int ret;

	if (user && !user_read_access_begin((const void __user *)first, count * size))
		return -EFAULT;
	ret = search(first, origin, count, key, element, &rest, user, wide, relative, swapped);
	if (user)
		user_read_access_end();
	if (wide) {
		memcpy(element->rest, &rest, sizeof(element->rest));
	} else {
		element->rest[0] = rest;
		element->rest[1] = 0;
	}
	return ret;
}

/* An array in user memory. */
static __always_inline
int bisect_user(unsigned long table, const struct unwind_bisect_array *array, u64 key,
		struct unwind_bisect_element *element)
{
	const unsigned long first = table + array->place;

	/* Four bytes that count from the table's base: what linkers write for .eh_frame. */
	if (likely(!array->wide && !array->relative && !array->swapped))
		return bisect(first, array->origin, array->count, key, element, true, false,
			      false, false);
	return bisect(first, array->origin, array->count, key, element, true, array->wide,
		      array->relative, array->swapped);
}

/**
 * unwind_bisect_user - Search an array in user memory
 * @table:   Address of the table that the array is in
 * @array:   The array
 * @key:     What to search
 * @element: Where to put what was found
 * @waits:   How many more searches may wait for memory; this one takes itself off
 *
 * In a single user access, with at most 32 reads before that of @element. If it
 * has to wait for memory, it does it all again.
 *
 * Each element that is looked at must start between those before. If one does
 * not, its number is in @element->nth.
 *
 * Context: Faultable, but page faults are disabled. The array may be anywhere.
 * Return: 0 and in @element the last one that starts at or below @key; -ENOENT if
 *	   there is none; -EFAULT if the array could not be read; -EINVAL if it is
 *	   not sorted.
 */
int unwind_bisect_user(unsigned long table, const struct unwind_bisect_array *array,
		       u64 key, struct unwind_bisect_element *element, unsigned int *waits)
{
	struct unwind_tables_wait wait = { .left = waits };
	int ret;

	if (should_fail_usercopy())
		return -EFAULT;
	do {
		ret = bisect_user(table, array, key, element);
	} while (unlikely(ret == -EFAULT) && unwind_tables_wait_begin(&wait));
	unwind_tables_wait_end(&wait);
	return ret;
}

/**
 * unwind_bisect_block_user - Search an array, and read what the element leads to
 * @first:  Address of the array's first element
 * @count:  How many elements there are
 * @key:    What to search
 * @block:  Where to put what was found
 * @blocks: Address of the bytes to which elements lead
 * @last:   Highest address at which a block may start
 *
 * What nearly all lookups in SFrame tables do, in a single user access. The array
 * is wide and relative, not swapped, and the offset of element 0 counts from where
 * it stands. The second number behind an offset says where its bytes are.
 *
 * Whatever fails, unwind_bisect_user() finds out why, and may wait for memory.
 * Faults are injected only there.
 *
 * Context: Page faults are disabled. The memory may be anywhere.
 * Return: Whether there is an element that starts at or below @key, and its block
 *	   could be read.
 */
bool unwind_bisect_block_user(unsigned long first, u32 count, u64 key,
			      struct unwind_bisect_block *block, unsigned long blocks,
			      unsigned long last)
{
	struct unwind_bisect_element element;
	const u64 __user *from;
	unsigned long place, at;
	union {
		u64	both;
		u32	number[2];
	} rest;

	BUILD_BUG_ON(sizeof(block->bytes) != UNWIND_BISECT_BLOCK + sizeof(u64));
	/*
	 * No block is above this one, whatever the table says. It is masked here: nothing
	 * may be called once the access has begun.
	 */
	if (!can_do_masked_user_access())
		return false;
	last = (unsigned long)mask_user_address((const void __user *)last);
	if (!user_read_access_begin((const void __user *)first, 2 * sizeof(u64) * count))
		return false;
	if (search(first, first, count, key, &element, &rest.both, true, true, true, false))
		goto out;

	place = blocks + rest.number[1];
	from = (const u64 __user *)min(place, last);
	at = place - (unsigned long)from;
	if (at >= UNWIND_BISECT_BLOCK)
		goto out;
	unsafe_get_user(block->bytes[0], from, out);
	unsafe_get_user(block->bytes[1], from + 1, out);
	unsafe_get_user(block->bytes[2], from + 2, out);
	unsafe_get_user(block->bytes[3], from + 3, out);
	unsafe_get_user(block->bytes[4], from + 4, out);
	unsafe_get_user(block->bytes[5], from + 5, out);
	user_read_access_end();

	block->bytes[6] = 0;
	block->at = array_index_nospec(at, UNWIND_BISECT_BLOCK);
	block->element.start = element.start;
	block->element.rest[0] = rest.number[0];
	block->element.rest[1] = rest.number[1];
	block->element.nth = element.nth;
	return true;

out:
	user_read_access_end();
	return false;
}

/**
 * unwind_bisect_kernel - Search an array in the kernel's memory
 * @table:   The table that the array is in, all of it
 * @array:   The array
 * @key:     What to search
 * @element: Where to put what was found
 *
 * Context: Any.
 * Return: As unwind_bisect_user(), but for -EFAULT.
 */
int unwind_bisect_kernel(const void *table, const struct unwind_bisect_array *array,
			 u64 key, struct unwind_bisect_element *element)
{
	return bisect((unsigned long)table + array->place, array->origin, array->count, key,
		      element, false, array->wide, array->relative, array->swapped);
}
