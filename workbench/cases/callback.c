// SPDX-License-Identifier: GPL-2.0
/* A library that Python calls, and that calls back. */
#include "leaf.h"

MID(mid)

NOINLINE long call_back(long (*back)(long), long n)
{
	volatile long room[5];

	room[0] = n;
	return back(n) + room[0];
}

int more(void)
{
	return go_on();
}
