// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of the worst stacks that a program can make.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration;
 * then for each stack its name, the instructions of a sampled system call
 * less those of one that is not sampled, and its number of frames.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kselftest.h"

#include "tables.h"
#include "synth.h"
#include "hostile.h"
#include "eh_frame.h"
#include "clock.h"
#include "forget.h"
#include "sysctl.h"

#define REPEAT	5

/* The cheapest of some: a timer interrupt, or reading a header, makes the others dearer. */
static unsigned long cost(struct synth *synth)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start, taken;

		/* A hostile program makes the kernel look up each frame again. */
		if (!forget_rules()) {
			printf("the kernel forgets nothing\n");
			exit(1);
		}
		start = now();
		synth_enter(&synth->frame);
		taken = now() - start;
		if (taken < best)
			best = taken;
		synth->sampler.page->data_tail = synth->sampler.page->data_head;
	}
	return best;
}

/* The same for the stack that is taken at once, after a deferred walk has read the headers. */
static int measure_at_once(struct synth *synth, const char *name)
{
	struct sampler deferred = synth->sampler;
	unsigned long sampled, idle;

	ioctl(deferred.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (sysctl_set(SYSCTL_TABLES, 3) || sampler_open_at_once(&synth->sampler, "getppid")) {
		printf("%s: not at once\n", name);
		return 1;
	}
	sampled = cost(synth);
	ioctl(synth->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	idle = cost(synth);
	synth_enter(&synth->frame);
	synth->sampler.page->data_tail = synth->sampler.page->data_head;
	ioctl(synth->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	synth_enter(&synth->frame);
	if (sampler_chain_at_once(&synth->sampler, &synth->chain))
		return 1;
	printf("at-once-%s %lu %u\n", name, sampled - idle, synth->chain.nr);
	sampler_close(&synth->sampler);
	synth->sampler = deferred;
	sysctl_restore();
	ioctl(deferred.fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

static int measure(struct synth *synth, const char *name)
{
	const char *error = synth_sample(synth);
	unsigned long sampled, idle;

	if (error) {
		printf("%s: %s\n", name, error);
		return 1;
	}
	sampled = cost(synth);
	ioctl(synth->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	idle = cost(synth);
	ioctl(synth->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	printf("%s %lu %u\n", name, sampled - idle, synth->chain.nr);
	return measure_at_once(synth, name);
}

/*
 * Frames of one word. Their function repeats these instructions, for about a quarter of the
 * bytes that the budget of a stack pays for. Each frame has another address: so the kernel looks
 * up each of them.
 */
static void repeat(struct synth *synth, const unsigned char *instructions, size_t len, size_t size)
{
	static unsigned char program[32768];
	unsigned long *stack = (unsigned long *)synth->stack;

	for (size_t i = 0; i < size; i++)
		program[i] = instructions[i % len];
	eh_no_rules(synth);
	eh_add(synth, EH_CIE, NULL, 0);
	eh_add(synth, EH_CIE, program, size - size % len);
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = synth_function(synth, 1) + 1 + i % (FUNCTION_SIZE - 1);
}

#define REPEATED(synth, size, ...) do {					\
	static const unsigned char instructions[] = { __VA_ARGS__ };	\
									\
	repeat(synth, instructions, sizeof(instructions), size);	\
} while (0)

/*
 * A frame in the middle needs rbx, which the topmost frame has: the kernel walks the stack
 * twice. Frames of two words, with the RA in the lower one, are not remembered.
 */
static void twice(struct synth *synth)
{
	static const unsigned char by_sp[] = { DEF_CFA, SP, 16, SAVED(RETURN_ADDRESS), 2 };
	static const unsigned char by_s0[] = { DEF_CFA, S0, 16, SAVED(RETURN_ADDRESS), 2 };
	unsigned long *stack = (unsigned long *)synth->stack;
	const unsigned int middle = 250;

	eh_no_rules(synth);
	eh_add(synth, EH_CIE, by_sp, sizeof(by_sp));
	eh_add(synth, EH_CIE, by_sp, sizeof(by_sp));
	eh_add(synth, EH_CIE, by_s0, sizeof(by_s0));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[2 * i] = synth_return(synth, i == middle ? 2 : 1);
	synth->frame.regs.s0 = (unsigned long)&stack[2 * middle];
}

int main(void)
{
	static struct synth synth;
	const char *error;
	int ret = synth_make(&synth);

	if (ret) {
		printf("no stacks: errno %d\n", -ret);
		return 1;
	}
	printf("clock %lu\n", calibration());
	hostile_frames(&synth);
	ret |= measure(&synth, "small-functions");
	error = hostile_rows(&synth);
	if (error) {
		printf("%s\n", error);
		return 1;
	}
	ret |= measure(&synth, "longest-functions");
	hostile_long_rows(&synth);
	ret |= measure(&synth, "longest-rows");
	hostile_wide(&synth);
	ret |= measure(&synth, "many-functions-and-rows");
	hostile_signals(&synth);
	ret |= measure(&synth, "signal-frames");
	hostile_marked(&synth, 20);
	ret |= measure(&synth, "signal-frames-by-their-mark");

	ret |= eh_register(&synth);
	REPEATED(&synth, 20000, ADVANCE(0));
	ret |= measure(&synth, "eh_frame-advances");
	REPEATED(&synth, 20000, DEF_CFA_OFFSET, 8);
	ret |= measure(&synth, "eh_frame-offsets");
	REPEATED(&synth, 20000, REMEMBER, RESTORE);
	ret |= measure(&synth, "eh_frame-states");
	REPEATED(&synth, 20000, DEF_CFA, SP, 8);
	ret |= measure(&synth, "eh_frame-registers");
	/* breg6 -8, deref: for rbx, which the walk does not need. */
	REPEATED(&synth, 20000, EXPRESSION, S0, 3, 0x76, 0x78, 0x06);
	ret |= measure(&synth, "eh_frame-expressions");
	twice(&synth);
	ret |= measure(&synth, "eh_frame-twice");
	return ret;
}
