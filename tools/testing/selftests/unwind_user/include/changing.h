/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table that another thread rewrites while stacks are sampled. RACE_SECONDS says
 * for how long.
 */
#ifndef CHANGING_H
#define CHANGING_H

#include "synth.h"

struct changing {
	struct synth *synth;
	/* So many frames has a whole stack. */
	unsigned int frames;
	/* So many bytes of the table are rewritten, */
	size_t len;
	/* and those of its header seldom: then it is of no use for long. */
	size_t header, header_len;

	bool stop;
	unsigned long writes;
	/* How many stacks were sampled, and how many of them were whole. */
	unsigned long samples, whole;
};

/*
 * Sample the stack while its table changes. Then the table is as before. @changing: what
 * changes, and the counts. Returns NULL, or what is wrong.
 */
const char *changing_sample(struct changing *changing);

#endif /* CHANGING_H */
