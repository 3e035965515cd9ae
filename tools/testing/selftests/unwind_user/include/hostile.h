/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic stacks that give the walker as much to do as can be, for a test and for a
 * measurement.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "synth.h"

/* What the lookups of a stack may cost, in bytes read. */
#define STACK_BUDGET	(80 * 1024)

/* As many rows as a function can have, and the row of the first frame, some way on. */
#define MOST_ROWS	65535
#define MANY_ROWS	(64000 / (2 + ROW_SIZE))

/* Compute where the @nth frame of hostile_rows() returns to: each to another row. */
unsigned long hostile_rows_return(const struct synth *synth, unsigned int nth);
/* Make frames of a word, all of a function with the most rows. Returns an error or NULL. */
const char *hostile_rows(struct synth *synth);

/* More rows than a walk steps over, of the greatest length. */
#define LONG_ROWS	12000
#define LONG_ROW	(4 + 1 + 15 * 4)

/* Make a frame of a function whose rows are longer than what is read at once. */
void hostile_long_rows(struct synth *synth);
/* Compute where the @nth frame of hostile_frames() returns to. */
unsigned long hostile_frame(const struct synth *synth, unsigned int nth);
/* Make frames of a word, each at another address of one function. */
void hostile_frames(struct synth *synth);

/* Other functions in the index, and the rows of those that count, which are the same. */
#define WIDE_FUNCTIONS	65536
#define WIDE_ROWS	180
#define WIDE_COUNT	8
#define WIDE_SIZE	255
/* What a lookup costs: 18 steps of the search, and the rows. */
#define WIDE_COST	(18 * 32 + 5 + (1 + ROW_SIZE) * WIDE_ROWS)
#define WIDE_INDEX	(SYNTH_TABLE / 2)

/* Make such frames, with a table that uses up the budget. */
void hostile_wide(struct synth *synth);
/* Make a signal frame that has interrupted its own restorer. Returns the restorer's address. */
unsigned long hostile_signals(struct synth *synth);

/*
 * Make a handler and a restorer that have interrupted each other. The restorer is known
 * by the mark in the table alone, which takes the most to look for. @nth_restorer: the
 * index of the restorer.
 */
void hostile_marked(struct synth *synth, int nth_restorer);

/* A table that another thread rewrites while stacks are sampled, for RACE_SECONDS. */
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

/* Sample the stack meanwhile. Then the table is as before. Returns NULL, or what is wrong. */
const char *changing_sample(struct changing *changing);

#endif /* HOSTILE_H */
