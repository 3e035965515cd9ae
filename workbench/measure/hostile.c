// SPDX-License-Identifier: GPL-2.0
/*
 * What the worst stacks cost that a program can make.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration
 * as frames.c does; then for each stack its name, the instructions of a sampled
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

#define REPEAT	5

static inline unsigned long now(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) :: "memory");
	return (unsigned long)high << 32 | low;
}

/* The cheapest of some: the others had a timer interrupt in them, or read a header. */
static unsigned long cost(struct scene *scene)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start = now(), taken;

		scene_enter(&scene->frame);
		taken = now() - start;
		if (taken < best)
			best = taken;
		scene->sampler.page->data_tail = scene->sampler.page->data_head;
	}
	return best;
}

static unsigned long calibration(void)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start = now(), loops = 10000, taken;

		asm volatile("1: dec %0; jnz 1b" : "+r" (loops));
		taken = now() - start;
		if (taken < best)
			best = taken;
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
	return ret;
}
