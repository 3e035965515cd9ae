/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The harness, and what most programs with a C library use.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tables.h"

/* Sample each getppid() of the caller. Returns false if the test has to end. */
static inline bool open_sampler(struct __test_metadata *_metadata, struct sampler *sampler)
{
	int error = sampler_open(sampler);

	if (stacks_missing(error))
		SKIP(return false, NO_STACKS, error);
	EXPECT_EQ(0, error);
	return !error;
}

#endif /* HARNESS_H */
