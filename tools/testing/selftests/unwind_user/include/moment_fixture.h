/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that is sampled while it is in the kernel.
 *
 * After kselftest_harness.h.
 */
#ifndef MOMENT_FIXTURE_H
#define MOMENT_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "moment.h"

FIXTURE(moment) {
	struct sampler one, two, three;
	pid_t pid;
	pid_t tid;	/* of the child's thread that is sampled */
};

FIXTURE_SETUP(moment)
{
	int error = event_open(&self->one, "syscalls/sys_enter_execve", 0, -1);

	if (stacks_missing(error))
		SKIP(return, "no deferred stacks of execve(): errno %d; see config", error);
	ASSERT_EQ(0, error);
	sampler_close(&self->one);
	ASSERT_EQ(0, child_pipes());
}

FIXTURE_TEARDOWN(moment)
{
}

/* Start a child; it or one of its threads calls child_ready(). */
static inline bool start(FIXTURE_DATA(moment) *self, void (*run)(void))
{
	self->pid = fork();
	if (!self->pid) {
		/* It may wait for a test that has failed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(1);
	}
	return self->pid > 0 && child_tid(&self->tid);
}

/* What a child ended with, as wait() says it. */
static inline int end(FIXTURE_DATA(moment) *self)
{
	int status = -1;

	waitpid(self->pid, &status, 0);
	return status;
}

#endif /* MOMENT_FIXTURE_H */
