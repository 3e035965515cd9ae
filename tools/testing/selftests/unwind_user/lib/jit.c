// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "jit.h"

enum jit_kind {
	JIT_SP,			/* a frame below SP */
	JIT_FP,			/* with a frame pointer */
	JIT_SCRATCH,		/* saves the frame pointer and uses it for a number */
	JIT_KINDS,
};

void jit_work(struct jit_stack *stack)
{
	for (unsigned int i = 0; i < 300; i++)
		asm volatile("" : : "r" (stack) : "memory");
}

static unsigned char *jit_put(unsigned char *at, const void *code, size_t len)
{
	memcpy(at, code, len);
	return at + len;
}

#define JIT_PUT(at, ...)						\
({									\
	const unsigned char __code[] = { __VA_ARGS__ };			\
									\
	jit_put(at, __code, sizeof(__code));				\
})

static unsigned char *jit_put32(unsigned char *at, unsigned int number)
{
	return jit_put(at, &number, sizeof(number));
}

/* mov $number, %ecx; 1: dec %ecx; jnz 1b */
static unsigned char *jit_spin(unsigned char *at, unsigned int number)
{
	at = jit_put32(JIT_PUT(at, 0xb9), number);
	return JIT_PUT(at, 0xff, 0xc9, 0x75, 0xfc);
}

static void jit_row(struct jit_function *function, const unsigned char *at,
		    enum unwind_jit_base base, int cfa, int fp)
{
	function->rows[function->nr_rows++] = (struct unwind_jit_row){
		.offset = at - function->start, .base = base, .cfa = cfa, .fp = fp,
	};
}

/* Write a function with a frame of so many bytes that calls another one; say where it ends. */
static unsigned char *jit_function(struct jit_function *function, unsigned char *at,
				   enum jit_kind kind, unsigned int frame, unsigned int spin,
				   void *callee)
{
	*function = (struct jit_function){ .start = at };
	jit_row(function, at, UNWIND_JIT_SP, 8, 0);
	switch (kind) {
	case JIT_FP:
		at = JIT_PUT(at, 0x55);			/* push %rbp */
		jit_row(function, at, UNWIND_JIT_SP, 16, -16);
		at = JIT_PUT(at, 0x48, 0x89, 0xe5);	/* mov %rsp, %rbp */
		jit_row(function, at, UNWIND_JIT_FP, 16, -16);
		break;
	case JIT_SCRATCH:
		at = JIT_PUT(at, 0x53);			/* push %rbx */
		jit_row(function, at, UNWIND_JIT_SP, 16, 0);
		at = JIT_PUT(at, 0x55);			/* push %rbp */
		jit_row(function, at, UNWIND_JIT_SP, 24, -24);
		at = jit_put32(JIT_PUT(at, 0xbd), frame);	/* mov $frame, %ebp */
		break;
	default:
		break;
	}
	at = jit_put32(JIT_PUT(at, 0x48, 0x81, 0xec), frame);	/* sub $frame, %rsp */
	if (kind == JIT_SP)
		jit_row(function, at, UNWIND_JIT_SP, 8 + frame, 0);
	if (kind == JIT_SCRATCH)
		jit_row(function, at, UNWIND_JIT_SP, 24 + frame, -24);

	at = jit_spin(at, spin);
	at = jit_put(JIT_PUT(at, 0x48, 0xb8), &callee, 8);	/* mov $callee, %rax */
	at = JIT_PUT(at, 0xff, 0xd0);			/* call *%rax */
	function->back = at;
	at = jit_spin(at, spin);

	if (kind == JIT_FP)
		at = JIT_PUT(at, 0xc9);			/* leave */
	else
		at = jit_put32(JIT_PUT(at, 0x48, 0x81, 0xc4), frame);	/* add $frame, %rsp */
	if (kind == JIT_SCRATCH) {
		jit_row(function, at, UNWIND_JIT_SP, 24, -24);
		at = JIT_PUT(at, 0x5d);			/* pop %rbp */
		jit_row(function, at, UNWIND_JIT_SP, 16, 0);
		at = JIT_PUT(at, 0x5b);			/* pop %rbx */
	}
	jit_row(function, at, UNWIND_JIT_SP, 8, 0);
	function->end = JIT_PUT(at, 0xc3);		/* ret */
	return function->end;
}

/* Write so many functions that call each other, and the last one @callee; say where they end. */
static unsigned char *jit_functions(struct jit_stack *stack, unsigned char *at, unsigned int nr,
				    void *callee, unsigned int *seed)
{
	while (nr--) {
		struct jit_function *function = &stack->functions[stack->nr_functions++];
		enum jit_kind kind = rand_r(seed) % JIT_KINDS;
		/* With what is pushed, a multiple of 16 and the return address. */
		unsigned int frame = 16 * (1 + rand_r(seed) % 20) + (kind == JIT_FP ? 0 : 8);

		at = jit_function(function, at, kind, frame, 1 + rand_r(seed) % 300, callee);
		callee = function->start;
	}
	return at;
}

static void jit_add_level(struct jit_stack *stack, struct jit_level level)
{
	stack->levels[stack->nr_levels++] = level;
}

/* The levels of functions, of which the last one is called first. */
static void jit_add_levels(struct jit_stack *stack, unsigned int from, unsigned int to)
{
	while (to-- > from) {
		const struct jit_function *function = &stack->functions[to];

		jit_add_level(stack, (struct jit_level){
			.start = (unsigned long)function->start,
			.end = (unsigned long)function->end,
			.back = (unsigned long)function->back,
		});
	}
}

unsigned char *jit_generate(struct jit_stack *stack, unsigned char *at, unsigned int *seed)
{
	unsigned int nr_inner;

	stack->nr_functions = 0;
	stack->nr_levels = 0;
	at = jit_functions(stack, at, 1 + rand_r(seed) % JIT_MAX_DEPTH, jit_leaf, seed);
	nr_inner = stack->nr_functions;
	stack->inner = (void *)stack->functions[nr_inner - 1].start;
	at = jit_functions(stack, at, 1 + rand_r(seed) % JIT_MAX_DEPTH, jit_callback, seed);
	stack->outer = (void *)stack->functions[stack->nr_functions - 1].start;

	jit_add_level(stack, (struct jit_level){
		.start = (unsigned long)jit_run,
		.end = (unsigned long)jit_run_end,
		.back = (unsigned long)jit_run_back,
	});
	jit_add_levels(stack, nr_inner, stack->nr_functions);
	jit_add_level(stack, (struct jit_level){
		.start = (unsigned long)jit_callback,
		.end = (unsigned long)jit_callback_end,
		.back = (unsigned long)jit_callback_back,
		.work_back = (unsigned long)jit_callback_work,
	});
	jit_add_levels(stack, 0, nr_inner);
	jit_add_level(stack, (struct jit_level){
		.start = (unsigned long)jit_leaf,
		.end = (unsigned long)jit_leaf_end,
		.work_back = (unsigned long)jit_leaf_work,
	});
	return at;
}

/* The level that an address is in, or that of nothing. */
static unsigned int jit_find(const struct jit_stack *stack, unsigned long ip)
{
	unsigned int level = 0;

	while (level < stack->nr_levels &&
	       (ip < stack->levels[level].start || ip >= stack->levels[level].end))
		level++;
	return level;
}

enum jit_verdict jit_compare(const struct jit_stack *stack, const struct chain *chain)
{
	unsigned int level = jit_find(stack, chain->ips[0]), i = 1;
	bool right = true;

	/* In what it calls? Only jit_work() is called, and by two of them. */
	if (level == stack->nr_levels && chain->nr > 1) {
		level = jit_find(stack, chain->ips[i]);
		if (level != stack->nr_levels)
			right = chain->ips[i++] == stack->levels[level].work_back;
	}
	if (level == stack->nr_levels)
		return JIT_ELSEWHERE;
	for (; right && level && i < chain->nr; level--)
		right = chain->ips[i++] == stack->levels[level - 1].back;
	/* What was guessed is not said to be so. */
	if (!right)
		return chain->guessed ? JIT_INCOMPLETE : JIT_WRONG;
	if (chain->end != PERF_CALLCHAIN_END_COMPLETE || chain->guessed)
		return JIT_INCOMPLETE;
	/* It must not say that it is complete where there are more frames. */
	return level || i == chain->nr ? JIT_WRONG : JIT_COMPLETE;
}
