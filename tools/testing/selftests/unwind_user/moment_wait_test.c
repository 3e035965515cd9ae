// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks of a task whose memory never comes: a task that ends does not wait, and
 * a task that waits keeps nobody else from going on.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moment_fixture.h"
#include "uffd.h"

/* --- Exit with a tracer, and memory that never comes --- */

/* How long it may take until a task that waits for nothing has gone. */
#define PATIENCE	20

static struct never {
	int uffd;	/* of the child; or -1 */
	struct uffdio_range range;
} *never;

/* Make two pages, of which nobody brings the second one. */
static char *make_never(void)
{
	char *area = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (area == MAP_FAILED)
		_exit(1);
	*area = 1;
	never->range = (struct uffdio_range){ (unsigned long)area + 4096, 4096 };
	never->uffd = uffd_open(0);
	if (never->uffd >= 0 && uffd_missing(never->uffd, area + 4096, 4096))
		_exit(1);
	return area;
}

static void leave_for_ever_by_exit(void)
{
	leave_by(__NR_exit_group, 0, 0, make_never());
}

static void leave_for_ever_by_kill(void)
{
	leave_by(__NR_kill, getpid(), SIGKILL, make_never());
}

static void exit_for_ever(void)
{
	leave_by(__NR_exit, 0, 0, make_never());
}

static void leave_for_ever_by_exit_of_a_thread(void)
{
	child_in_thread(exit_for_ever);
	_exit(0);
}

/*
 * Let a thread go that stops once more on its way out, with the work to take its
 * stack queued. Returns what it ended with, or -1 if it waits for ever.
 */
static int end_traced(FIXTURE_DATA(moment) *self, bool *stopped)
{
	int status, fd;

	*stopped = false;
	if (ptrace(PTRACE_SEIZE, self->tid, NULL, PTRACE_O_TRACEEXIT) || !child_go())
		return -1;
	for (int i = 0; i < PATIENCE * 100; i++, usleep(10000)) {
		if (waitpid(self->tid, &status, WNOHANG | __WALL) != self->tid)
			continue;
		if (!WIFSTOPPED(status))
			return status;
		*stopped |= status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
		ptrace(PTRACE_CONT, self->tid, NULL, NULL);
	}
	/* Nothing but this ends it. */
	fd = syscall(__NR_pidfd_open, self->pid, 0);
	fd = syscall(__NR_pidfd_getfd, fd, never->uffd, 0);
	ioctl(fd, UFFDIO_UNREGISTER, &never->range);
	return -1;
}

/* Start a child that is to wait for ever; never->uffd is -1 if it cannot. */
static bool start_for_ever(FIXTURE_DATA(moment) *self, void (*leave_it)(void))
{
	never = mmap(NULL, sizeof(*never), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (never == MAP_FAILED || !start(self, leave_it))
		return false;
	if (never->uffd < 0) {
		kill(self->pid, SIGKILL);
		end(self);
	}
	return true;
}

TEST_F_TIMEOUT(moment, traced_exit_does_not_wait, 4 * PATIENCE)
{
	bool stopped;

	ASSERT_TRUE(start_for_ever(self, leave_for_ever_by_exit));
	if (never->uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_exit_group", self->tid, -1));
	EXPECT_EQ(0, end_traced(self, &stopped));
	EXPECT_TRUE(stopped);
	EXPECT_EQ(1, frames_of_stack(&self->one));
}

TEST_F_TIMEOUT(moment, traced_killed_exit_does_not_wait, 4 * PATIENCE)
{
	bool stopped;

	ASSERT_TRUE(start_for_ever(self, leave_for_ever_by_kill));
	if (never->uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, event_open(&self->one, "signal/signal_deliver", self->tid, -1));
	EXPECT_EQ(SIGKILL, end_traced(self, &stopped));
	EXPECT_TRUE(stopped);
	EXPECT_EQ(1, frames_of_stack(&self->one));
}

/* The rest of its process may end without a signal to it. */
TEST_F_TIMEOUT(moment, traced_exit_of_a_thread_does_not_wait, 4 * PATIENCE)
{
	bool stopped;

	ASSERT_TRUE(start_for_ever(self, leave_for_ever_by_exit_of_a_thread));
	if (never->uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_exit", self->tid, -1));
	EXPECT_EQ(0, end_traced(self, &stopped));
	EXPECT_TRUE(stopped);
	EXPECT_EQ(1, frames_of_stack(&self->one));
	EXPECT_EQ(0, end(self));
}

/* --- A probe, and memory that never comes --- */

/* Sample a probe of this program's file in a task; returns 0 or an errno. */
static int probe_open(struct sampler *sampler, const char *at, pid_t pid)
{
	const struct elf64_hdr *ehdr = (const void *)__ehdr_start;
	const struct elf64_phdr *phdr = (const void *)(__ehdr_start + ehdr->e_phoff);
	long type = read_number("/sys/bus/event_source/devices/uprobe/type");
	struct perf_event_attr attr = {
		.type = type,
		.uprobe_path = (unsigned long)"/proc/self/exe",
		.probe_offset = -1UL,
	};
	unsigned long start = 0;

	if (type < 0)
		return -type;
	/* The first one has the header, at its start. */
	for (int i = ehdr->e_phnum - 1; i >= 0; i--) {
		if (phdr[i].p_type == PT_LOAD)
			start = phdr[i].p_vaddr;
	}
	for (int i = 0; i < ehdr->e_phnum; i++) {
		unsigned long offset = at - __ehdr_start + start - phdr[i].p_vaddr;

		if (phdr[i].p_type == PT_LOAD && offset < phdr[i].p_filesz)
			attr.probe_offset = offset + phdr[i].p_offset;
	}
	return event_open_attr(sampler, attr, pid, -1);
}

static void probed_ready(void)
{
	char *area = make_never();

	child_ready();
	probed_exit(area, area + 4096);
}

/* Wait until a child waits for the page. */
static bool waits_for_ever(FIXTURE_DATA(moment) *self)
{
	int pidfd = syscall(__NR_pidfd_open, self->pid, 0);
	struct pollfd event = {
		.fd = syscall(__NR_pidfd_getfd, pidfd, never->uffd, 0),
		.events = POLLIN,
	};
	bool waits = poll(&event, 1, PATIENCE * 1000) == 1 && event.revents == POLLIN;

	close(event.fd);
	close(pidfd);
	return waits;
}

/* While a probe's stack waits for memory, other probes are removed. */
TEST_F_TIMEOUT(moment, probe_that_waits_for_ever, 4 * PATIENCE)
{
	int error, status = -1;
	pid_t other;

	ASSERT_TRUE(start_for_ever(self, probed_ready));
	if (never->uffd < 0)
		SKIP(return, NO_UFFD);
	error = probe_open(&self->one, probed_exit_at, self->tid);
	if (error == ENOENT) {
		kill(self->pid, SIGKILL);
		SKIP(return, "no uprobes; see config");
	}
	ASSERT_EQ(0, error);
	ASSERT_TRUE(child_go());
	EXPECT_TRUE(waits_for_ever(self));

	other = fork();
	if (!other) {
		error = probe_open(&self->two, other_probe_at, 0);
		sampler_close(&self->two);
		_exit(error);
	}
	for (int i = 0; i < PATIENCE * 100 && waitpid(other, &status, WNOHANG) != other; i++)
		usleep(10000);
	EXPECT_EQ(0, status);

	/* Nothing else ends it. */
	EXPECT_EQ(0, waitpid(self->pid, &status, WNOHANG));
	EXPECT_EQ(0, kill(self->pid, SIGKILL));
	EXPECT_EQ(SIGKILL, end(self));
	EXPECT_EQ(1, frames_of_stack(&self->one));
}

TEST_HARNESS_MAIN
