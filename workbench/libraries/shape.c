// SPDX-License-Identifier: GPL-2.0
/*
 * The library that is linked in many ways, for shapes.c.
 *
 * Without FRAME_POINTER, the frame pointer is 7 during each call, so no walk can use it.
 */
#include <stdlib.h>

#include "shape.h"

#ifdef FRAME_POINTER
#define LOSE_FRAME_POINTER()
#define KEEP_FRAME_POINTER()
#else
#define LOSE_FRAME_POINTER() register long seven asm("rbp") = 7; asm volatile("" : "+r"(seven))
#define KEEP_FRAME_POINTER() asm volatile("" : "+r"(seven))
#endif

static int shape_compare(const void *one, const void *other)
{
	const struct element *first = one, *second = other;

	LOSE_FRAME_POINTER();
	if (!*first->gone_on) {
		*first->gone_on = 1;
		first->shape->middle(first->shape);
	}
	KEEP_FRAME_POINTER();
	return first->key - second->key;
}

long shape_first(struct shape *shape)
{
	int gone_on = 0;
	struct element elements[] = { { 2, &gone_on, shape }, { 1, &gone_on, shape } };

	qsort(elements, 2, sizeof(*elements), shape_compare);
	return elements[0].key;
}

long shape_first_by_address(struct shape *shape)
{
	volatile char room[200];
	int gone_on = 0;
	struct element elements[] = { { 2, &gone_on, shape }, { 1, &gone_on, shape } };

	room[0] = 1;
	shape->sort(elements, 2, sizeof(*elements), shape_compare);
	return elements[0].key + room[0];
}

static APART long shape_turn(struct shape *shape)
{
	volatile long turn;

	LOSE_FRAME_POINTER();
	for (turn = 0; turn < shape->turns; turn++)
		;
	KEEP_FRAME_POINTER();
	return turn;
}

APART long shape_second(struct shape *shape)
{
	volatile char room[72];
	long result;

	LOSE_FRAME_POINTER();
	room[0] = 1;
	result = shape->last(shape);
	KEEP_FRAME_POINTER();
	return result + room[0] + shape_turn(shape);
}
