// SPDX-License-Identifier: GPL-2.0
/*
 * Search in a sorted array of offsets in user memory.
 *
 * This knows no format: it compares numbers, and returns the number beside the one
 * that it has found. Rust code in parse/ interprets that. The search is in C to open
 * user memory once, not for each read.
 *
 * User memory may change at any time, so no number is read twice.
 */
#include <linux/errno.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/kernel.h>
#include <linux/uaccess.h>

#include "bisect.h"

/* Read the number at an address; jump to fault: if that fails. */
#define get_number(type, at)							\
({										\
	type __number;								\
										\
	unsafe_get_user(__number, (const type __user *)(at), fault);		\
	__number;								\
})

/* Search an array. Inline, with constant @wide and @relative, for the kinds that occur. */
static __always_inline
int bisect(unsigned long first, u64 origin, u32 count, u64 key,
	   struct unwind_bisect_element *element, bool wide, bool relative)
{
	const unsigned int width = wide ? sizeof(s64) : sizeof(s32);
	const u64 size = 2 * width;
	/* What an element at address 0 would count from. */
	const u64 from = origin - (relative ? first : 0);
	/* Bytes of the elements that are left. */
	u64 left = count * size, half;
	u64 start, least = 0, most = U64_MAX;
	unsigned long at, low = first;

	if (!user_read_access_begin((const void __user *)first, left))
		return -EFAULT;

	/*
	 * The last element at or below @key is in the @left bytes from @low on,
	 * if there is one. They are at most half as many elements, rounded up,
	 * after each read: that makes 32 reads at most, the one below included.
	 */
	while (left > size) {
		half = left / 2 & -size;
		at = low + half;
		start = from + (relative ? at : 0) + (wide ? get_number(s64, at)
							   : get_number(s32, at));
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
			goto none;
		at = low;
		start = from + (relative ? at : 0) + (wide ? get_number(s64, at)
							   : get_number(s32, at));
		if (start > most)
			goto unsorted;
		if (start > key)
			goto none;
		least = start;
	}
	at = low;
	element->rest = wide ? get_number(u64, low + width) : get_number(u32, low + width);
	user_read_access_end();
	element->start = least;
	element->nth = (low - first) / size;
	return 0;

none:
	user_read_access_end();
	return -ENOENT;
unsorted:
	user_read_access_end();
	element->nth = (at - first) / size;
	return -EINVAL;
fault:
	user_read_access_end();
	element->start = at;
	return -EFAULT;
}

/* Search an array of any kind: one of the two that linkers write, or another one. */
static __always_inline
int bisect_array(unsigned long table, const struct unwind_bisect_array *array, u64 key,
		 struct unwind_bisect_element *element)
{
	const unsigned long first = table + array->place;

	if (array->wide && array->relative)
		return bisect(first, array->origin, array->count, key, element, true, true);
	if (!array->wide && !array->relative)
		return bisect(first, array->origin, array->count, key, element, false, false);
	return bisect(first, array->origin, array->count, key, element, array->wide,
		      array->relative);
}

/**
 * unwind_bisect_user - Search an array in user memory
 * @table:   Address of the table that the array is in
 * @array:   The array
 * @key:     What to search
 * @element: Where to put what was found
 * @missing: Where to put the address of a byte that is not in memory
 *
 * In a single user access, with at most 32 reads before that of @element.
 *
 * Each element that is looked at must start between those before. If one does
 * not, its number is in @element->nth.
 *
 * Context: Page faults are disabled. The array may be anywhere.
 * Return: 0 and in @element the last one that starts at or below @key; -ENOENT if
 *	   there is none; -EFAULT if the array could not be read; -EINVAL if it is
 *	   not sorted.
 */
int unwind_bisect_user(unsigned long table, const struct unwind_bisect_array *array,
		       u64 key, struct unwind_bisect_element *element, unsigned long *missing)
{
	const unsigned long first = table + array->place;
	const u64 size = array->wide ? 2 * sizeof(s64) : 2 * sizeof(s32);
	int ret;

	if (should_fail_usercopy())
		return -EFAULT;
	element->start = first;
	ret = bisect_array(table, array, key, element);
	if (unlikely(ret == -EFAULT))
		*missing = unwind_tables_missing(element->start, size);
	return ret;
}
