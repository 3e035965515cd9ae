/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks whose last frame counts. After synth.h, clock.h and forget.h.
 *
 * Such a stack has two functions: its own, which makes the system call,
 * and another one at its first instruction. Then follows the frame that counts.
 * Its caller's return address is 0, wherever it is, so that the walk ends there.
 * What it costs is the difference to the stack without it. That is not a lookup
 * alone: some of it is the walk's part, as of each frame.
 */
#ifndef COUNTED_H
#define COUNTED_H

#define COUNTED_REPEAT	4
/* Few frames are larger. */
#define COUNTED_SIZE	(512 * PAGE)

struct counted {
	struct synth synth;
	/* Of zeros, but for the return addresses. */
	unsigned long *stack;
};

/* A synthetic stack of zeros, wherever a frame may be. NULL, or what is wrong. */
static inline const char *counted_make(struct counted *counted)
{
	struct synth_regs *regs = &counted->synth.frame.regs;
	char *memory;

	if (synth_make(&counted->synth))
		return "no stacks";
	memory = synth_memory(COUNTED_SIZE);
	if (!memory)
		return "no memory";
	/* All its pages are there, and are its own. */
	memset(memory, 0, COUNTED_SIZE);
	/* There is room below it, as there is below most stacks. */
	counted->stack = (unsigned long *)(memory + PAGE);
	synth_rule(&counted->synth, BY_SP(8));
	regs->sp = (unsigned long)counted->stack;
	regs->bp = (unsigned long)memory + COUNTED_SIZE / 2;
	return NULL;
}

/* What a sample costs; the kernel may be made to look up each frame. */
static inline unsigned long counted_once(struct counted *counted, bool forget)
{
	struct sampler *sampler = &counted->synth.sampler;
	unsigned long start, taken;

	if (forget && !forget_rules()) {
		printf("the kernel forgets nothing\n");
		exit(1);
	}
	start = now();
	synth_enter(&counted->synth.frame);
	taken = now() - start;
	sampler->page->data_tail = sampler->page->data_head;
	return taken;
}

/* The cheapest of some: the others had a timer interrupt in them, or waited for a page. */
static inline unsigned long counted_cost(struct counted *counted, bool forget)
{
	unsigned long best = -1UL;

	for (int i = 0; i < COUNTED_REPEAT; i++) {
		unsigned long taken = counted_once(counted, forget);

		if (taken < best)
			best = taken;
	}
	return best;
}

/* A frame for each byte of text, where a walk looks it up; 0 is none. */
static inline void counted_put(struct counted *counted, unsigned long first, unsigned long second)
{
	counted->stack[0] = first ? first + 1 : 0;
	counted->stack[1] = second ? second + 1 : 0;
}

/* Sample the stack; it must have these frames above the first function's. NULL, or what is wrong. */
static inline const char *counted_check(struct counted *counted, unsigned long first,
					unsigned long second)
{
	struct chain *chain = &counted->synth.chain;
	const char *error;

	counted_put(counted, first, second);
	synth_enter(&counted->synth.frame);
	error = sampler_chain(&counted->synth.sampler, chain);
	if (error)
		return error;
	if (chain->nr != 3 || chain->ips[1] != first + 1 || chain->ips[2] != second + 1)
		return "stack of other frames than those that are there";
	return NULL;
}

#endif /* COUNTED_H */
