/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that are made here, with tables or without, and are stopped before
 * their first instruction.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <linux/elf.h>

#include "tables.h"

/*
 * A file of four pages: the program's headers, two pages of text and one that
 * holds tables. In memory each is a segment, with holes between them.
 */
#define SEGMENTS	4
#define STRIDE		(4 * PAGE)
#define TEXT_1		(1 * STRIDE)
#define TEXT_2		(2 * STRIDE)
#define TABLES		(3 * STRIDE)
#define TABLE_SIZE	100
#define BASE		0x10000000UL

struct headers {
	struct elf64_hdr ehdr;
	struct elf64_phdr phdrs[SEGMENTS + 4];
	char interpreter[128];
};

/* Add a program header. */
void program_add_header(struct headers *headers, struct elf64_phdr phdr);

/*
 * Add the program header of an SFrame table. @vaddr: the table's address, from the first
 * segment on.
 */
void program_add_table(struct headers *headers, unsigned long vaddr, unsigned long size);

/*
 * Make a program. @type: ET_EXEC for its own address, or ET_DYN for any. Returns its
 * headers.
 */
struct headers program_make(unsigned int type);

/* Let a program have an interpreter. */
void program_set_interpreter(struct headers *headers, const char *path);

/* Write headers and the pages behind them. Returns 0 or a negative errno. */
int program_write(const char *path, const void *headers, size_t size);

/*
 * Execute a program and stop it before its first instruction. Returns the child; or a
 * negative errno if it could not be executed, or -EPROTO if it ended otherwise.
 */
pid_t program_start(const char *path);

/* End a child that has been stopped. */
void program_end(pid_t pid);

#endif /* PROGRAM_H */
