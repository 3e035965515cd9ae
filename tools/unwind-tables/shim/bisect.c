// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's search in sorted arrays, on memory that a reader in Rust has.
 */
#include "../../../kernel/unwind/tables/bisect.c"

__thread struct shim_reader shim_reader;

/* As unwind_bisect_user(), in the table that @read reads. */
int shim_bisect(bool (*read)(const void *reader, u64 offset, void *to, u32 len),
		const void *reader, const struct unwind_bisect_array *array, u64 key,
		struct unwind_bisect_element *element)
{
	unsigned long missing;

	shim_reader = (struct shim_reader){ .read = read, .reader = reader };
	return unwind_bisect_user(0, array, key, element, &missing);
}
