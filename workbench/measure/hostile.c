// SPDX-License-Identifier: GPL-2.0
/*
 * What the worst stacks cost that a program can make.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration;
 * then for each stack its name, the instructions of a sampled
 * system call less those of one that is not sampled, and its frames.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kselftest.h"

#include "tables.h"
#include "scene.h"
#include "hostile.h"
#include "eh_frame.h"
#include "clock.h"
#include "forget.h"

#define REPEAT	5

/* The cheapest of some: the others had a timer interrupt in them, or read a header. */
static unsigned long cost(struct scene *scene)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start, taken;

		/* Who is hostile lets the kernel look up each frame again. */
		if (!forget_rules()) {
			printf("the kernel forgets nothing\n");
			exit(1);
		}
		start = now();
		scene_enter(&scene->frame);
		taken = now() - start;
		if (taken < best)
			best = taken;
		scene->sampler.page->data_tail = scene->sampler.page->data_head;
	}
	return best;
}

static int measure(struct scene *scene, const char *name)
{
	const char *error = scene_sample(scene);
	unsigned long sampled, idle;

	if (error) {
		printf("%s: %s\n", name, error);
		return 1;
	}
	sampled = cost(scene);
	ioctl(scene->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	idle = cost(scene);
	ioctl(scene->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	printf("%s %lu %u\n", name, sampled - idle, scene->chain.nr);
	return 0;
}

/*
 * Frames of a word, all of a function with these instructions, again and again: as
 * many bytes as a lookup reads for what it may cost, or nearly. Each is of another
 * address, so that it is looked up.
 */
static void repeat(struct scene *scene, const unsigned char *instructions, size_t len, size_t size)
{
	static unsigned char program[32768];
	unsigned long *stack = (unsigned long *)scene->stack;

	for (size_t i = 0; i < size; i++)
		program[i] = instructions[i % len];
	eh_no_rules(scene);
	eh_add(scene, EH_CIE, NULL, 0);
	eh_add(scene, EH_CIE, program, size - size % len);
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = scene_function(scene, 1) + 1 + i % (FUNCTION_SIZE - 1);
}

#define REPEATED(scene, size, ...) do {					\
	static const unsigned char instructions[] = { __VA_ARGS__ };	\
									\
	repeat(scene, instructions, sizeof(instructions), size);	\
} while (0)

/*
 * A frame in the middle needs rbx, which the topmost one has: the stack is walked twice.
 * Frames of two words, with the return address in the lower one, are not remembered.
 */
static void twice(struct scene *scene)
{
	static const unsigned char by_rsp[] = { DEF_CFA, RSP, 16, SAVED(RETURN_ADDRESS), 2 };
	static const unsigned char by_rbx[] = { DEF_CFA, RBX, 16, SAVED(RETURN_ADDRESS), 2 };
	unsigned long *stack = (unsigned long *)scene->stack;
	const unsigned int middle = 250;

	eh_no_rules(scene);
	eh_add(scene, EH_CIE, by_rsp, sizeof(by_rsp));
	eh_add(scene, EH_CIE, by_rsp, sizeof(by_rsp));
	eh_add(scene, EH_CIE, by_rbx, sizeof(by_rbx));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[2 * i] = scene_return(scene, i == middle ? 2 : 1);
	scene->frame.regs.bx = (unsigned long)&stack[2 * middle];
}

int main(void)
{
	static struct scene scene;
	const char *error;
	int ret = scene_make(&scene);

	if (ret) {
		printf("no stacks: errno %d\n", -ret);
		return 1;
	}
	printf("clock %lu\n", calibration());
	hostile_frames(&scene);
	ret |= measure(&scene, "small-functions");
	error = hostile_rows(&scene);
	if (error) {
		printf("%s\n", error);
		return 1;
	}
	ret |= measure(&scene, "longest-functions");
	hostile_long_rows(&scene);
	ret |= measure(&scene, "longest-rows");
	hostile_wide(&scene);
	ret |= measure(&scene, "many-functions-and-rows");
	hostile_signals(&scene);
	ret |= measure(&scene, "signal-frames");
	hostile_marked(&scene, 20);
	ret |= measure(&scene, "signal-frames-by-their-mark");

	ret |= eh_register(&scene);
	REPEATED(&scene, 24000, ADVANCE(0));
	ret |= measure(&scene, "eh_frame-advances");
	REPEATED(&scene, 24000, DEF_CFA_OFFSET, 8);
	ret |= measure(&scene, "eh_frame-offsets");
	REPEATED(&scene, 8800, REMEMBER, RESTORE);
	ret |= measure(&scene, "eh_frame-states");
	REPEATED(&scene, 14800, DEF_CFA, RSP, 8);
	ret |= measure(&scene, "eh_frame-registers");
	/* breg6 -8, deref: of rbx, which is not looked at. */
	REPEATED(&scene, 18300, EXPRESSION, RBX, 3, 0x76, 0x78, 0x06);
	ret |= measure(&scene, "eh_frame-expressions");
	twice(&scene);
	ret |= measure(&scene, "eh_frame-twice");
	return ret;
}
