/* SPDX-License-Identifier: GPL-2.0 */
/* Common functions of the programs with libraries. */
#ifndef COMMON_H
#define COMMON_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

/* In milliseconds. */
static inline long now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time))
		fail("no clock");
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

#endif
