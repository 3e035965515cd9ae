/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search in a sorted array of offsets, wherever that is.
 */
#ifndef _UNWIND_TABLES_BISECT_H
#define _UNWIND_TABLES_BISECT_H

#include <linux/types.h>

/**
 * struct unwind_bisect_array - A sorted array of offsets in a table
 * @place:    Where the array is, in bytes from the start of the table
 * @origin:   What the offset of element 0 counts from
 * @count:    How many elements there are
 * @wide:     Whether an offset has 8 bytes, not 4
 * @relative: Whether each offset counts from its own element, not all from that
 *	      of element 0
 * @swapped:  Whether offsets are in the byte order that is not this machine's
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
	bool	swapped;
};

/**
 * struct unwind_bisect_element - An element that was found
 * @start: What it starts at
 * @rest:  What is behind its offset, as it stands there: 8 bytes or 4, then zeros
 * @nth:   Its number, from 0
 */
struct unwind_bisect_element {
	u64	start;
	u32	rest[2];
	u32	nth;
};

/**
 * struct unwind_bisect_index - A sorted array of the usual kind, and what it leads to
 * @first:  Address of its first element
 * @blocks: Address of the bytes that its elements lead to
 * @last:   Highest address at which a block may start
 * @count:  How many elements it has
 * @small:  Elements whose first number is above this lead to large blocks; U32_MAX if the
 *	    table has not so many bytes
 *
 * The array is wide and relative, not swapped, and the offset of element 0 counts from
 * where it stands. Of the numbers behind an offset, the second one says where its block
 * is, in bytes from @blocks.
 */
struct unwind_bisect_index {
	u64	first;
	u64	blocks;
	u64	last;
	u32	count;
	u32	small;
};

/* Bytes that are read of what an element leads to; and if that is large, or further on. */
#define UNWIND_BISECT_BLOCK		48
#define UNWIND_BISECT_LARGE_BLOCK	232
/* Zeros behind these, so that a few bytes can be taken anywhere. */
#define UNWIND_BISECT_MORE		48

/**
 * struct unwind_bisect_block - An element that was found, and what it leads to
 * @element:  The element
 * @at:	      What it leads to, or what is @progress bytes behind that, in bytes from the
 *	      start of @bytes: not 0 if that is near the end of the table
 * @progress: Where a lookup goes on, in bytes from what the element leads to; 0 if that is
 *	      of no use
 * @state:    Private to Rust, 0 at first
 * @bytes:    Bytes of the table, %UNWIND_BISECT_BLOCK or %UNWIND_BISECT_LARGE_BLOCK, and
 *	      %UNWIND_BISECT_MORE behind these
 */
struct unwind_bisect_block {
	struct unwind_bisect_element	element;
	u64				at;
	u32				progress;
	u32				state;
	u64				bytes[(UNWIND_BISECT_LARGE_BLOCK + UNWIND_BISECT_MORE) / 8];
};

int unwind_bisect_user(unsigned long table, const struct unwind_bisect_array *array,
		       u64 key, struct unwind_bisect_element *element, unsigned int *waits);
unsigned int unwind_bisect_block_user(const struct unwind_bisect_index *index, u64 key,
				      struct unwind_bisect_block *block);
unsigned int unwind_bisect_read_on_user(const struct unwind_bisect_index *index,
					struct unwind_bisect_block *block);
int unwind_bisect_kernel(const void *table, const struct unwind_bisect_array *array,
			 u64 key, struct unwind_bisect_element *element);

#endif /* _UNWIND_TABLES_BISECT_H */
