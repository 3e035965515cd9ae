// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a deferred user stack, by its number of frames.
 *
 * For a guest whose clock counts instructions. Prints lines of "kind frames cost":
 * the instructions of a call chain that ends in a sampled system call, less those of
 * the same chain without sampling. The cheapest of some
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

/* The same number of frames is below each chain. */
static __attribute__((noinline)) unsigned long cost(struct sampler *sampler, void (*chain)(int depth), int depth,
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
		chain_call_on(chain, depth);
		taken = now() - start;
		if (taken < best)
			best = taken;
		/* Make room for the next stack. */
		sampler->page->data_tail = sampler->page->data_head;
	}
	return best;
}

/* The frames of that stack, all of which the walk must find. */
static __attribute__((noinline)) unsigned int frames(struct sampler *sampler, void (*chain)(int depth), int depth)
{
	struct chain stack;
	const char *wrong;

	chain_call_on(chain, depth);
	wrong = sampler_chain(sampler, &stack);
	if (!wrong && stack.nr >= depth + 4)
		return stack.nr;
	printf("stack of %u frames: %s\n", stack.nr, wrong ? wrong : "too short");
	exit(1);
}

static void measure(struct sampler *sampler, const char *kind, void (*chain)(int depth),
		    bool forget)
{
	static unsigned long idle[DEEPEST + 1];

	ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++)
		idle[depth] = cost(sampler, chain, depth, false);
	ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int depth = 1; depth <= DEEPEST; depth++) {
		unsigned long taken = cost(sampler, chain, depth, forget) - idle[depth];

		printf("%s %u %lu\n", kind, frames(sampler, chain, depth), taken);
	}
}

int main(void)
{
	struct sampler sampler = {};
	int error = sampler_open(&sampler);

	if (error) {
		printf("cannot sample getppid(): errno %d\n", error);
		return 1;
	}
	printf("clock %lu\n", calibration());
	measure(&sampler, "again", chain_deep, false);
#ifdef SFRAME
	measure(&sampler, "sites", chain_sites, false);
	measure(&sampler, "first", chain_sites, true);
#endif
	return 0;
}
