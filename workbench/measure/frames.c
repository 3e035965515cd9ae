// SPDX-License-Identifier: GPL-2.0
/*
 * What a deferred user stack costs, by its depth.
 *
 * For a guest whose clock counts instructions. Prints lines of "depth cost":
 * the instructions of a call chain of that depth that ends in a sampled system
 * call, less those of the same chain when nothing samples it. The cheapest of
 * some repetitions counts: the others had a timer interrupt in them.
 */
#include "nolibc.h"

#include "../kselftest.h"
#include "chain.h"
#include "sampler.h"
#include "clock.h"

#define DEEPEST		120
#define REPEAT		15

static unsigned long cost(struct sampler *sampler, int depth)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start = now(), taken;

		chain_call(chain_deep, depth);
		taken = now() - start;
		if (taken < best)
			best = taken;
		/* Room for the next. */
		sampler->page->data_tail = sampler->page->data_head;
	}
	return best;
}

int main(void)
{
	static unsigned long idle[DEEPEST + 1];
	struct sampler sampler = {};
	struct chain chain;
	const char *wrong;
	int error = sampler_open(&sampler);

	if (error) {
		printf("cannot sample getppid(): errno %d\n", error);
		return 1;
	}
	/* What is measured must be the whole stack. */
	chain_call(chain_deep, DEEPEST);
	wrong = sampler_chain(&sampler, &chain);
	if (wrong || chain.nr < DEEPEST + 4) {
		printf("stack of %u frames: %s\n", chain.nr, wrong ? wrong : "too short");
		return 1;
	}
	printf("clock %lu\n", calibration());

	ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++)
		idle[depth] = cost(&sampler, depth);
	ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++)
		printf("%d %lu\n", depth, cost(&sampler, depth) - idle[depth]);
	return 0;
}
