// SPDX-License-Identifier: GPL-2.0
/*
 * A library that is opened and closed all the time. It is built in several shapes.
 */
#include <stdlib.h>

int library_run(int (*callback)(int), int count);
void library_touch(void);

static int (*called)(int);

/* With FAR, this is in an executable segment of its own. */
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

/* Whoever calls this has the library's text in memory. */
void library_touch(void)
{
}
