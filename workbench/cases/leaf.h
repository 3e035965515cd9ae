/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all cases share: work in a leaf whose callers are known. The judge looks at stacks that
 * hold hot_leaf().
 */
#ifndef LEAF_H
#define LEAF_H

#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noipa))

/* As much as gives some hundreds of samples. Time would not do: a busy host stops the guest. */
#define WORK 100000000

static long work_done;

static inline int go_on(void)
{
	return work_done < WORK;
}

static NOINLINE long hot_leaf(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i ^ n;
	work_done += n;
	return sum;
}

/* The volatile array keeps the call from being the last thing that the caller does. */
#define MID(name)					\
	NOINLINE long name(long n)			\
	{						\
		volatile long room[5];			\
							\
		room[0] = n;				\
		return hot_leaf(n) + room[0];		\
	}

#endif /* LEAF_H */
