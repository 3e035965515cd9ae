// SPDX-License-Identifier: GPL-2.0
/*
 * Sample a program of 32 bits: `compat PROGRAM`. Each stack must end at once, with the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler.h"

#define ENOUGH	50

static struct sampler sampler;
static struct chain chain;

/* Run the program with an event; the numbers of stacks, of these right, and of samples. */
static bool look(const char *name, struct perf_event_attr attr, char *program)
{
	int status, type, stacks = 0, right = 0, samples = 0, go[2];
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
		samples += type == PERF_RECORD_SAMPLE;
		if (type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		sampler_stack(&sampler, &chain);
		stacks++;
		if (chain.end == PERF_CALLCHAIN_END_UNSUPPORTED && chain.nr <= 1)
			right++;
		else
			printf("# %s: end %u, %u frames\n", name, chain.end, chain.nr);
	}
	sampler_close(&sampler);
	printf("%s: status %x, %d samples, %d stacks, %d of these end as unsupported\n", name,
	       status, samples, stacks, right);
	return !status && stacks >= ENOUGH && right == stacks;
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
