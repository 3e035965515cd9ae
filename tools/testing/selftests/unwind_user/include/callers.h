/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is below the functions in assembly of a program without a C library, to its
 * first instruction. Each function in C that leads to a sample says so with ENTER()
 * and LEAVE().
 */
#ifndef CALLERS_H
#define CALLERS_H

#include "chain.h"
#include "sampler.h"

/* Where the functions in C that are on the stack return to, the innermost last. */
extern struct chain callers;

#define ENTER() \
	(callers.ips[callers.nr++] = (unsigned long)__builtin_return_address(0))
#define LEAVE()	(callers.nr--)

/**
 * expect() - Add an address to a stack that is expected.
 * @chain: the stack
 * @ip: the address
 */
void expect(struct chain *chain, const void *ip);

/**
 * expect_callers() - Add what is below all functions in assembly.
 * @chain: the stack
 *
 * That is chain_call(), and those who called it.
 */
void expect_callers(struct chain *chain);

/**
 * print_difference() - Print a stack beside what it should be.
 * @chain: the stack
 * @from: how many of its topmost frames are not among the expected
 * @expected: the others
 */
void print_difference(const struct chain *chain, unsigned int from, const struct chain *expected);

/**
 * same_frames() - Compare a stack with what it should be.
 * @chain: the stack
 * @from: how many of its topmost frames are not among the expected
 * @expected: the others
 *
 * Return: whether it has these frames, and no more
 */
bool same_frames(const struct chain *chain, unsigned int from, const struct chain *expected);

#endif /* CALLERS_H */
