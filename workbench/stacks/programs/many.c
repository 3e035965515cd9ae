// SPDX-License-Identifier: GPL-2.0
/*
 * Run chains of calls through many libraries: many DIRECTORY MILLISECONDS.
 *
 * Each thread opens its part of the libraries in DIRECTORY. Then each runs all chains,
 * in turn, for that time.  Prints the functions of each chain, outermost first; `@'
 * stands for a function of the C library that calls back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "common.h"
#include "many.h"

#define LIBRARIES 200
#define CHAINS LIBRARIES	/* one starts in each */
#define THREADS 4
#define FEWEST_LEVELS 8
#define TURNS 3000

static const char *const kinds[] = { "plain", "saved", "varied", "aligned", "sorted", "searched" };
#define KINDS ((int)(sizeof(kinds) / sizeof(*kinds)))

static const char *directory;
static long milliseconds;
static void *libraries[LIBRARIES];
static struct chain chains[CHAINS];
static pthread_barrier_t barrier;
static long runs[THREADS];

static void open_libraries(int thread)
{
	char path[4096];
	int library;

	for (library = thread; library < LIBRARIES; library += THREADS) {
		snprintf(path, sizeof(path), "%s/m%03d.so", directory, library);
		libraries[library] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!libraries[library])
			fail(dlerror());
	}
}

static void make_chain(int number)
{
	int levels = FEWEST_LEVELS + number % (MOST_LEVELS - FEWEST_LEVELS + 1);
	struct chain *chain = &chains[number];
	int level;

	chain->turns = TURNS;
	printf("chain %d:", number);
	for (level = 0; level < levels; level++) {
		int library = (number + level * (37 + number % 7 * 2)) % LIBRARIES;
		int kind = (number * 5 + level * 7 + number / KINDS) % KINDS;
		const char *name = level == levels - 1 ? "last" : kinds[kind];
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "m%03d_%s", library, name);
		chain->steps[level] = (long (*)(struct chain *, int))dlsym(libraries[library], symbol);
		if (!chain->steps[level])
			fail(symbol);
		printf(" %s", symbol);
		if (name == kinds[4] || name == kinds[5])
			printf(" @ m%03d_compare", library);
	}
	printf("\n");
}

static void run_chains(int thread)
{
	long end = now() + milliseconds;
	int number = thread * CHAINS / THREADS;

	while (now() < end) {
		chains[number].steps[0](&chains[number], 0);
		number = (number + 1) % CHAINS;
		runs[thread]++;
	}
}

static void *run_thread(void *argument)
{
	int thread = *(int *)argument;

	open_libraries(thread);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	run_chains(thread);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];
	int thread, number;
	long all = 0;

	if (argc != 3)
		fail("usage: many DIRECTORY MILLISECONDS");
	directory = argv[1];
	milliseconds = atol(argv[2]);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (thread = 1; thread < THREADS; thread++) {
		numbers[thread] = thread;
		if (pthread_create(&threads[thread], NULL, run_thread, &numbers[thread]))
			return 1;
	}
	open_libraries(0);
	pthread_barrier_wait(&barrier);
	for (number = 0; number < CHAINS; number++)
		make_chain(number);
	fflush(stdout);
	pthread_barrier_wait(&barrier);
	run_chains(0);
	for (thread = 1; thread < THREADS; thread++)
		pthread_join(threads[thread], NULL);
	for (thread = 0; thread < THREADS; thread++)
		all += runs[thread];
	printf("many: %d libraries, %d threads, %ld chains of calls\n", LIBRARIES, THREADS, all);
	return 0;
}
