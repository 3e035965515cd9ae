/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks to measure the cost of their last frame. After synth.h, clock.h and forget.h.
 *
 * Such a stack begins with two functions: its own, which makes the system
 * call, and another one at its first instruction. Then follows the measured
 * frame. The words above it are 0, so its return address is 0, and the walk
 * ends there.
 * The cost is the difference to the stack without this frame. It includes the
 * walk's own work for a frame.
 */
#ifndef COUNTED_H
#define COUNTED_H

#define COUNTED_REPEAT	4
/* Few frames are larger. */
#define COUNTED_SIZE	(512 * PAGE)

struct counted {
	struct synth synth;
	/* Zeros, and the return addresses of the two functions. */
	unsigned long *stack;
};

/* Make a stack of zeros that is larger than any frame. Returns NULL or an error. */
static inline const char *counted_make(struct counted *counted)
{
	struct synth_regs *regs = &counted->synth.frame.regs;
	char *memory;

	if (synth_make(&counted->synth))
		return "no stacks";
	memory = synth_memory(COUNTED_SIZE);
	if (!memory)
		return "no memory";
	/* Write all pages, so that a sample takes no page faults. */
	memset(memory, 0, COUNTED_SIZE);
	/* Leave room below the stack, as most stacks have. */
	counted->stack = (unsigned long *)(memory + PAGE);
	synth_rule(&counted->synth, BY_SP(8));
	regs->sp = (unsigned long)counted->stack;
	regs->fp = (unsigned long)memory + COUNTED_SIZE / 2;
	return NULL;
}

/* The cost of a sample. With @forget, the kernel looks up each frame. */
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

/* The cheapest of some: a timer interrupt, or a wait for a page, makes the others dearer. */
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

/* Put the return addresses for these two addresses of text on the stack; 0 stands for none. */
static inline void counted_put(struct counted *counted, unsigned long first, unsigned long second)
{
	counted->stack[0] = first ? first + 1 : 0;
	counted->stack[1] = second ? second + 1 : 0;
}

/* Sample the stack, which must have these two frames. Returns NULL or an error. */
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
		return "the stack has other frames than expected";
	return NULL;
}

#endif /* COUNTED_H */
