// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of opening libraries: cost DIRECTORY, which has c000.so to c040.so.
 *
 * For a guest whose clock counts instructions.  Prints lines "OPERATION COST": the median.
 *
 *   open      dlopen() of a library that was not open before
 *   again     dlopen() and dlclose() of one library, again and again
 *   start     a process that runs this program, from vfork() to its end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define LIBRARIES 40
#define REPEAT 101
#define STARTS 25

static unsigned long costs[REPEAT];

static int compare(const void *one, const void *other)
{
	const unsigned long *first = one, *second = other;

	return (*first > *second) - (*first < *second);
}

static void print_median(const char *operation, int count)
{
	qsort(costs, count, sizeof(*costs), compare);
	printf("%s %lu\n", operation, costs[count / 2]);
}

static void *open_library(const char *directory, int number)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/c%03d.so", directory, number);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "cost: %s\n", dlerror());
		exit(1);
	}
	return library;
}

static void start(char *program)
{
	char *arguments[] = { program, NULL };
	int status;
	pid_t pid = vfork();

	if (!pid) {
		execv(program, arguments);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "cost: cannot start %s\n", program);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return 0;
	printf("clock %lu\n", calibration());
	for (int i = 0; i < LIBRARIES; i++) {
		unsigned long before = now();

		open_library(argv[1], i);
		costs[i] = now() - before;
	}
	print_median("open", LIBRARIES);
#ifdef __GLIBC__
	/* musl never unmaps a library. */
	for (int i = 0; i < REPEAT; i++) {
		unsigned long before = now();

		dlclose(open_library(argv[1], LIBRARIES));
		costs[i] = now() - before;
	}
	print_median("again", REPEAT);
#endif
	for (int i = 0; i < STARTS; i++) {
		unsigned long before = now();

		start(argv[0]);
		costs[i] = now() - before;
	}
	print_median("start", STARTS);
	return 0;
}
