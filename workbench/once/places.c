// SPDX-License-Identifier: GPL-2.0
/*
 * A program for samples at each place of the kernel's code that changes what a walk reads: system
 * calls, signals, context switches, fork(), libraries that come and go, and execve() of itself.
 *
 *   places-a|places-b TIMES
 *
 * The two run from one file, at equal addresses if the layout is not random, through functions of
 * their own: a stack of one that shows a function of the other has been read from other memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	8

static volatile sig_atomic_t signals;

static void handler(int signal)
{
	signals++;
	syscall(SYS_getppid);
}

static __attribute__((noinline)) int step(int round)
{
	void *library;
	pid_t pid;

	syscall(SYS_getppid);
	raise(SIGUSR1);
	sched_yield();
	if (round % 4 == 0) {
		pid = fork();
		if (!pid)
			syscall(SYS_exit_group, 0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	if (round % 4 == 1) {
		library = dlopen("libm.so.6", RTLD_NOW);
		if (!library || dlclose(library))
			return 1;
	}
	return errno == ENOSYS;
}

/* No call is the last thing that a function does, so that its frame stays. */
#define WAY(who)							\
static __attribute__((noinline)) int who##_third(int round)		\
{									\
	return step(round) + 2;						\
}									\
static __attribute__((noinline)) int who##_second(int round)		\
{									\
	return who##_third(round) + 1;					\
}									\
static __attribute__((noinline)) int who##_first(int round)		\
{									\
	return who##_second(round) - 3;					\
}
WAY(a)
WAY(b)

int main(int argc, char **argv)
{
	const bool is_a = argv[0][strlen(argv[0]) - 1] == 'a';
	char times[16];

	if (argc != 2 || signal(SIGUSR1, handler) == SIG_ERR)
		return 2;
	for (int round = 0; round < ROUNDS; round++) {
		if (is_a ? a_first(round) : b_first(round))
			return 1;
	}
	if (signals != ROUNDS)
		return 1;
	if (atoi(argv[1]) <= 1)
		return 0;
	snprintf(times, sizeof(times), "%d", atoi(argv[1]) - 1);
	execl(argv[0], argv[0], times, NULL);
	return 1;
}
