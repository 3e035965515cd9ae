// SPDX-License-Identifier: GPL-2.0
/*
 * A library that churn opens and closes. It is built in several shapes.
 */
#include <stdlib.h>

int library_run(int (*callback)(int), int count);
void library_touch(void);

static int (*called)(int);

/* With FAR, this function has its own executable segment. */
#ifdef FAR
__attribute__((section("far_text"), noinline))
#endif
static int compare(const void *a, const void *b)
{
	return called(*(const int *)a) - called(*(const int *)b);
}

int library_run(int (*callback)(int), int count)
{
	int numbers[64];

	called = callback;
	for (int turn = 0; turn < count; turn++) {
		for (int i = 0; i < 64; i++)
			numbers[i] = i * 37 % 64 + turn;
		qsort(numbers, 64, sizeof(*numbers), compare);
	}
	return numbers[0];
}

/* A call reads the library's text into memory. */
void library_touch(void)
{
}
