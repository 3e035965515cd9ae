// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a deferred user stack, by its depth.
 *
 * For a guest whose clock counts instructions. Prints lines of "kind depth cost":
 * the instructions of a call chain of that depth that ends in a sampled system
 * call, less those of the same chain without sampling. The cheapest of some
 * repetitions counts: a timer interrupt makes the others dearer. The kinds:
 *
 *   again   the kernel has seen all frames before; most are of the same address
 *   sites   the same, but each frame is of another function
 *   first   the kernel has seen none of these frames
 */
#include "nolibc.h"

#include "kselftest.h"
#include "chain.h"
#include "sampler.h"
#include "clock.h"
#include "forget.h"

/* Makes at most 128 frames, each of another function. */
void chain_sites(int depth);

#define DEEPEST		120
#define REPEAT		15

static unsigned long cost(struct sampler *sampler, void (*chain)(int depth), int depth,
			  bool forget)
{
	unsigned long best = -1UL;

	for (int i = 0; i < REPEAT; i++) {
		unsigned long start, taken;

		if (forget && !forget_rules()) {
			printf("the kernel forgets nothing\n");
			exit(1);
		}
		start = now();
		chain_call(chain, depth);
		taken = now() - start;
		if (taken < best)
			best = taken;
		/* Make room for the next stack. */
		sampler->page->data_tail = sampler->page->data_head;
	}
	return best;
}

static void measure(struct sampler *sampler, const char *kind, void (*chain)(int depth),
		    bool forget)
{
	static unsigned long idle[DEEPEST + 1];

	ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++)
		idle[depth] = cost(sampler, chain, depth, false);
	ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++)
		printf("%s %d %lu\n", kind, depth,
		       cost(sampler, chain, depth, forget) - idle[depth]);
}

/* The walk must reach the end of the stack. */
static bool is_whole(struct sampler *sampler, void (*chain)(int depth))
{
	struct chain stack;
	const char *wrong;

	chain_call(chain, DEEPEST);
	wrong = sampler_chain(sampler, &stack);
	if (!wrong && stack.nr >= DEEPEST + 4)
		return true;
	printf("stack of %u frames: %s\n", stack.nr, wrong ? wrong : "too short");
	return false;
}

int main(void)
{
	struct sampler sampler = {};
	int error = sampler_open(&sampler);

	if (error) {
		printf("cannot sample getppid(): errno %d\n", error);
		return 1;
	}
	if (!is_whole(&sampler, chain_deep))
		return 1;
	printf("clock %lu\n", calibration());
	measure(&sampler, "again", chain_deep, false);
#ifdef SFRAME
	if (!is_whole(&sampler, chain_sites))
		return 1;
	measure(&sampler, "sites", chain_sites, false);
	measure(&sampler, "first", chain_sites, true);
#endif
	return 0;
}
