/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_STACK_END_H
#define __PERF_STACK_END_H

#include <stdbool.h>
#include <stdio.h>

struct addr_location;
struct perf_sample;
struct thread;

/* One word, as on the command line. */
const char *stack_end__id(unsigned int end);

/* A few words, as in a column: none if nothing is known. */
const char *stack_end__name(unsigned int end);

/* Find the map of the last user address, whose caller is not known. */
bool sample__find_stack_end(struct perf_sample *sample, struct thread *thread,
			    struct addr_location *al);

/* Why there are no more frames, unless there are none: in a line of its own, or not. */
int sample__fprintf_stack_end(struct perf_sample *sample, struct thread *thread, bool line,
			      FILE *fp);

#endif /* __PERF_STACK_END_H */
