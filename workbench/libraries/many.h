/* SPDX-License-Identifier: GPL-2.0 */
/* A chain of calls through many libraries: each function calls the next one. */
#ifndef MANY_H
#define MANY_H

#define MOST_LEVELS 16

struct chain {
	long (*steps[MOST_LEVELS])(struct chain *chain, int level);
	long turns;	/* the last one's */
};

/* What a comparison needs to go on from. */
struct element {
	int key;
	int level;
	int *gone_on;	/* once is enough, however many comparisons there are */
	struct chain *chain;
};

#endif
