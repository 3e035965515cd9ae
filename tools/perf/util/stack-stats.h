/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_STACK_STATS_H
#define __PERF_STACK_STATS_H

#include <linux/types.h>
#include <stdio.h>

#include "sample.h"

struct hashmap;
struct machine;

/*
 * How the deferred user stacks of a file ended.  All zero is a good start.
 */
struct stack_stats {
	/* Samples that have a deferred stack, or should. */
	u64 nr_samples;
	u64 nr_end[STACK_END_NR];
	/* A frame was found by frame pointer. */
	u64 nr_guessed;
	/* Stacks that end for want of good tables, by the name of the object they end in. */
	struct hashmap *objects;
};

int stack_stats__add(struct stack_stats *stats, struct perf_sample *sample,
		     struct machine *machine);
/* Back to all zero. */
void stack_stats__exit(struct stack_stats *stats);

/* Print nothing if there are no samples with deferred stacks. */
size_t stack_stats__fprintf(const struct stack_stats *stats, FILE *fp);

#endif /* __PERF_STACK_STATS_H */
