// SPDX-License-Identifier: GPL-2.0
/*
 * Sample a program of 32 bits: `compat PROGRAM`. Its stacks must be taken at once, by frame
 * pointers, since the kernel does not defer them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler.h"

#define ENOUGH	50

static struct sampler sampler;

/* Run the program with an event; whether each sample has the stack that is not deferred. */
static bool look(const char *name, struct perf_event_attr attr, char *program)
{
	int status, type, deferred = 0, right = 0, samples = 0, go[2];
	char byte = 0;
	pid_t pid;

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	if (pipe(go))
		return false;
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl(program, program, NULL);
		_exit(99);
	}
	if (sampler_open_stacks_of(&sampler, attr, pid) || write(go[1], &byte, 1) != 1 ||
	    waitpid(pid, &status, 0) != pid)
		return false;
	while ((type = sampler_record(&sampler)) > 0) {
		const unsigned long *chain = &sampler.words[2];

		deferred += type == PERF_RECORD_CALLCHAIN_DEFERRED;
		if (type != PERF_RECORD_SAMPLE)
			continue;
		/* The address, the number of entries, and those. */
		deferred += sampler_cookie(&sampler) != 0;
		right += sampler.words[1] >= 2 && chain[0] == (unsigned long)PERF_CONTEXT_USER &&
			 chain[1] && chain[1] < 1UL << 32;
		/* The first ones may be in execve(), where there is no stack yet. */
		samples += right > 0;
	}
	sampler_close(&sampler);
	printf("%s: status %x, %d samples, %d with a stack at once, %d deferred records\n", name,
	       status, samples, right, deferred);
	return !status && samples >= ENOUGH && right > 0.98 * samples && !deferred;
}

int main(int argc, char **argv)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000,
	}, syscall = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	bool right;

	if (argc < 2)
		return 2;
	syscall.config = event_id("raw_syscalls/sys_enter");
	right = look("clock", clock, argv[1]);
	return !(look("system calls", syscall, argv[1]) && right);
}
