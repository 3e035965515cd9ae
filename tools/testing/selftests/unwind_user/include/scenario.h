/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenarios: functions in assembly that are sampled in one place, and what the
 * sample must say. For programs without a C library.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "callers.h"

/* Exit status of a child whose stack was another than expected. */
#define OTHER_STACK	3
/* Exit status of a child that could not be sampled. */
#define NOT_SAMPLED	4

/**
 * struct scenario - A function in assembly, and the stack that it has.
 * @name: what is printed with the test's result
 * @chain: the function
 * @depth: its argument
 * @labels: the addresses on the stack, topmost first
 * @ends: whether the last of them is the end of the stack
 * @end: how it ends, if not completely: an enum perf_callchain_end
 * @guessed: whether a frame is found by frame pointer, though others have tables
 */
struct scenario {
	const char *name;
	void (*chain)(int depth);
	int depth;
	const char *labels[10];
	bool ends;
	unsigned char end;
	bool guessed;
};

/* Samples getppid(), once it is open. */
extern struct sampler sampler;

/**
 * sample() - Sample a scenario.
 * @scenario: the scenario
 * @quiet: print nothing
 *
 * Return: 0, OTHER_STACK or NOT_SAMPLED
 */
int sample(const struct scenario *scenario, bool quiet);

#endif /* SCENARIO_H */
