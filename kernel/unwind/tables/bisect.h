/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search in a sorted array of offsets in user memory.
 */
#ifndef _UNWIND_TABLES_BISECT_H
#define _UNWIND_TABLES_BISECT_H

#include <linux/types.h>
#include <linux/uaccess.h>

/**
 * struct unwind_bisect_array - A sorted array of offsets in a table
 * @place:    Where the array is, in bytes from the start of the table
 * @origin:   What the offset of element 0 counts from
 * @count:    How many elements there are
 * @wide:     Whether an offset has 8 bytes, not 4
 * @relative: Whether each offset counts from its own element, not all from that
 *	      of element 0
 * @unsorted: Private to Rust
 *
 * An element is a signed offset and as many bytes of something else. With an
 * element of size bytes, element n starts at
 *
 *	origin + offset[n] + (relative ? n * size : 0)
 *
 * modulo 2^64. Elements are sorted by that, as an unsigned number.
 */
struct unwind_bisect_array {
	u64	place;
	u64	origin;
	u32	count;
	bool	wide;
	bool	relative;
	u8	unsorted[2];
};

/**
 * struct unwind_bisect_element - An element that was found
 * @start: Its start; or, after a fault, the address that could not be read
 * @rest:  The number behind its offset, of 8 bytes or 4
 * @nth:   Its number, from 0
 */
struct unwind_bisect_element {
	u64	start;
	u64	rest;
	u32	nth;
};

/**
 * unwind_tables_missing - Find a byte that a read could not get
 * @addr: Where the read began
 * @len:  How many bytes it was of, in two pages at most
 *
 * Context: Page faults are disabled.
 * Return: The byte's address.
 */
static inline unsigned long unwind_tables_missing(unsigned long addr, unsigned int len)
{
	const unsigned long last = addr + len - 1;
	u8 first;

	if (addr >> PAGE_SHIFT == last >> PAGE_SHIFT ||
	    copy_from_user_nofault(&first, (const void __user *)addr, sizeof(first)))
		return addr;
	return last;
}

int unwind_bisect_user(unsigned long table, const struct unwind_bisect_array *array,
		       u64 key, struct unwind_bisect_element *element, unsigned long *missing);

#endif /* _UNWIND_TABLES_BISECT_H */
