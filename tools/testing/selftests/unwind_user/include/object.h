/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects with a table that nobody registers, mapped as a loader does.
 */
#ifndef OBJECT_H
#define OBJECT_H

#include <linux/elf.h>

#include "tables.h"

/* Pages of the file; in memory each part is as far from the others. */
#define OBJECT_TEXT	1	/* two pages, with a leaf at the start of each */
#define OBJECT_TABLE	3	/* for the first leaf */
#define OBJECT_PAGES	4
#define OBJECT_SIZE	(OBJECT_PAGES * PAGE)

enum { LOAD_HEADERS, LOAD_TEXT, LOAD_TABLE, GNU_SFRAME, OBJECT_HEADERS };

struct object {
	struct elf64_hdr ehdr;
	struct elf64_phdr phdrs[OBJECT_HEADERS + 4];
	struct hand_table table;
	/* Once it is written and mapped: */
	int fd;
	unsigned char *base;
};

/* Make a good object whose first address is @vaddr, by its headers. */
struct object object_at(unsigned long vaddr);
struct object object_good(void);
/* Make an object whose table says that nobody calls the leaf. */
struct object object_outermost(void);
/* Write an object to its file, a new one for a start. Returns 0 or a negative errno. */
int object_write(struct object *object);
int object_map_parts(const struct object *object);
/* Write the file and map it between pages without access. Returns 0 or a negative errno. */
int object_make(struct object *object);
/* Unmap an object, so that nothing is known of it, and map it again. Returns as above. */
int object_map_again(const struct object *object);
unsigned char *object_text(const struct object *object);
struct unwind_table object_ranges(const struct object *object);

#endif /* OBJECT_H */
