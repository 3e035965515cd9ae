// SPDX-License-Identifier: GPL-2.0
/*
 * Search in a sorted array of offsets, wherever that is.
 *
 * This knows no format: it compares numbers, and says what stands beside the one
 * that it ends at. To make sense of that is left to Rust, see parse/. It is in C
 * because a search by single reads would begin and end an access to user memory
 * for each of them, and nothing may be called in between.
 *
 * Nothing is assumed of what is read: user memory may change at any time. What is
 * compared is not read again.
 */
#include <linux/errno.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/kernel.h>
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

/* All of it, for each place and kind of array: what is constant costs nothing. */
static __always_inline
int bisect(unsigned long table, const struct unwind_bisect_array *array, u64 key,
	   struct unwind_bisect_element *element, bool user, bool wide, bool relative,
	   bool swapped)
{
	const unsigned int width = wide ? sizeof(s64) : sizeof(s32);
	const unsigned int size = 2 * width;
	const unsigned long first = table + array->place;
	/* What an element at address 0 would count from. */
	const u64 from = array->origin - (relative ? first : 0);
	u64 raw, start, least = 0, most = U64_MAX;
	unsigned long at, low = first;
	u32 count = array->count, half, rest[2] = {};

	if (user && !user_read_access_begin((const void __user *)first, (u64)count * size))
		return -EFAULT;

	/*
	 * The last element at or below @key is in the @count elements from @low
	 * on, if there is one. They are at most half as many, rounded up, after
	 * each read: that makes 32 reads at most, the one below included.
	 */
	while (count > 1) {
		half = count / 2;
		at = low + (unsigned long)half * size;
		raw = wide ? get_number(u64, at, user) : get_number(u32, at, user);
		start = from + (relative ? at : 0) + raw_offset(raw, wide, swapped);
		if (start <= key) {
			if (unlikely(start < least))
				goto unsorted;
			least = start;
			low = at;
			count -= half;
		} else {
			if (unlikely(start > most))
				goto unsorted;
			most = start;
			count = half;
		}
	}
	if (unlikely(low == first)) {
		/* Element 0 was not looked at. */
		if (!count)
			goto not_found;
		at = low;
		raw = wide ? get_number(u64, at, user) : get_number(u32, at, user);
		start = from + (relative ? at : 0) + raw_offset(raw, wide, swapped);
		if (start > most)
			goto unsorted;
		if (start > key)
			goto not_found;
		least = start;
	}
	rest[0] = get_number(u32, low + width, user);
	if (wide)
		rest[1] = get_number(u32, low + width + sizeof(u32), user);
	if (user)
		user_read_access_end();
	element->start = least;
	element->rest[0] = rest[0];
	element->rest[1] = rest[1];
	element->nth = (low - first) / size;
	return 0;

not_found:
	if (user)
		user_read_access_end();
	return -ENOENT;
unsorted:
	if (user)
		user_read_access_end();
	element->nth = (at - first) / size;
	return -EINVAL;
fault:
	if (user)
		user_read_access_end();
	return -EFAULT;
}

/* Four bytes that count from the table's base: what linkers write for .eh_frame. */
static noinline
int bisect_narrow(unsigned long table, const struct unwind_bisect_array *array, u64 key,
		  struct unwind_bisect_element *element)
{
	return bisect(table, array, key, element, true, false, false, false);
}

static __always_inline
int bisect_any(unsigned long table, const struct unwind_bisect_array *array, u64 key,
	       struct unwind_bisect_element *element, bool user)
{
	/* Eight bytes that count from where they stand: what linkers write for SFrame. */
	if (likely(array->wide && array->relative && !array->swapped))
		return bisect(table, array, key, element, user, true, true, false);
	if (likely(user && !array->wide && !array->relative && !array->swapped))
		return bisect_narrow(table, array, key, element);
	return bisect(table, array, key, element, user, array->wide, array->relative,
		      array->swapped);
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
		ret = bisect_any(table, array, key, element, true);
	} while (unlikely(ret == -EFAULT) && unwind_tables_wait_begin(&wait));
	unwind_tables_wait_end(&wait);
	return ret;
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
	return bisect_any((unsigned long)table, array, key, element, false);
}
