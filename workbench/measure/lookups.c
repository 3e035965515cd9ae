// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a lookup in the .eh_frame of the system's own files.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration as
 * frames.c does. Then, for each file, "file", its name, and its path. For many positions
 * in its text, "lookup", the
 * file's name, the position, the instructions of a frame there, the end of the
 * stack, the bytes of the function's CFI, the offset in the function, and its size.
 * And for each file "first", its name, and the instructions of the first stack through
 * it less those of the next ones. The kernel remembers rules; the program makes it
 * forget them before each stack.
 *
 * The stacks are those of counted.h, with two functions of the file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest.h"

#include "tables.h"
#include "synth.h"
#include "objects.h"
#include "clock.h"
#include "forget.h"
#include "counted.h"

#define POSITIONS	400
#define FIRSTS		3

static const char * const patterns[] = {
	"/usr/bin/bash",
	"/usr/bin/perl",
	"/usr/bin/git",
	"/usr/bin/gdb",
	"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0",
	"/usr/libexec/gcc/x86_64-linux-gnu/*/cc1",
};

static struct counted counted;

/* The same numbers in each run: xorshift64*. */
static unsigned long random_state = 1;

static unsigned long random_below(unsigned long limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dUL >> 16) % limit;
}

/*
 * Draw a byte of text that an FDE covers, each with the same probability. Returns NULL
 * or an error.
 */
static const char *draw(const struct file *file, unsigned long *at, struct function *function)
{
	struct function last;
	unsigned long first;
	const char *error = file_function(file, file->index->count - 1, &last);

	if (error)
		return error;
	first = (unsigned long)file->index + file->index->entries[0].start;
	do {
		*at = first + random_below(last.start + last.size - first);
		error = file_function(file, file_search(file, *at), function);
		if (error)
			return error;
	} while (*at - function->start >= function->size);
	return NULL;
}

/* The first instruction of a function, where the CFA is at rsp + 8. */
static const char *find_entry(const struct file *file, unsigned long *entry)
{
	struct function function;
	unsigned long at;

	for (int i = 0; i < 100; i++) {
		const char *error = draw(file, &at, &function);

		if (error)
			return error;
		*entry = function.start;
		/* The kernel may need several stacks until it has found the table. */
		for (int j = 0; j < 3; j++) {
			if (!counted_check(&counted, *entry, at))
				return NULL;
		}
	}
	return "the stack is wrong at the first instruction of each function";
}

/* The cost of the first stack through the file, less that of the next ones, without page faults. */
static const char *first_stack(const struct file *file, unsigned long entry, unsigned long *first)
{
	*first = -1UL;
	for (int i = 0; i < FIRSTS; i++) {
		unsigned long taken;

		if (file_map_again(file))
			return "cannot be mapped again";
		if (file_populate(file))
			return "cannot be read into memory";
		counted_put(&counted, entry, 0);
		taken = counted_once(&counted, true);
		taken -= counted_cost(&counted, true);
		if (taken < *first)
			*first = taken;
	}
	return NULL;
}

static const char *measure(const struct file *file)
{
	unsigned long entry = 0, base, first;
	const char *error = find_entry(file, &entry);

	if (error)
		return error;
	error = first_stack(file, entry, &first);
	if (error)
		return error;
	counted_put(&counted, entry, 0);
	base = counted_cost(&counted, true);
	printf("first %s %lu\n", file->name, first);

	for (int i = 0; i < POSITIONS; i++) {
		struct function function;
		unsigned long at;

		error = draw(file, &at, &function);
		for (int j = 0; !error && j < 3; j++) {
			error = counted_check(&counted, entry, at);
			if (counted.synth.chain.end != PERF_CALLCHAIN_END_FAULT)
				break;
		}
		if (error)
			return error;
		printf("lookup %s 0x%lx %lu %u %u %lu %lu\n", file->name, file_address(file, at),
		       counted_cost(&counted, true) - base, counted.synth.chain.end,
		       function.program, at - function.start, function.size);
	}
	return NULL;
}

int main(void)
{
	const char *error = counted_make(&counted);

	if (error) {
		printf("%s\n", error);
		return 1;
	}
	printf("clock %lu\n", calibration());
	for (unsigned int i = 0; i < ARRAY_SIZE(patterns); i++) {
		static struct file file;
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found)) {
			printf("%s: there is no such file\n", patterns[i]);
			return 1;
		}
		error = file_open(&file, found.gl_pathv[0]);
		if (!error) {
			printf("file %s %s\n", file.name, found.gl_pathv[0]);
			error = measure(&file);
		}
		if (error) {
			printf("%s: %s\n", found.gl_pathv[0], error);
			return 1;
		}
		munmap(file.area, file.size);
		close(file.fd);
		globfree(&found);
	}
	return 0;
}
