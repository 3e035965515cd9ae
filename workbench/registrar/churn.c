// SPDX-License-Identifier: GPL-2.0
/*
 * Threads open, run and close libraries: churn TURNS BROKEN LIBRARY...
 *
 * One of them does so in new namespaces. The loader maps BROKEN, and unmaps it because
 * another library is missing. In the end, the program opens all libraries once more, and
 * prints its mappings and the kernel's list of tables.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "../libraries/common.h"

#define THREADS	3
#define COUNT	40

typedef int run_function(int (*callback)(int), int count);

static const char *broken;
static char **paths;
static int nr_paths, turns;

/* The opened library calls qsort(), which calls this function. */
static int scramble(int number)
{
	for (int i = 0; i < 40; i++)
		number = number * 1103515245 + 12345;
	return number >> 8 & 0xffff;
}

static void *open_and_run(const char *path, int apart)
{
	void *library = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_LAZY);
	run_function *run;

	if (!library)
		fail(dlerror());
	run = (run_function *)dlsym(library, "library_run");
	if (!run)
		fail("no function");
	run(scramble, COUNT);
	return library;
}

static void *thread(void *arg)
{
	long number = (long)arg;

	for (int turn = 0; turn < turns; turn++) {
		if (dlopen(broken, RTLD_NOW))
			fail("a broken library is opened");
		/* Each namespace has its own C library. */
		if (dlclose(open_and_run(paths[(number + turn) % nr_paths], !number)))
			fail(dlerror());
	}
	return NULL;
}

static void show(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	if (!file)
		fail(path);
	printf("== %s\n", path);
	while (fgets(line, sizeof(line), file))
		fputs(line, stdout);
	fclose(file);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc < 4)
		fail("no libraries");
	turns = atoi(argv[1]);
	broken = argv[2];
	paths = argv + 3;
	nr_paths = argc - 3;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			fail("no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	for (int i = 0; i < nr_paths; i++)
		open_and_run(paths[i], 0);
	open_and_run(paths[0], 1);
	open_and_run(paths[1 % nr_paths], 1);
	show("/proc/self/maps");
	show("/proc/self/unwind_tables");
	return 0;
}
