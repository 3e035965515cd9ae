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
 * All of it, for each place and kind of array: what is constant costs nothing. There
 * are @count elements from @first on; the offset of that one counts from @origin.
 */
static __always_inline
int bisect(unsigned long first, u64 origin, u32 count, u64 key,
	   struct unwind_bisect_element *element, bool user, bool wide, bool relative,
	   bool swapped)
{
	const unsigned int width = wide ? sizeof(s64) : sizeof(s32);
	const u64 size = 2 * width;
	/* What an element at address 0 would count from. */
	const u64 from = origin - (relative ? first : 0);
	/* Bytes of the elements that are left. */
	u64 left = count * size, half;
	u64 raw, start, least = 0, most = U64_MAX;
	unsigned long at, low = first;

	if (user && !user_read_access_begin((const void __user *)first, left))
		return -EFAULT;

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
	raw = wide ? get_number(u64, low + width, user) : get_number(u32, low + width, user);
	if (user)
		user_read_access_end();
	if (wide) {
		memcpy(element->rest, &raw, sizeof(element->rest));
	} else {
		element->rest[0] = raw;
		element->rest[1] = 0;
	}
	element->start = least;
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

/* Offsets of eight bytes, each from where it stands. */
static __always_inline
int bisect_wide_user(unsigned long first, u32 count, u64 key,
		     struct unwind_bisect_element *element)
{
	return bisect(first, first, count, key, element, true, true, true, false);
}

/* Any other array in user memory. */
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

/* What a search cannot read at once it may wait for. */
static noinline
int bisect_wide_waiting(unsigned long first, u32 count, u64 key,
			struct unwind_bisect_element *element, unsigned int *waits)
{
	struct unwind_tables_wait wait = { .left = waits };
	int ret = -EFAULT;

	if (unwind_tables_wait_begin(&wait))
		ret = bisect_wide_user(first, count, key, element);
	unwind_tables_wait_end(&wait);
	return ret;
}

/**
 * unwind_bisect_wide_user - Search an array in user memory, as most of SFrame are
 * @first:   Address of its first element
 * @count:   How many elements there are
 * @key:     What to search
 * @element: Where to put what was found
 * @waits:   How many more searches may wait for memory; this one takes itself off
 *
 * The same as unwind_bisect_user(), in fewer instructions. The array is wide and
 * relative, not swapped, and the offset of element 0 counts from where it stands.
 *
 * Context: As unwind_bisect_user().
 * Return: As unwind_bisect_user().
 */
int unwind_bisect_wide_user(unsigned long first, u32 count, u64 key,
			    struct unwind_bisect_element *element, unsigned int *waits)
{
	int ret;

	if (should_fail_usercopy())
		return -EFAULT;
	ret = bisect_wide_user(first, count, key, element);
	if (likely(ret != -EFAULT))
		return ret;
	return bisect_wide_waiting(first, count, key, element, waits);
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
