// SPDX-License-Identifier: GPL-2.0
/*
 * One of the libraries that churn opens.  LIBRARY is the prefix of its functions' names.
 * Its constructor spins CONSTRUCTOR times, and its function CALL times.  With APART, the
 * innermost function has its own executable segment.  With MISSING, the library needs a
 * function that no library has.  With NESTED, the constructor opens the library that
 * the environment variable NESTED names.
 */
#include <dlfcn.h>
#include <stdlib.h>

#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define FUNCTION(name) GLUE(LIBRARY, name)

#ifdef APART
#define PLACE __attribute__((section(".apart")))
#else
#define PLACE
#endif

struct element {
	int key;
	long *spins;	/* the number of calls that are left */
};

PLACE int FUNCTION(spin)(void)
{
	volatile char room[200];
	int turn;

	for (turn = 0; turn < 5000; turn++)
		room[turn % sizeof(room)] = (char)turn;
	return room[0];
}

/* The C library calls this back. */
static int FUNCTION(compare)(const void *one, const void *other)
{
	const struct element *first = one, *second = other;

	for (; *first->spins > 0; --*first->spins)
		FUNCTION(spin)();
	return first->key - second->key;
}

static int FUNCTION(sorted)(long spins)
{
	struct element elements[] = { { 3, &spins }, { 1, &spins }, { 2, &spins } };

	qsort(elements, 3, sizeof(*elements), FUNCTION(compare));
	return elements[0].key;
}

__attribute__((constructor)) static void FUNCTION(construct)(void)
{
	if (FUNCTION(sorted)(CONSTRUCTOR) != 1)
		abort();
#ifdef NESTED
	if (!dlopen(getenv("NESTED"), RTLD_NOW))
		abort();
#endif
}

#ifdef MISSING
int missing(void);
#else
#define missing() 0
#endif

int FUNCTION(run)(void)
{
	return FUNCTION(sorted)(CALL) + missing();
}
