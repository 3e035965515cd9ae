// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of an auditor of the dynamic loader, in a guest whose clock counts
 * instructions: cost LIBRARY. LD_AUDIT names the auditor, if any.
 *
 * Prints lines "OPERATION COST", the cheapest of some repetitions: an interrupt makes the
 * others dearer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../measure/clock.h"

#define REPEAT	25
#define CALLS	10000

/* Of a library that the program is linked with. */
int library_run(int (*callback)(int), int count);
void library_touch(void);

static const char *self, *library;

static void die(const char *what)
{
	fprintf(stderr, "cost: %s\n", what);
	exit(1);
}

static unsigned long do_exec(void)
{
	unsigned long start = now();
	pid_t child = vfork();

	if (!child) {
		execl(self, self, NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("exec");
	return now() - start;
}

static unsigned long open_and_close(Lmid_t namespace)
{
	unsigned long start = now();
	void *handle = dlmopen(namespace, library, RTLD_NOW);

	if (!handle || dlclose(handle))
		die(dlerror());
	return now() - start;
}

static unsigned long do_dlopen_dlclose(void)
{
	return open_and_close(LM_ID_BASE);
}

static unsigned long do_dlmopen_dlclose(void)
{
	return open_and_close(LM_ID_NEWLM);
}

static unsigned long do_calls(void)
{
	unsigned long start = now();

	for (int i = 0; i < CALLS; i++)
		library_run(NULL, 0);
	return now() - start;
}

static void show(const char *name, unsigned long taken, unsigned long per)
{
	/* @per is the clock's count for 20000 instructions. */
	printf("%s %.1f\n", name, taken * 20000.0 / per);
}

static void measure(const char *name, unsigned long (*operation)(void), unsigned long per)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long taken = operation();

		if (taken < best)
			best = taken;
	}
	show(name, best, per);
}

int main(int argc, char **argv)
{
	unsigned long per, start, first;

	/* do_exec() starts the program without arguments. */
	if (argc < 2)
		return 0;
	self = argv[0];
	library = argv[1];
	library_touch();
	start = now();
	library_run(NULL, 0);
	first = now() - start;
	per = calibration();
	show("first-call", first, per);
	measure("calls", do_calls, per * CALLS);
	measure("dlopen+dlclose", do_dlopen_dlclose, per);
	measure("dlmopen+dlclose", do_dlmopen_dlclose, per);
	measure("exec+exit", do_exec, per);
	return 0;
}
