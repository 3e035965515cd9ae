// SPDX-License-Identifier: GPL-2.0
/*
 * Run a command, and count its instructions: `instructions FILE COMMAND [ARGUMENT...]`.
 *
 * For a guest whose clock counts instructions. FILE gets the CPU time of the command and
 * of all processes that it has waited for, in user space and in the kernel, interrupts
 * included. Waits do not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOPS	50000000UL

/* In instructions, which take a nanosecond each. */
static long cpu_time(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* Half a percent may be timer interrupts. */
static int counts_instructions(void)
{
	unsigned long loops = LOOPS;
	long start = cpu_time(RUSAGE_SELF), taken;

	asm volatile("1: dec %0; jnz 1b" : "+r" (loops));
	taken = cpu_time(RUSAGE_SELF) - start;
	return labs(taken - (long)(2 * LOOPS)) < (long)LOOPS / 100;
}

int main(int argc, char **argv)
{
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: instructions FILE COMMAND [ARGUMENT...]\n");
		return 1;
	}
	if (!counts_instructions()) {
		fprintf(stderr, "this clock does not count instructions\n");
		return 1;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return 1;
	}
	file = fopen(argv[1], "w");
	if (!file || fprintf(file, "%ld\n", cpu_time(RUSAGE_CHILDREN)) < 0 || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
