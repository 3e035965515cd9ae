/* SPDX-License-Identifier: GPL-2.0 */
/* A chain of calls through many libraries: each function calls the next one. */
#ifndef MANY_H
#define MANY_H

#define MOST_LEVELS 16

struct chain {
	long (*steps[MOST_LEVELS])(struct chain *chain, int level);
	long turns;	/* of the last function's loop */
};

/* The comparison calls the next function by these. */
struct element {
	int key;
	int level;
	int *gone_on;	/* only the first comparison goes on */
	struct chain *chain;
};

#endif
