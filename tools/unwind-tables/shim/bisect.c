// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's search in sorted arrays, on memory that a reader in Rust has.
 */
#include "../../../kernel/unwind/tables/bisect.c"

__thread struct shim_reader shim_reader;

/* As unwind_bisect_user(), in the table of @reader. */
int shim_bisect(const struct shim_reader *reader, const struct unwind_bisect_array *array,
		u64 key, struct unwind_bisect_element *element)
{
	unsigned int waits = 0;

	shim_reader = *reader;
	return unwind_bisect_user(0, array, key, element, &waits);
}

/* As unwind_bisect_block_user(), in the table of @reader. */
unsigned int shim_find(const struct shim_reader *reader, const struct unwind_bisect_index *index,
		       u64 key, struct unwind_bisect_block *block)
{
	shim_reader = *reader;
	return unwind_bisect_block_user(index, key, block);
}

/* As unwind_bisect_read_on_user(), in the table of @reader. */
unsigned int shim_read_on(const struct shim_reader *reader,
			  const struct unwind_bisect_index *index,
			  struct unwind_bisect_block *block)
{
	shim_reader = *reader;
	return unwind_bisect_read_on_user(index, block);
}
