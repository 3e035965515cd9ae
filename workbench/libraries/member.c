// SPDX-License-Identifier: GPL-2.0
/*
 * One of many libraries: ways to pass on a chain of calls, each with another kind
 * of frame.  LIBRARY is what its functions' names begin with, SIZE how large their
 * frames are.
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

/* A frame of that size, and nothing else. */
long FUNCTION(plain)(struct chain *chain, int level)
{
	volatile char room[SIZE];
	long result;

	room[level] = (char)level;
	result = pass_on(chain, level);
	return result + room[level];
}

/* All registers that it has to save, the frame pointer among them. */
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

/* A frame of a size that is known when it runs: it has a frame pointer. */
long FUNCTION(varied)(struct chain *chain, int level)
{
	volatile char *room = alloca(SIZE + 16 * level);
	long result;

	room[SIZE - 1] = 1;
	result = pass_on(chain, level);
	return result + room[SIZE - 1];
}

/* A frame whose place depends on the stack pointer's last bits. */
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

/* By way of the C library, which compares. */
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
