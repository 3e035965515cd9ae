/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that is sampled while it is in the kernel.
 *
 * After kselftest_harness.h.
 */
#ifndef MOMENT_FIXTURE_H
#define MOMENT_FIXTURE_H

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "moment.h"

static int go[2], tell[2];

/* Say which thread is to be sampled, and wait until it is. */
static inline void ready(void)
{
	pid_t tid = syscall(__NR_gettid);
	char byte;

	if (write(tell[1], &tid, sizeof(tid)) != sizeof(tid) || read(go[0], &byte, 1) != 1)
		_exit(1);
}

FIXTURE(moment) {
	struct sampler one, two, three;
	pid_t pid;
	pid_t tid;	/* of the child's thread that is sampled */
};

FIXTURE_SETUP(moment)
{
	int error = event_open(&self->one, "syscalls/sys_enter_execve", 0, -1);

	if (error == EINVAL || error == ENOENT || error == EACCES || error == EPERM)
		SKIP(return, "no deferred stacks of execve(): errno %d; see config", error);
	ASSERT_EQ(0, error);
	munmap(self->one.page, RING_SIZE + 4096);
	close(self->one.fd);
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(tell, O_CLOEXEC));
}

FIXTURE_TEARDOWN(moment)
{
}

/* Start a child; it or one of its threads calls ready(). */
static inline bool start(struct _test_data_moment *self, void (*run)(void))
{
	self->pid = fork();
	if (!self->pid) {
		run();
		_exit(1);
	}
	return self->pid > 0 && read(tell[0], &self->tid, sizeof(self->tid)) == sizeof(self->tid);
}

static inline bool let_go(void)
{
	return write(go[1], "", 1) == 1;
}

/* What a child ended with, as wait() says it. */
static inline int end(struct _test_data_moment *self)
{
	int status = -1;

	waitpid(self->pid, &status, 0);
	return status;
}

static inline void *thread(void *run)
{
	((void (*)(void))run)();
	return NULL;
}

/* Do something in a thread that is not the first; returns when the thread has gone. */
static inline void in_thread(void (*run)(void))
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread, run))
		_exit(1);
	pthread_join(id, NULL);
}

/* Leave by a system call; the frame pointer is that of the second of two pages. */
static inline void leave_by(long number, long a, long b, char *area)
{
	ready();
	asm volatile("movq	%1, %%rsp\n"
		     "	movq	%2, %%rbp\n"
		     "	syscall\n"
		     "	ud2\n"
		     : : "a" (number), "r" (area), "r" (area + 4096), "D" (a), "S" (b), "d" (0)
		     : "memory");
	__builtin_unreachable();
}

/* The number of frames of the only stack; or -1. */
static inline int frames_of_stack(struct sampler *sampler)
{
	struct record all[MAX_RECORDS];
	int n = records(sampler, all, MAX_RECORDS), frames = -1;

	for (int i = 0; i < n; i++) {
		if (all[i].type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		if (frames >= 0)
			return -1;
		frames = all[i].frames;
	}
	return frames;
}

/* Wait until a thread waits in a system call. */
static inline bool waits_in(pid_t pid, pid_t tid, int number)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	for (int i = 0; i < 10000; i++) {
		if (read_number(path) == number)
			return true;
		usleep(1000);
	}
	return false;
}

#endif /* MOMENT_FIXTURE_H */
