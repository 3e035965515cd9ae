// SPDX-License-Identifier: GPL-2.0
/*
 * Samples around signal delivery and rt_sigreturn(), which replace the user registers
 * before the return to user space: those of before have the stack of before. Those inside
 * have the stack to which the task returns.
 */
#include "harness.h"

#include "code.h"
#include "moment_fixture.h"

static void on_signal(int number)
{
}

/* The handler returns to behind the next instruction. */
static void on_signal_edit(int number, siginfo_t *info, void *context)
{
	UC_IP((ucontext_t *)context) = (unsigned long)known_behind;
}

static void take_signal(void *handler, int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO };

	if (sigaction(SIGUSR1, &action, NULL))
		_exit(1);
}

static void kill_self(void)
{
	child_ready();
	known_syscall(__NR_kill, getpid(), SIGUSR1);
	_exit(0);
}

static void signal_ready(void)
{
	take_signal(on_signal, 0);
	kill_self();
}

static void signal_edited_ready(void)
{
	take_signal(on_signal_edit, 0);
	kill_self();
}

/* The handler has not run yet. */
TEST_F(moment, signal_delivery)
{
	ASSERT_TRUE(start(self, signal_ready));
	ASSERT_EQ(0, event_open(&self->one, "signal/signal_deliver", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_EQ(1, samples_with_stack(&self->one));
}

static bool has_records(const struct sampler *sampler)
{
	return __atomic_load_n(&sampler->page->data_head, __ATOMIC_ACQUIRE);
}

static int input[2];

static void read_ready(void)
{
	char byte;
	const struct iovec iov = { &byte, 1 };

	take_signal(on_signal, SA_RESTART);
	child_ready();
	_exit(known_syscall(__NR_readv, input[0], &iov, 1) != 1);
}

/* The instruction pointer goes back, to make the system call again. */
TEST_F(moment, signal_in_restarted_syscall)
{
	ASSERT_EQ(0, pipe2(input, O_CLOEXEC));
	ASSERT_TRUE(start(self, read_ready));
	ASSERT_EQ(0, event_open(&self->one, "signal/signal_deliver", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_TRUE(waits_in(self->pid, self->tid, __NR_readv));
	EXPECT_EQ(0, kill(self->pid, SIGUSR1));
	for (int i = 0; i < 10000 && !has_records(&self->one); i++)
		usleep(1000);
	EXPECT_EQ(1, write(input[1], "", 1));
	EXPECT_EQ(0, end(self));
	EXPECT_EQ(1, samples_with_restart(&self->one));
}

/* Put the signal's frame where there is no memory yet. */
static void signal_far_ready(void)
{
	stack_t stack = { .ss_size = 16 * PAGE };

	stack.ss_sp = mmap(NULL, stack.ss_size, RW, ANON, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
		_exit(1);
	take_signal(on_signal, SA_ONSTACK);
	kill_self();
}

#define TABLES	"/proc/self/unwind_tables"

/*
 * Whether a stack is that of known_syscall(), behind the start of the handler, which has
 * not run yet, and the restorer. The kernel knows by a table what calls the handler.
 */
static bool is_stack_of_start(const struct record *stack)
{
	return stack->frames == 5 && stack->ips[0] == (unsigned long)on_signal &&
	       !memcmp((char *)stack->ips[1], restorer_code, sizeof(restorer_code)) &&
	       is_known_stack_at(&stack->ips[2], 3, known_ip);
}

/* The signal's frame is being written. */
TEST_F(moment, inside_signal_delivery)
{
	const struct perf_event_attr faults = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_user = 1,
	};

	if (access(TABLES, F_OK))
		SKIP(return, "the kernel does not use tables");
	ASSERT_TRUE(start(self, signal_far_ready));
	ASSERT_EQ(0, event_open_attr(&self->one, faults, self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_LE(1, samples_with(&self->one, is_stack_of_start));
}

/*
 * Whether the only sample has the restorer's stack, of which the next frame is what
 * the signal's frame says at that time.
 */
static bool is_restorer_stack(struct sampler *sampler, const char *ip)
{
	struct record all[MAX_RECORDS];
	int n = records(sampler, all, MAX_RECORDS);

	if (n == 2 && all[0].type == PERF_RECORD_SAMPLE && all[0].cookie &&
	    all[1].cookie == all[0].cookie && all[1].frames == 4 &&
	    !memcmp((char *)all[1].ips[0] - SYSCALL_SIZE, syscall_code, SYSCALL_SIZE) &&
	    is_known_stack_at(&all[1].ips[1], 3, ip))
		return true;
	ksft_print_msg("%d records\n", n);
	for (int i = 0; i < n; i++)
		ksft_print_msg("type %u, cookie 0x%lx, %u frames: 0x%lx 0x%lx\n", all[i].type,
			       all[i].cookie, all[i].frames, all[i].ips[0], all[i].ips[1]);
	return false;
}

TEST_F(moment, signal_return)
{
	ASSERT_TRUE(start(self, signal_ready));
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_rt_sigreturn", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_TRUE(is_restorer_stack(&self->one, known_ip));
}

/* What the handler has changed is on its stack before, */
TEST_F(moment, signal_return_elsewhere)
{
	ASSERT_TRUE(start(self, signal_edited_ready));
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_rt_sigreturn", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_TRUE(is_restorer_stack(&self->one, known_behind));
}

/* and the stack afterwards. */
TEST_F(moment, after_signal_return_elsewhere)
{
	struct record all[MAX_RECORDS];

	ASSERT_TRUE(start(self, signal_edited_ready));
	ASSERT_EQ(0, event_open(&self->one, "raw_syscalls/sys_exit", self->tid, -1));
	/* rt_sigreturn() has no number any more by then. */
	ASSERT_EQ(0, ioctl(self->one.fd, PERF_EVENT_IOC_SET_FILTER, "id == -1"));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	ASSERT_EQ(2, records(&self->one, all, MAX_RECORDS));
	EXPECT_EQ(PERF_RECORD_SAMPLE, all[0].type);
	EXPECT_EQ(all[0].cookie, all[1].cookie);
	EXPECT_TRUE(is_known_stack_at(all[1].ips, all[1].frames, known_behind));
}

static void on_signal_to_kernel(int number, siginfo_t *info, void *context)
{
	UC_IP((ucontext_t *)context) = 0xffffffff81000000UL;
}

static void signal_to_kernel_ready(void)
{
	take_signal(on_signal_to_kernel, 0);
	kill_self();
}

/* No stack has an address of the kernel that the handler has made up. */
TEST_F(moment, after_signal_return_to_kernel)
{
	struct record all[MAX_RECORDS];
	int status;

	ASSERT_TRUE(start(self, signal_to_kernel_ready));
	ASSERT_EQ(0, event_open(&self->one, "raw_syscalls/sys_exit", self->tid, -1));
	ASSERT_EQ(0, ioctl(self->one.fd, PERF_EVENT_IOC_SET_FILTER, "id == -1"));
	ASSERT_TRUE(child_go());
	status = end(self);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	ASSERT_EQ(2, records(&self->one, all, MAX_RECORDS));
	EXPECT_EQ(PERF_RECORD_SAMPLE, all[0].type);
	EXPECT_EQ(all[0].cookie, all[1].cookie);
	EXPECT_EQ(0, all[1].frames);
}

static void signals_ready(void)
{
	take_signal(on_signal, 0);
	for (;;) {
		child_ready();
		for (int i = 0; i < 100; i++)
			known_syscall(__NR_kill, getpid(), SIGUSR1);
	}
}

static struct {
	unsigned long all[4096];
	unsigned int nr;
} sampled, taken;

static unsigned int stacks_of(unsigned long cookie)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < taken.nr; i++)
		n += taken.all[i] == cookie;
	return n;
}

/* What stacks were taken in. */
struct places {
	unsigned int kill, restorer, start, wrong;
};

static bool look(struct sampler *sampler, struct places *places)
{
	static struct record all[RING_SIZE / 64];
	int n = records(sampler, all, ARRAY_SIZE(all));

	for (int i = 0; i < n; i++) {
		if (sampled.nr == ARRAY_SIZE(sampled.all) || taken.nr == ARRAY_SIZE(taken.all))
			return false;
		if (all[i].type == PERF_RECORD_SAMPLE) {
			sampled.all[sampled.nr++] = all[i].cookie;
			continue;
		}
		taken.all[taken.nr++] = all[i].cookie;
		places->kill += all[i].right;
		places->restorer += all[i].frames == 4 &&
				    is_known_stack_at(&all[i].ips[1], 3, known_ip);
		places->start += is_stack_of_start(&all[i]);
		places->wrong += all[i].ip == (unsigned long)on_signal &&
				 !is_stack_of_start(&all[i]);
	}
	return n >= 0;
}

/*
 * At any place in the kernel, a sample has a stack. Only where a kernel entry ends and
 * the next begins, it has none: for a few instructions.
 */
TEST_F_TIMEOUT(moment, signals_by_clock, 300)
{
	struct places places = {};
	unsigned int without = 0;

	ASSERT_TRUE(start(self, signals_ready));
	ASSERT_EQ(0, event_open(&self->one, NULL, self->tid, -1));
	while (sampled.nr < 1000 || !places.kill || !places.restorer) {
		ASSERT_TRUE(child_go());
		ASSERT_TRUE(child_tid(&self->tid));
		ASSERT_TRUE(look(&self->one, &places));
	}
	EXPECT_EQ(0, kill(self->pid, SIGKILL));
	EXPECT_EQ(SIGKILL, end(self));
	ASSERT_TRUE(look(&self->one, &places));

	for (unsigned int i = 0; i < sampled.nr; i++) {
		without += !sampled.all[i];
		if (sampled.all[i])
			EXPECT_EQ(1, stacks_of(sampled.all[i]));
	}
	ksft_print_msg("%u samples, %u without a stack\n", sampled.nr, without);
	ksft_print_msg("%u stacks: %u of kill(), %u of a restorer, %u of a handler's start\n",
		       taken.nr, places.kill, places.restorer, places.start);
	EXPECT_GE(sampled.nr / 100, without);
	/* A handler that has not run yet is on top of what the signal interrupts. */
	if (!access(TABLES, F_OK))
		EXPECT_EQ(0, places.wrong);
}

TEST_HARNESS_MAIN
