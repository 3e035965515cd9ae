/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generated functions that call each other, of which the true stack is known.
 *
 * A stack of one thread is, from the outside: jit_run(), so many functions, of
 * which each calls the next, jit_callback(), more such functions, and jit_leaf().
 * The last two also call jit_work(), which is C. Each is called at one place only.
 * So where a stack was interrupted says what the rest of it is.
 */
#ifndef JIT_H
#define JIT_H

#include "sampler.h"
#include "unwind_jit.h"

/* How many functions there are outside of the callback, and inside. */
#define JIT_MAX_DEPTH	10
#define JIT_MAX_LEVELS	(2 * JIT_MAX_DEPTH + 3)
#define JIT_MAX_ROWS	7
#define JIT_MAX_BYTES	96

struct jit_function {
	unsigned char *start;
	unsigned char *end;
	/* Where what it calls returns to. */
	unsigned char *back;
	struct unwind_jit_row rows[JIT_MAX_ROWS];
	unsigned int nr_rows;
};

/* A part of the true stack: its addresses, where what it calls returns to, and work does. */
struct jit_level {
	unsigned long start, end, back, work_back;
};

struct jit_stack {
	/* Known to assembly: what is called first, by the callback, and how often. */
	void (*outer)(struct jit_stack *stack);
	void (*inner)(struct jit_stack *stack);
	unsigned int times;
	struct jit_function functions[2 * JIT_MAX_DEPTH];
	unsigned int nr_functions;
	struct jit_level levels[JIT_MAX_LEVELS];
	unsigned int nr_levels;
};

/* What a sampled chain is. */
enum jit_verdict {
	JIT_ELSEWHERE,		/* of other code than that */
	JIT_COMPLETE,		/* the true one, to the end, and nothing was guessed */
	JIT_INCOMPLETE,		/* it ends early, and says so */
	JIT_WRONG,
};

void jit_run(struct jit_stack *stack);
void jit_callback(struct jit_stack *stack);
void jit_leaf(struct jit_stack *stack);
/* Pass some time. @stack: the stack that calls it. */
void jit_work(struct jit_stack *stack);
extern const char jit_run_back[], jit_run_end[], jit_callback_work[], jit_callback_back[];
extern const char jit_callback_end[], jit_leaf_work[], jit_leaf_end[];

/*
 * Write all functions of a stack. @seed: the state of the random numbers. Returns where
 * they end.
 */
unsigned char *jit_generate(struct jit_stack *stack, unsigned char *at, unsigned int *seed);

/* Compare a chain with the true stack. Returns what the chain is. */
enum jit_verdict jit_compare(const struct jit_stack *stack, const struct chain *chain);

#endif /* JIT_H */
