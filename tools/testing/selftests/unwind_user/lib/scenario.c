// SPDX-License-Identifier: GPL-2.0
#include "nolibc.h"

#include "kselftest.h"
#include "scenario.h"

struct sampler sampler;

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

int sample(const struct scenario *scenario, bool quiet)
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
	if (!same_frames(&chain, 0, &expected)) {
		if (!quiet)
			print_difference(&chain, 0, &expected);
		return OTHER_STACK;
	}
	if (!ends_as(scenario, &chain)) {
		if (!quiet)
			ksft_print_msg("end %u, guessed %d\n", chain.end, chain.guessed);
		return OTHER_STACK;
	}
	return 0;
}
