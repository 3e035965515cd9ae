// SPDX-License-Identifier: GPL-2.0
/*
 * The program that is linked in many ways. It calls a library that is linked in many ways:
 *
 *   shapes MILLISECONDS LIBRARY...
 *
 * The program opens each library and calls it, at least for that time, through a chain of
 * frames of the program, of the library and of the C library.  LIBRARY may also be
 *
 *   pieces:PATH   the program maps the segments a second time, at another place
 *   whole:PATH    the program maps the whole file, as one mapping
 *   text:PATH     the program maps the text only
 *
 * The program then calls the second mapping.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "shape.h"

#define TURNS 20000
#define LEAST 120	/* runs, even on a busy machine */
#define PAGE 4096ul

static APART long shapes_last(struct shape *shape)
{
	volatile long turn;

	for (turn = 0; turn < shape->turns; turn++)
		;
	return turn;
}

static APART int shapes_compare(const void *key, const void *other)
{
	struct shape *shape = *(struct shape **)key;

	shape->second(shape);
	return key != other;
}

static long shapes_middle(struct shape *shape)
{
	volatile char room[40];

	room[0] = 1;
	return bsearch(&shape, &shape, 1, sizeof(shape), shapes_compare) && room[0];
}

static long shapes_run(struct shape *shape, long (*first)(struct shape *), long milliseconds)
{
	long end = now() + milliseconds, runs = 0;

	do {
		first(shape);
		runs++;
	} while (runs < LEAST || now() < end);
	return runs;
}

/* Map a file's segments, or some, as a loader does. Returns the place of its first byte. */
static char *map_again(const char *path, const char *way)
{
	const Elf64_Phdr *segment, *segments;
	size_t most = 0, from, to;
	struct stat status;
	char *file, *place;
	int fd, number, flags;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		fail(path);
	if (!strcmp(way, "whole")) {
		place = mmap(NULL, status.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (place == MAP_FAILED)
			fail("no second mapping");
		close(fd);
		return place;
	}
	file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		fail("no mapping");
	segments = (const Elf64_Phdr *)(file + ((Elf64_Ehdr *)file)->e_phoff);
	number = ((Elf64_Ehdr *)file)->e_phnum;
	for (segment = segments; segment < segments + number; segment++)
		if (segment->p_type == PT_LOAD)
			most = segment->p_vaddr + segment->p_memsz;
	place = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		fail("no room");
	for (segment = segments; segment < segments + number; segment++) {
		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		if (!strcmp(way, "text") && !(segment->p_flags & PF_X))
			continue;
		flags = PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0);
		from = segment->p_vaddr & -PAGE;
		to = segment->p_vaddr + segment->p_filesz;
		if (mmap(place + from, to - from, flags, MAP_PRIVATE | MAP_FIXED, fd,
			 segment->p_offset & -PAGE) == MAP_FAILED)
			fail("no second mapping of a segment");
	}
	munmap(file, status.st_size);
	close(fd);
	return place;
}

static void run_library(char *argument, long milliseconds)
{
	struct shape shape = { qsort, shapes_middle, NULL, shapes_last, TURNS };
	long (*first)(struct shape *);
	char *colon = strchr(argument, ':');
	char *path = colon ? colon + 1 : argument;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	Dl_info info;

	if (!library)
		fail(dlerror());
	first = (long (*)(struct shape *))dlsym(library, colon ? "shape_first_by_address" : "shape_first");
	shape.second = (long (*)(struct shape *))dlsym(library, "shape_second");
	if (!first || !shape.second)
		fail("the library lacks a function");
	if (colon) {
		*colon = '\0';
		if (!dladdr((void *)first, &info))
			fail("where is the library?");
		path = map_again(path, argument);
		first = (long (*)(struct shape *))(path + ((char *)first - (char *)info.dli_fbase));
		shape.second = (long (*)(struct shape *))(path + ((char *)shape.second - (char *)info.dli_fbase));
		*colon = ':';
	}
	printf("shapes: %s: %ld runs\n", argument, shapes_run(&shape, first, milliseconds));
}

int main(int argc, char **argv)
{
	int number;

	if (argc < 3)
		fail("usage: shapes MILLISECONDS LIBRARY...");
	for (number = 2; number < argc; number++)
		run_library(argv[number], atol(argv[1]));
	return 0;
}
