/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's call, as linux/prctl.h and linux/unwind_tables.h have it. They are not used
 * because programs are also built where these are older than the kernel that they run on.
 *
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#ifndef UNWIND_JIT_TABLES_H
#define UNWIND_JIT_TABLES_H

#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>

#define TABLES_PRCTL		82

enum tables_operation {
	TABLES_REGISTER,
	TABLES_UNREGISTER,
};

enum tables_format {
	TABLES_SFRAME = 1,
	TABLES_EH_FRAME,
};

/* A range of text, and the table that describes it. */
struct tables_entry {
	uint64_t text_start;
	uint64_t text_end;
	uint64_t table_start;
	uint64_t table_end;
	uint64_t header;
	uint32_t format;
	uint32_t flags;
};

/* Return 0, or -errno. Without an entry, REGISTER asks whether the kernel has tables. */
static inline int tables_call(enum tables_operation operation, struct tables_entry *entry)
{
	unsigned long nr = entry ? 1 : 0;

	if (prctl(TABLES_PRCTL, (unsigned long)operation, entry, nr, sizeof(*entry)) < 0)
		return -errno;
	return 0;
}

#endif /* UNWIND_JIT_TABLES_H */
