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

/**
 * program_add_header() - Add a program header.
 * @headers: the program's headers
 * @phdr: the new one
 */
void program_add_header(struct headers *headers, struct elf64_phdr phdr);

/**
 * program_add_table() - Add the program header of an SFrame table.
 * @headers: the program's headers
 * @vaddr: the table's address, from the first segment on
 * @size: its size
 */
void program_add_table(struct headers *headers, unsigned long vaddr, unsigned long size);

/**
 * program_make() - Make a program.
 * @type: ET_EXEC for its own address, or ET_DYN for any
 *
 * Return: its headers
 */
struct headers program_make(unsigned int type);

/**
 * program_set_interpreter() - Let a program have an interpreter.
 * @headers: the program's headers
 * @path: the interpreter
 */
void program_set_interpreter(struct headers *headers, const char *path);

/**
 * program_write() - Write headers and the pages behind them.
 * @path: the file
 * @headers: the headers
 * @size: their size
 *
 * Return: 0 or a negative errno
 */
int program_write(const char *path, const void *headers, size_t size);

/**
 * program_start() - Execute a program and stop it before its first instruction.
 * @path: the program
 *
 * Return: the child; or a negative errno if it could not be executed, or -EPROTO if it
 * ended otherwise
 */
pid_t program_start(const char *path);

/**
 * program_end() - End a child that has been stopped.
 * @pid: the child
 */
void program_end(pid_t pid);

#endif /* PROGRAM_H */
