// SPDX-License-Identifier: GPL-2.0
/*
 * One of many libraries. Each function calls the next one of a chain, from another kind
 * of frame.  LIBRARY is the prefix of the functions' names, SIZE the size of their frames.
 */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#include "many.h"

#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define FUNCTION(name) GLUE(LIBRARY, name)

static inline __attribute__((always_inline)) long pass_on(struct chain *chain, int level)
{
	return chain->steps[level + 1](chain, level + 1);
}

/* A plain frame. */
long FUNCTION(plain)(struct chain *chain, int level)
{
	volatile char room[SIZE];
	long result;

	room[level] = (char)level;
	result = pass_on(chain, level);
	return result + room[level];
}

/* The function saves all callee-saved registers, with the frame pointer. */
long FUNCTION(saved)(struct chain *chain, int level)
{
	volatile char room[SIZE / 2];
	long result;

	room[0] = (char)level;
	asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
	result = pass_on(chain, level);
	asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
	return result + room[0];
}

/* The size is known only at run time, so the function has a frame pointer. */
long FUNCTION(varied)(struct chain *chain, int level)
{
	volatile char *room = alloca(SIZE + 16 * level);
	long result;

	room[SIZE - 1] = 1;
	result = pass_on(chain, level);
	return result + room[SIZE - 1];
}

/* The function aligns the stack pointer. */
long FUNCTION(aligned)(struct chain *chain, int level)
{
	_Alignas(128) volatile char room[SIZE];
	long result;

	room[0] = 1;
	result = pass_on(chain, level);
	return result + room[0];
}

static int FUNCTION(compare)(const void *one, const void *other)
{
	const struct element *first = one, *second = other;

	if (!*first->gone_on) {
		*first->gone_on = 1;
		pass_on(first->chain, first->level);
	}
	return first->key - second->key;
}

/* The C library calls the next function, by the comparison. */
long FUNCTION(sorted)(struct chain *chain, int level)
{
	int gone_on = 0;
	struct element elements[] = {
		{ 3, level, &gone_on, chain }, { 1, level, &gone_on, chain }, { 2, level, &gone_on, chain },
	};

	qsort(elements, 3, sizeof(*elements), FUNCTION(compare));
	return elements[0].key;
}

long FUNCTION(searched)(struct chain *chain, int level)
{
	int gone_on = 0;
	struct element element = { 1, level, &gone_on, chain };

	return bsearch(&element, &element, 1, sizeof(element), FUNCTION(compare)) != NULL;
}

/* The end of a chain. */
long FUNCTION(last)(struct chain *chain, int level)
{
	volatile char room[SIZE];
	long turn;

	for (turn = 0; turn < chain->turns; turn++)
		room[turn % SIZE] = (char)level;
	return room[0];
}
