// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of registrations, and the cost for a program that has none.
 *
 * For a guest whose clock counts instructions. Prints lines "OPERATION N COST":
 * the cheapest of some repetitions, with N registrations in the address space. An
 * interrupt makes the others dearer. A kernel without tables has only N = 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/unwind_tables.h>

#include "clock.h"

#ifndef PR_UNWIND_TABLES
# define PR_UNWIND_TABLES		82
# define PR_UNWIND_TABLES_REGISTER	0
# define PR_UNWIND_TABLES_UNREGISTER	1
#endif

#define REPEAT	40
#define MOST	4096
#define KEPT	60000
#define PAGE	4096UL

/* A page of text, a page of its table, and so on, as a JIT compiler might make them. */
static char *area;
static char *self;
/* A free page among them, and a page far away. */
static char *among, *away;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* One call of prctl() for a page of text with its table. */
static long call_for(unsigned long operation, char *text, char *table)
{
	struct unwind_table element = {
		.text_start = (unsigned long)text,
		.text_end = (unsigned long)text + PAGE,
		.table_start = (unsigned long)table,
		.table_end = (unsigned long)table + PAGE,
		.format = UNWIND_TABLE_SFRAME,
	};

	return prctl(PR_UNWIND_TABLES, operation, &element, 1UL, sizeof(element));
}

static long call(unsigned long operation, int nr)
{
	char *text = area + 2 * PAGE * nr;

	return call_for(operation, text, text + PAGE);
}

static unsigned long do_register(void)
{
	unsigned long start = now(), taken;

	if (call(PR_UNWIND_TABLES_REGISTER, MOST - 1) != 1)
		die("register");
	taken = now() - start;
	if (call(PR_UNWIND_TABLES_UNREGISTER, MOST - 1) != 1)
		die("unregister");
	return taken;
}

static unsigned long do_unregister(void)
{
	unsigned long start, taken;

	if (call(PR_UNWIND_TABLES_REGISTER, MOST - 1) != 1)
		die("register");
	start = now();
	if (call(PR_UNWIND_TABLES_UNREGISTER, MOST - 1) != 1)
		die("unregister");
	taken = now() - start;
	return taken;
}

/* Without the work of the child. */
static unsigned long do_fork(void)
{
	unsigned long start = now(), taken;
	pid_t child = fork();

	if (!child)
		_exit(0);
	taken = now() - start;
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("fork");
	return taken;
}

/* With the child's exit. */
static unsigned long do_fork_exit(void)
{
	unsigned long start = now();
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("fork");
	return now() - start;
}

/* As in posix_spawn(): the address space is not copied. */
static unsigned long do_vfork_exit(void)
{
	unsigned long start = now();
	pid_t child = vfork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("vfork");
	return now() - start;
}

static unsigned long do_exec(void)
{
	unsigned long start = now();
	pid_t child = vfork();

	if (!child) {
		execl(self, self, "nothing", NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("exec");
	return now() - start;
}

static unsigned long munmap_at(char *address)
{
	char *page = mmap(address, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	unsigned long start;

	if (page == MAP_FAILED)
		die("mmap");
	*page = 1;
	start = now();
	munmap(page, PAGE);
	return now() - start;
}

static unsigned long do_munmap(void)
{
	return munmap_at(away);
}

static unsigned long do_munmap_among(void)
{
	return munmap_at(among);
}

/* Make mappings behind all text that no child gets. Each has other rights than its neighbours. */
static void keep_from_children(void)
{
	const size_t len = KEPT * PAGE;
	char *kept = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (kept == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < KEPT; i += 2)
		if (mprotect(kept + i * PAGE, PAGE, PROT_NONE))
			die("mprotect");
	if (madvise(kept, len, MADV_DONTFORK))
		die("madvise");
}

static void measure(const char *name, int nr, unsigned long (*operation)(void))
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long taken = operation();

		if (taken < best)
			best = taken;
	}
	printf("%s %d %lu\n", name, nr, best);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 0, 2, 64, 1024, MOST - 2 };
	size_t len = (2 * MOST + 1) * PAGE;
	int registered = 0;
	pid_t pid;

	if (argc > 1)
		return 0;
	self = argv[0];
	away = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || away == MAP_FAILED || munmap(away + PAGE, PAGE))
		die("mmap");
	away += PAGE;
	among = area + 2 * PAGE;
	if (munmap(among, PAGE))
		die("munmap");

	measure("clock", 0, calibration);
	/* Without registrations, the kernel does no additional work. */
	measure("exec", 0, do_exec);
	measure("fork", 0, do_fork);
	measure("fork+exit", 0, do_fork_exit);
	measure("vfork+exit", 0, do_vfork_exit);
	measure("munmap", 0, do_munmap);
	/* In a child, so that the others fork without that. */
	pid = fork();
	if (!pid) {
		keep_from_children();
		measure("fork-dontfork", 0, do_fork);
		return 0;
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	if (call(PR_UNWIND_TABLES_REGISTER, 0) < 0)
		return 0;
	call(PR_UNWIND_TABLES_UNREGISTER, 0);

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (; registered < sizes[i]; registered++)
			if (call(PR_UNWIND_TABLES_REGISTER, registered + !!registered) != 1)
				die("register");
		measure("register", registered, do_register);
		measure("unregister", registered, do_unregister);
		if (!registered)
			continue;
		measure("fork", registered, do_fork);
		measure("fork+exit", registered, do_fork_exit);
		measure("vfork+exit", registered, do_vfork_exit);
		measure("munmap", registered, do_munmap);
		measure("munmap-among", registered, do_munmap_among);
	}
	/* With a table far from its text, the kernel looks for tables within 1 MiB. */
	if (call(PR_UNWIND_TABLES_UNREGISTER, 0) != 1 ||
	    call_for(PR_UNWIND_TABLES_REGISTER, area, area + len - PAGE) != 1)
		die("register");
	measure("munmap-any", registered, do_munmap_among);
	keep_from_children();
	measure("fork-dontfork", registered, do_fork);
	return 0;
}
