// SPDX-License-Identifier: GPL-2.0
#include "nolibc.h"

#include "kselftest.h"
#include "callers.h"

struct chain callers;

void expect(struct chain *chain, const void *ip)
{
	chain->ips[chain->nr++] = (unsigned long)ip;
}

void expect_callers(struct chain *chain)
{
	expect(chain, chain_call_return);
	expect(chain, (const void *)chain_call_caller);
	for (unsigned int i = callers.nr; i > 0; i--)
		expect(chain, (const void *)callers.ips[i - 1]);
	expect(chain, start_return);
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
