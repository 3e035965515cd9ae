/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenarios: functions in assembly that are sampled in one place, and what the
 * sample must say. For programs without a C library; included once.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "kselftest.h"
#include "chain.h"
#include "sampler.h"

/* Exit status of a child whose stack was another than expected. */
#define OTHER_STACK	3
/* Exit status of a child that could not be sampled. */
#define NOT_SAMPLED	4

/* A function in assembly and the stack below it, topmost frame first. */
struct scenario {
	const char *name;
	void (*chain)(int depth);
	int depth;
	const char *labels[10];
	/* The last of them is the end of the stack. */
	bool ends;
	/* How it ends, if not completely. */
	unsigned char end;
	/* Whether a frame is found by frame pointer, though others have tables. */
	bool guessed;
};

/* Where the functions of this file that are on the stack return to. */
static struct chain callers;

#define ENTER() \
	(callers.ips[callers.nr++] = (unsigned long)__builtin_return_address(0))
#define LEAVE()	(callers.nr--)

static struct sampler sampler;

static void expect(struct chain *chain, const void *ip)
{
	chain->ips[chain->nr++] = (unsigned long)ip;
}

/* What is below all scenarios: chain_call(), and who called that. */
static void expect_callers(struct chain *expected)
{
	expect(expected, chain_call_return);
	expect(expected, (const void *)chain_call_caller);
	for (unsigned int i = callers.nr; i > 0; i--)
		expect(expected, (const void *)callers.ips[i - 1]);
	expect(expected, start_return);
}

static void print_difference(const struct chain *chain, const struct chain *expected)
{
	ksft_print_msg("%u frames, expected %u\n", chain->nr, expected->nr);
	for (unsigned int i = 0; i < chain->nr || i < expected->nr; i++)
		ksft_print_msg("%u: 0x%lx 0x%lx\n", i,
			       i < chain->nr ? chain->ips[i] : 0,
			       i < expected->nr ? expected->ips[i] : 0);
}

#ifdef SFRAME
#define BY_FRAME_POINTER	false
#else
#define BY_FRAME_POINTER	true
#endif

/* Whether the kernel says how the stack ended. */
static bool ends_as(const struct scenario *scenario, const struct chain *chain)
{
	return chain->end == (scenario->end ?: PERF_CALLCHAIN_END_COMPLETE) &&
	       chain->guessed == (scenario->guessed || BY_FRAME_POINTER);
}

/* Sample a scenario; returns 0, OTHER_STACK or NOT_SAMPLED. */
static int sample(const struct scenario *scenario, bool quiet)
{
	static struct chain chain, expected;
	const char *error;

	ENTER();
	chain_call(scenario->chain, scenario->depth);

	expected.nr = 0;
	for (unsigned int i = 0; scenario->labels[i]; i++)
		expect(&expected, scenario->labels[i]);
	for (int i = 1; i < scenario->depth; i++)
		expect(&expected, chain_deep_return);
	if (!scenario->ends)
		expect_callers(&expected);
	LEAVE();

	error = sampler_chain(&sampler, &chain);
	if (error) {
		if (!quiet)
			ksft_print_msg("%s\n", error);
		return NOT_SAMPLED;
	}
	if (chain.nr != expected.nr ||
	    memcmp(chain.ips, expected.ips, chain.nr * sizeof(chain.ips[0]))) {
		if (!quiet)
			print_difference(&chain, &expected);
		return OTHER_STACK;
	}
	if (!ends_as(scenario, &chain)) {
		if (!quiet)
			ksft_print_msg("end %u, guessed %d\n", chain.end, chain.guessed);
		return OTHER_STACK;
	}
	return 0;
}

#endif /* SCENARIO_H */
