// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to look up an address in the .eh_frame of the system's own files.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration as
 * frames.c does. Then, for each file and many positions in its text, "lookup", the
 * file's name, the position, the instructions of a frame there, how the stack
 * ended, the bytes of the function's CFI, how far into the function it is, and its
 * size. And for each file "first", its name, the instructions of the first stack
 * through it less those of the next ones, and of a frame in another file than
 * that of the frame before, less those of one in the same.
 *
 * The stack has two functions: that of the scene, which makes the system call, and
 * one of the file at its first instruction. Then follows the frame that counts.
 * Its caller's return address is 0, wherever it is, so that the walk ends there.
 * What it costs is the difference to the stack without it. That is not a lookup
 * alone: some 140 instructions of it are those of the walk, as of each frame.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kselftest.h"

#include "tables.h"
#include "scene.h"
#include "objects.h"
#include "clock.h"

#define REPEAT		4
#define POSITIONS	400
#define FIRSTS		3
/* Of zeros. Few frames are larger. */
#define STACK_SIZE	(512 * PAGE)

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

static struct scene scene;
static unsigned long *stack;

static unsigned long once(void)
{
	unsigned long start = now(), taken;

	scene_enter(&scene.frame);
	taken = now() - start;
	scene.sampler.page->data_tail = scene.sampler.page->data_head;
	return taken;
}

/* The cheapest of some: the others had a timer interrupt in them, or waited for a page. */
static unsigned long cost(void)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long taken = once();

		if (taken < best)
			best = taken;
	}
	return best;
}

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
 * Draw a byte of text that an FDE describes, each as likely as another: what is
 * between functions is drawn again. Returns NULL, or what is wrong.
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

/* A frame for each byte of text, where a walk looks it up; 0 is none. */
static void put_frames(unsigned long first, unsigned long second)
{
	stack[0] = first ? first + 1 : 0;
	stack[1] = second ? second + 1 : 0;
}

/* Sample the stack; it must have these frames above the scene's. NULL, or what is wrong. */
static const char *check_frames(unsigned long first, unsigned long second)
{
	const struct chain *chain = &scene.chain;
	const char *error;

	put_frames(first, second);
	scene_enter(&scene.frame);
	error = sampler_chain(&scene.sampler, &scene.chain);
	if (error)
		return error;
	if (chain->nr != 3 || chain->ips[1] != first + 1 || chain->ips[2] != second + 1)
		return "stack of other frames than those that are there";
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
		/* What it has yet to find out may take more than one stack. */
		for (int j = 0; j < 3; j++) {
			if (!check_frames(*entry, at))
				return NULL;
		}
	}
	return "no function is as all are";
}

/* The first stack through the file, less the next ones: the search, not page faults. */
static const char *first_stack(const struct file *file, unsigned long entry, unsigned long *first)
{
	*first = -1UL;
	for (int i = 0; i < FIRSTS; i++) {
		unsigned long taken;

		if (file_map_again(file))
			return "cannot be mapped again";
		if (file_populate(file))
			return "cannot be brought in";
		put_frames(entry, 0);
		taken = once();
		taken -= cost();
		if (taken < *first)
			*first = taken;
	}
	return NULL;
}

static const char *measure(const struct file *file)
{
	unsigned long entry = 0, none, base, same, first;
	const char *error = find_entry(file, &entry);

	if (error)
		return error;
	error = first_stack(file, entry, &first);
	if (error)
		return error;
	put_frames(0, 0);
	none = cost();
	put_frames(entry, 0);
	base = cost();
	error = check_frames(entry, entry);
	if (error)
		return error;
	same = cost();
	printf("first %s %lu %ld\n", file->name, first, (base - none) - (same - base));

	for (int i = 0; i < POSITIONS; i++) {
		struct function function;
		unsigned long at;

		error = draw(file, &at, &function);
		for (int j = 0; !error && j < 3; j++) {
			error = check_frames(entry, at);
			if (scene.chain.end != PERF_CALLCHAIN_END_FAULT)
				break;
		}
		if (error)
			return error;
		printf("lookup %s 0x%lx %lu %u %u %lu %lu\n", file->name, file_address(file, at),
		       cost() - base, scene.chain.end, function.program, at - function.start,
		       function.size);
	}
	return NULL;
}

/* A scene whose stack has only zeros, wherever a frame may be. */
static const char *make_stacks(void)
{
	int ret = scene_make(&scene);

	if (ret)
		return "no stacks";
	stack = scene_memory(STACK_SIZE);
	if (!stack)
		return "no memory";
	/* All its pages are there, and are its own. */
	memset(stack, 0, STACK_SIZE);
	scene_rule(&scene, BY_SP(8));
	scene.frame.regs.sp = (unsigned long)stack;
	scene.frame.regs.bp = (unsigned long)stack + STACK_SIZE / 2;
	return NULL;
}

int main(void)
{
	const char *error = make_stacks();

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
		error = file_open(&file, found.gl_pathv[0]) ?: measure(&file);
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
