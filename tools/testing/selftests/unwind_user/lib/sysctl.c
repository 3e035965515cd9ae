// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "sampler.h"
#include "sysctl.h"

#define LOCK_EXCLUSIVE	2	/* LOCK_EX of flock() */

static const char * const paths[] = { SYSCTL_TABLES, SYSCTL_MAX };
static long found[ARRAY_SIZE(paths)];

/* A child that restores them, once the process that set one has gone; or 0. */
static pid_t guardian;

static int write_number(const char *path, long value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;
	char text[24];

	if (fd < 0)
		return -errno;
	snprintf(text, sizeof(text), "%ld", value);
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static void write_found(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++)
		write_number(paths[i], found[i]);
}

static int guard(void)
{
	/* What waits for the lock waits for the guardian's end. */
	int lock = open(paths[0], O_WRONLY | O_CLOEXEC);
	struct pollfd end = { .events = POLLIN };
	pid_t self = getpid();

	if (lock < 0 || syscall(__NR_flock, lock, LOCK_EXCLUSIVE))
		return -errno;
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++)
		found[i] = read_number(paths[i]);
	end.fd = syscall(__NR_pidfd_open, self, 0);
	guardian = end.fd < 0 ? -1 : fork();
	if (!guardian) {
		/* Not of the test's group, which the harness kills as a whole. */
		syscall(__NR_setpgid, 0, 0);
		while (poll(&end, 1, -1) != 1)
			;
		write_found();
		_exit(0);
	}
	if (guardian > 0)
		syscall(__NR_setpgid, guardian, 0);
	close(end.fd);
	close(lock);
	if (guardian > 0)
		return 0;
	guardian = 0;
	return -ECHILD;
}

int sysctl_set(const char *path, long value)
{
	int error = guardian ? 0 : guard();

	return error ?: write_number(path, value);
}

void sysctl_restore(void)
{
	if (!guardian)
		return;
	write_found();
	kill(guardian, SIGKILL);
	waitpid(guardian, NULL, 0);
	guardian = 0;
}
