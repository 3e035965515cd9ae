/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenarios: functions in assembly that are sampled in one place, and what the
 * sample must say. For programs without a C library.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "chain.h"
#include "sampler.h"

/* Exit status of a child whose stack was another than expected. */
#define OTHER_STACK	3
/* Exit status of a child that could not be sampled. */
#define NOT_SAMPLED	5

/* Why tests are skipped. */
#define NO_STACKS	"no deferred stacks of %s: errno %d; see config"

#ifdef SFRAME
#define BY_FRAME_POINTER	false
#else
#define BY_FRAME_POINTER	true
#endif

/* A function in assembly that chain_call() calls, and the stack that it has. */
struct scenario {
	void (*chain)(int depth);
	int depth;
	/* The addresses on the stack, topmost first; then that of chain_call(), */
	const char *labels[10];
	/* unless the last of them is the end of the stack. */
	bool ends;
	/* How it ends, if not completely: an enum perf_callchain_end. */
	unsigned char end;
	/* A frame is found by frame pointer, though others have tables. */
	bool guessed;
};

/* The event of a program, once it is open. */
extern struct sampler sampler;

/* Say why this program's stacks cannot be followed by its table, or return NULL. */
const char *table_missing(void);

void expect(struct chain *chain, const void *ip);

void expect_scenario(const struct scenario *scenario, struct chain *expected);

/* Whether a stack has the first frames of an expected one, at least one. */
bool begins_alike(const struct chain *chain, const struct chain *expected);

/* Compare a stack, less some of its topmost frames, with what it should be. */
bool same_frames(const struct chain *chain, unsigned int from, const struct chain *expected);
void print_difference(const struct chain *chain, unsigned int from, const struct chain *expected);

/* Whether a stack ends as those of chain_call() do. By frame pointer this is a guess. */
bool is_at_end(const struct chain *chain);

/* Whether it is complete, from the program's start, and all but the first is behind a call. */
bool is_from_start(const struct chain *chain);

/* Sample a scenario at getppid(); 0, OTHER_STACK or NOT_SAMPLED. */
int sample(const struct scenario *scenario, bool quiet);

#endif /* SCENARIO_H */
