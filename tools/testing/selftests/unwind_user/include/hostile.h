/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic stacks that give the walker as much to do as can be, for a test and for a
 * measurement.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "synth.h"

/* As many rows as a function can have. */
#define MOST_ROWS	65535

/**
 * hostile_rows_return() - Say where a frame of hostile_rows() returns to: to another row
 *   each, from the last one on.
 * @synth: the stack
 * @nth: the index of the frame
 *
 * Return: the address
 */
unsigned long hostile_rows_return(const struct synth *synth, unsigned int nth);

/**
 * hostile_rows() - Make frames of a word, all of a function with the most rows.
 * @synth: the stack
 *
 * Return: NULL, or what is wrong
 */
const char *hostile_rows(struct synth *synth);

/* More rows than a walk steps over, of the greatest length. */
#define LONG_ROWS	12000
#define LONG_ROW	(4 + 1 + 15 * 4)

/**
 * hostile_long_rows() - Make a frame of a function whose rows are longer than what is
 *   read at once.
 * @synth: the stack
 */
void hostile_long_rows(struct synth *synth);

/**
 * hostile_frame() - Say where a frame of hostile_frames() returns to.
 * @synth: the stack
 * @nth: the index of the frame
 *
 * Return: the address
 */
unsigned long hostile_frame(const struct synth *synth, unsigned int nth);

/**
 * hostile_frames() - Make frames of a word, of one small function, each of another
 *   address.
 * @synth: the stack
 *
 * The kernel has to look up each of them.
 */
void hostile_frames(struct synth *synth);

/* Other functions in the index, and the rows of those that count, which are the same. */
#define WIDE_FUNCTIONS	65536
#define WIDE_ROWS	180
#define WIDE_COUNT	8
#define WIDE_SIZE	255
#define WIDE_INDEX	(SYNTH_TABLE / 2)

/**
 * hostile_wide() - Make such frames, with a table that uses up the budget with the last
 *   ones.
 * @synth: the stack
 */
void hostile_wide(struct synth *synth);

/**
 * hostile_signals() - Make a signal frame that has interrupted its own restorer.
 * @synth: the stack
 *
 * Return: the restorer's address
 */
unsigned long hostile_signals(struct synth *synth);

/**
 * hostile_marked() - Make a handler and a restorer that have interrupted each other.
 * @synth: the stack
 * @nth_restorer: the index of the restorer
 *
 * The restorer is known by the mark in the table alone, which takes the most to look for.
 */
void hostile_marked(struct synth *synth, int nth_restorer);

#endif /* HOSTILE_H */
