// SPDX-License-Identifier: GPL-2.0
#include "nolibc.h"

#include "kselftest.h"
#include "scenario.h"
#include "sysctl.h"

struct sampler sampler;

const char *table_missing(void)
{
#ifdef NO_SFRAME
	return "the assembler that built this has no SFrame version 3";
#endif
	if (!BY_FRAME_POINTER && read_number(SYSCTL_TABLES) < 0)
		return "the kernel does not use tables";
	return NULL;
}

void expect(struct chain *chain, const void *ip)
{
	chain->ips[chain->nr++] = (unsigned long)ip;
}

void print_difference(const struct chain *chain, unsigned int from, const struct chain *expected)
{
	ksft_print_msg("%u frames, expected %u\n", chain->nr, expected->nr + from);
	for (unsigned int i = 0; i < chain->nr || i < expected->nr + from; i++)
		ksft_print_msg("%u: 0x%lx 0x%lx\n", i, i < chain->nr ? chain->ips[i] : 0,
			       i >= from && i < expected->nr + from ? expected->ips[i - from] : 0);
}

bool same_frames(const struct chain *chain, unsigned int from, const struct chain *expected)
{
	return chain->nr - from == expected->nr &&
	       !memcmp(chain->ips + from, expected->ips, expected->nr * sizeof(expected->ips[0]));
}

bool begins_alike(const struct chain *chain, const struct chain *expected)
{
	return chain->nr && chain->nr <= expected->nr &&
	       !memcmp(chain->ips, expected->ips, chain->nr * sizeof(chain->ips[0]));
}

/* Say how a stack ends at its outermost frame, if its frame pointer is all that tells. */
static unsigned int outermost_end(void)
{
	/* A kernel without tables does not know that the program has none. */
	if (BY_FRAME_POINTER && read_number(SYSCTL_TABLES) < 0)
		return PERF_CALLCHAIN_END_NO_INFO;
	return PERF_CALLCHAIN_END_COMPLETE;
}

bool is_at_end(const struct chain *chain)
{
	/* No frame pointer has been followed for the first frame. */
	return chain->end == outermost_end() &&
	       chain->guessed == (BY_FRAME_POINTER && chain->nr > 1);
}

static bool is_behind_call(unsigned long ip)
{
	return ip > (unsigned long)__executable_start && ip < (unsigned long)etext &&
	       ends_in_call((const unsigned char *)ip);
}

bool is_from_start(const struct chain *chain)
{
	for (unsigned int i = 1; i < chain->nr; i++) {
		if (!is_behind_call(chain->ips[i]))
			return false;
	}
	return chain->nr > 1 && chain->ips[chain->nr - 1] == (unsigned long)start_return &&
	       chain->end == PERF_CALLCHAIN_END_COMPLETE && chain->guessed == BY_FRAME_POINTER;
}

void expect_scenario(const struct scenario *scenario, struct chain *expected)
{
	expected->nr = 0;
	for (unsigned int i = 0; scenario->labels[i]; i++)
		expect(expected, scenario->labels[i]);
	for (int i = 1; i < scenario->depth; i++)
		expect(expected, chain_deep_return);
	if (!scenario->ends)
		expect(expected, chain_call_return);
}

int sample(const struct scenario *scenario, bool quiet)
{
	static struct chain chain, expected;
	const char *error;

	chain_call(scenario->chain, scenario->depth);

	expect_scenario(scenario, &expected);
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
	if (chain.end != (scenario->end ?: outermost_end()) ||
	    chain.guessed != (scenario->guessed || BY_FRAME_POINTER)) {
		if (!quiet)
			ksft_print_msg("end %u, guessed %d\n", chain.end, chain.guessed);
		return OTHER_STACK;
	}
	return 0;
}
