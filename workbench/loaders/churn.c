// SPDX-License-Identifier: GPL-2.0
/*
 * Open and close libraries, and compare the kernel's list of tables with theirs:
 *
 *   churn DIRECTORY MILLISECONDS    several threads do it for this time; then other ways to
 *                                   open and close
 *   churn DIRECTORY start           nothing is opened
 *   churn DIRECTORY group           all are opened by one call
 *   churn DIRECTORY nested          a constructor opens another library
 *   churn DIRECTORY few             only a few are opened
 *   churn DIRECTORY sandbox         the same, but a filter then refuses registrations
 *   churn DIRECTORY refused ERROR   the same, but a filter refuses registrations from the start
 *
 * DIRECTORY has the libraries m000.so, m001.so and so on. group.so needs all of them.
 * broken.so needs one of them and a missing function.  outer.so needs nested.so, whose
 * constructor opens inner.so, which needs outer.so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "../libraries/common.h"
#include "tables.h"

#define LIBRARIES 40
#define THREADS 4
#define FEW 3

static const char *directory;
static long milliseconds;
static long rounds[THREADS];

static void *open_library(const char *name)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s.so", directory, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail(dlerror());
	return library;
}

static void *open_member(int number)
{
	char name[8];

	snprintf(name, sizeof(name), "m%03d", number % LIBRARIES);
	return open_library(name);
}

void run_member(void *library, int number)
{
	char name[16];
	int (*run)(void);

	snprintf(name, sizeof(name), "m%03d_run", number % LIBRARIES);
	run = (int (*)(void))dlsym(library, name);
	if (!run)
		fail(dlerror());
	if (run() != 1)
		fail("a library has not sorted");
}

/* Two libraries are open at a time, so their addresses differ from round to round. */
void churn_round(int number)
{
	void *first = open_member(number), *second = open_member(number * 7 + 1);

	run_member(first, number);
	dlclose(first);
	run_member(second, number * 7 + 1);
	dlclose(second);
}

void *churn_thread(void *argument)
{
	int thread = *(int *)argument;
	long end = now() + milliseconds;

	/* Open each library, even on a slow machine. */
	while (now() < end || rounds[thread] < LIBRARIES / THREADS)
		churn_round(thread * LIBRARIES / THREADS + rounds[thread]++);
	return NULL;
}

static void churn(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];
	long all = 0;

	for (int thread = 0; thread < THREADS; thread++) {
		numbers[thread] = thread;
		if (pthread_create(&threads[thread], NULL, churn_thread, &numbers[thread]))
			fail("no thread");
	}
	for (int thread = 0; thread < THREADS; thread++) {
		pthread_join(threads[thread], NULL);
		all += rounds[thread];
	}
	printf("rounds %ld\n", all);
}

static void open_broken(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/broken.so", directory);
	if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
		fail("broken.so can be opened");
	printf("broken %s\n", dlerror());
}

static void open_few(void)
{
	void *libraries[FEW];

	for (int number = 0; number < FEW; number++) {
		libraries[number] = open_member(number);
		run_member(libraries[number], number);
	}
	check_tables("few", NULL);
	for (int number = 0; number < FEW; number++)
		dlclose(libraries[number]);
}

static void open_namespace(void)
{
#ifdef __GLIBC__
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/m000.so", directory);
	library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	if (!library)
		fail(dlerror());
	run_member(library, 0);
	check_tables("namespace", library);
	dlclose(library);
	check_tables("namespace-closed", NULL);
#endif
}

int main(int argc, char **argv)
{
	void *libraries[LIBRARIES], *group;
	char path[4096];

	if (argc < 3) {
		fprintf(stderr, "usage: churn DIRECTORY MILLISECONDS|start|group|nested|few|sandbox\n"
			"       churn DIRECTORY refused ERROR\n");
		return 2;
	}
	directory = argv[1];
	if (!strcmp(argv[2], "refused") && argc == 4) {
		refuse(atoi(argv[3]));
		execl("/proc/self/exe", argv[0], argv[1], "few", NULL);
		fail("cannot execute itself");
	}
	check_tables("start", NULL);
	if (!strcmp(argv[2], "start"))
		return 0;
	if (!strcmp(argv[2], "sandbox"))
		refuse(1);	/* EPERM */
	if (!strcmp(argv[2], "few") || !strcmp(argv[2], "sandbox")) {
		open_few();
		return 0;
	}

	if (!strcmp(argv[2], "group")) {
		group = open_library("group");
		check_tables("group", NULL);
		dlclose(group);
		check_tables("group-closed", NULL);
		return 0;
	}

	if (!strcmp(argv[2], "nested")) {
		snprintf(path, sizeof(path), "%s/inner.so", directory);
		setenv("NESTED", path, 1);
		open_library("outer");
		check_tables("nested", NULL);
		return 0;
	}

	/* dlopen() of a broken library must unmap the library that this one needs, too. */
	open_broken();
	check_tables("broken", NULL);
	milliseconds = atol(argv[2]);
	churn();
	check_tables("churned", NULL);
	for (int number = 0; number < LIBRARIES; number++)
		libraries[number] = open_member(number);
	check_tables("opened", NULL);
	for (int number = 0; number < LIBRARIES; number++)
		dlclose(libraries[number]);
	check_tables("closed", NULL);
	open_namespace();
	return 0;
}
