// SPDX-License-Identifier: GPL-2.0
/*
 * Search in a sorted array of offsets, wherever that is.
 *
 * The search itself is in search.h. Where memory has to be waited for, it is done all
 * over again here.
 */
#include <linux/errno.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "bisect.h"
#include "search.h"
#include "wait.h"

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
	ret = unwind_search(first, origin, count, key, element, &rest, user, wide, relative,
			    swapped);
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
 * unwind_bisect_block_user - Search an index, and read what the element leads to
 * @index: The index
 * @key:   What to search
 * @block: Where to put what was found
 *
 * Context: Page faults are disabled. The memory may be anywhere.
 * Return: As unwind_bisect_block().
 */
unsigned int unwind_bisect_block_user(const struct unwind_bisect_index *index, u64 key,
				      struct unwind_bisect_block *block)
{
	return unwind_bisect_block(index, key, block);
}

/**
 * unwind_bisect_read_on_user - Read what an element leads to further on
 * @index: The index that the element was found in
 * @block: Where a lookup goes on, and where to put what stands there
 *
 * Context: Page faults are disabled. The memory may be anywhere.
 * Return: As unwind_bisect_read_on().
 */
unsigned int unwind_bisect_read_on_user(const struct unwind_bisect_index *index,
					struct unwind_bisect_block *block)
{
	return unwind_bisect_read_on(index, block);
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
