// SPDX-License-Identifier: GPL-2.0
/*
 * The moment that a stack belongs to: samples inside exec and exit, of another task, have
 * the stack that made the system call, or none. A task that ends does not wait for memory
 * that never comes, and one that waits keeps nobody else from going on.
 */
#include "harness.h"

#include <linux/elf.h>
#include <poll.h>
#include <sched.h>
#include <sys/param.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "code.h"
#include "moment_fixture.h"
#include "uffd.h"

/* What this program is told when it is executed by a test. */
#define EXECUTED	"executed"
#define OFTEN		"often"
#define WITH_TABLE	"with-table"

/* --- exec --- */

static void execute(const char *path)
{
	static const char * const argv[] = { "moment_test", EXECUTED, NULL };

	known_syscall(__NR_execve, path, argv, argv + 2);
}

static void execute_self(void)
{
	child_ready();
	/* That fails, and nothing has happened. */
	execute("/proc/self/maps");
	execute("/proc/self/exe");
}

static void execute_self_in_thread(void)
{
	child_in_thread(execute_self);
}

/* The new program's part, after exec: samples are as ever. */
static int executed(void)
{
	known_syscall(__NR_getppid);
	return 0;
}

static void execute_with_table(void)
{
	static const char * const argv[] = { "moment_test", WITH_TABLE, NULL };

	child_ready();
	known_syscall(__NR_getppid);
	known_syscall(__NR_execve, "/proc/self/exe", argv, argv + 2);
}

/* The new program's part: by its table, nobody calls what makes the system call. */
static int executed_with_table(void)
{
	static struct hand_table table;
	struct unwind_table where = ranges(known_ip, sizeof(leaf_code), &table, sizeof(table));

	table = table_outermost(&table, known_ip);
	if (do_register(&where))
		return 1;
	known_syscall(__NR_getpgid, 0);
	return 0;
}

/* That the old program had no table there is not true of the new one. */
TEST_F(moment, exec_forgets)
{
	struct record all[MAX_RECORDS];
	int n;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_TRUE(start(self, execute_with_table));
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_getppid", self->tid, -1));
	ASSERT_EQ(0, event_open(&self->two, "syscalls/sys_enter_getpgid", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_EQ(1, samples_with_stack(&self->one));
	/* This event is told of both stacks. */
	n = records(&self->two, all, MAX_RECORDS);
	ASSERT_LT(0, n);
	EXPECT_EQ(PERF_RECORD_CALLCHAIN_DEFERRED, all[n - 1].type);
	EXPECT_EQ(1, all[n - 1].frames);
}

/* The way out of execve() is as that of any other system call, but for the stack. */
TEST_F(moment, way_out_of_exec)
{
	struct record all[MAX_RECORDS];

	ASSERT_TRUE(start(self, execute_self));
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_exit_execve", self->tid, -1));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));

	/* One that has failed, and one that has not: there no instruction has run yet. */
	ASSERT_EQ(4, records(&self->one, all, MAX_RECORDS));
	for (int i = 0; i < 4; i += 2) {
		EXPECT_EQ(PERF_RECORD_SAMPLE, all[i].type);
		EXPECT_EQ(PERF_RECORD_CALLCHAIN_DEFERRED, all[i + 1].type);
		EXPECT_NE(0, all[i].cookie);
		EXPECT_EQ(all[i].cookie, all[i + 1].cookie);
		EXPECT_EQ(all[i].ip, all[i + 1].ip);
		EXPECT_EQ(all[i].tid, all[i + 1].tid);
	}
	EXPECT_TRUE(all[1].right);
	EXPECT_EQ(1, all[3].frames);
	EXPECT_NE(all[1].ip, all[3].ip);
}

/* A program that is killed because it cannot be mapped when the old one has gone. */
static const struct {
	struct elf64_hdr ehdr;
	struct elf64_phdr phdr;
} no_program = {
	.ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
			     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(struct elf64_hdr),
		.e_ehsize = sizeof(struct elf64_hdr),
		.e_phentsize = sizeof(struct elf64_phdr),
		.e_phnum = 1,
	},
	.phdr = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 1UL << 63,
		.p_filesz = PAGE, .p_memsz = PAGE, .p_align = PAGE,
	},
};

/* Execute a file that has these bytes, on a page. */
static void execute_bytes(const void *bytes, size_t len)
{
	int fd = memfd_create("program", MFD_CLOEXEC), readable;
	char path[32];

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || ftruncate(fd, PAGE))
		_exit(1);
	/* What is open for writing cannot be executed. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", readable);
	child_ready();
	execute(path);
	_exit(0);
}

static void execute_nothing(void)
{
	execute_bytes("none", 4);
}

static void execute_no_program(void)
{
	execute_bytes(&no_program, sizeof(no_program));
}

static void execute_often(void)
{
	static const char * const argv[] = { "moment_test", OFTEN, NULL };

	known_syscall(__NR_execve, "/proc/self/exe", argv, argv + 2);
}

static void execute_often_ready(void)
{
	child_ready();
	execute_often();
}

static const struct record *stack_of(const struct record *sample, const struct record *all, int n)
{
	for (int i = 0; i < n; i++) {
		if (all[i].type == PERF_RECORD_CALLCHAIN_DEFERRED &&
		    all[i].cookie == sample->cookie)
			return &all[i];
	}
	return NULL;
}

/*
 * Samples at any moment of it: a stack starts where the sample's registers are, or behind an
 * instruction that the kernel was about to emulate; or the sample has none.
 */
TEST_F_TIMEOUT(moment, exec_at_any_moment, 240)
{
	enum { MAX = 20000, SECONDS = 120 };
	/* Up to 2000, if there is time. */
	const int enough = MIN(2000, 60 * wanted("RACE_SECONDS", 5));
	static struct record all[MAX];
	int n = 0, inside = 0, with = 0, without = 0, at_once = 0, lost = 0, bad = 0;
	time_t until = time(NULL) + SECONDS;

	ASSERT_TRUE(start(self, execute_often_ready));
	ASSERT_EQ(0, event_open(&self->one, NULL, self->tid, -1));
	ASSERT_TRUE(child_go());
	for (bool going = true; going; usleep(1000)) {
		int more;

		/* The last look is when all has been written. */
		if (inside >= enough || time(NULL) >= until) {
			kill(self->pid, SIGKILL);
			EXPECT_EQ(SIGKILL, end(self) & 0x7f);
			going = false;
		}
		more = records(&self->one, all + n, MAX - n);
		ASSERT_LE(0, more);
		for (; more; more--, n++)
			inside += all[n].type == PERF_RECORD_SAMPLE &&
				  all[n].ip == (unsigned long)known_ip;
	}

	for (int i = 0; i < n; i++) {
		const struct record *stack;

		if (all[i].type != PERF_RECORD_SAMPLE)
			continue;
		if (!all[i].promised) {
			without++;
			continue;
		}
		/* Late in exit a chain is taken at once, and nothing is promised any more. */
		if (!all[i].cookie) {
			at_once++;
			continue;
		}
		bad += at_once > 0;
		stack = stack_of(&all[i], all, n);
		if (!stack) {
			lost++;
			continue;
		}
		if (all[i].ip == (unsigned long)known_ip) {
			with++;
			bad += !stack->right;
		}
		bad += (stack->ip != all[i].ip && stack->ip != all[i].ip + EMULATED) ||
		       stack->tid != all[i].tid;
	}
	ksft_print_msg("%d samples inside execve(), %d with its stack; %d without any\n",
		       inside, with, without);
	EXPECT_EQ(0, bad);
	EXPECT_EQ(0, lost);
	EXPECT_LE(enough, inside);
	EXPECT_LT(0, with);
	EXPECT_LT(0, without);
}

/* --- An event of a CPU --- */

static void getppid_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		_exit(1);
	child_ready();
	known_syscall(__NR_getppid);
	_exit(0);
}

/* Unlike the events of perf record, it asks for no other kind of record. */
TEST_F(moment, event_of_a_cpu)
{
	char filter[32];

	ASSERT_TRUE(start(self, getppid_on_one_cpu));
	ASSERT_EQ(0, event_open(&self->one, "syscalls/sys_enter_getppid", -1, 0));
	snprintf(filter, sizeof(filter), "common_pid == %d", self->tid);
	ASSERT_EQ(0, ioctl(self->one.fd, PERF_EVENT_IOC_SET_FILTER, filter));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(0, end(self));
	EXPECT_EQ(1, samples_with_stack(&self->one));
}

/* --- clone --- */

/* Its child has the same stack, which is of code without a table. */
static void clone_process(void)
{
	long pid;

	child_ready();
	pid = known_syscall(__NR_clone, SIGCHLD, 0, 0);
	_exit(pid && waitpid(pid, NULL, 0) != pid);
}

/* Its child has a stack of its own, and returns to what ends the process. */
static void clone_thread(void)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	static unsigned long stack[64];

	/* A saved frame pointer, and a return address. */
	stack[63] = (unsigned long)thread_end;
	child_ready();
	if (known_syscall(__NR_clone, flags, &stack[62], 0) < 0)
		_exit(1);
	/* The thread ends the process. */
	pause();
	_exit(1);
}

static bool start_on_one_cpu(FIXTURE_DATA(moment) *self, const char *event, void (*run)(void))
{
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus) &&
	       !event_open(&self->one, event, 0, cpu) && start(self, run) && child_go();
}

/* Count the parent's stacks, and its child's stacks of so many frames. */
static void stacks_in_clone(FIXTURE_DATA(moment) *self, unsigned int frames, int *parents,
			    int *children)
{
	struct record all[MAX_RECORDS];
	int n = records(&self->one, all, MAX_RECORDS);

	*parents = *children = 0;
	for (int i = 0; i < n; i++) {
		/* fork() has started the parent. */
		if (all[i].type != PERF_RECORD_CALLCHAIN_DEFERRED ||
		    all[i].ip != (unsigned long)known_ip)
			continue;
		if (all[i].tid == self->tid)
			*parents += all[i].right;
		else
			*children += all[i].frames == frames;
	}
}

TEST_F(moment, child_in_clone)
{
	int parents, children;

	ASSERT_TRUE(start_on_one_cpu(self, "syscalls/sys_exit_clone", clone_process));
	EXPECT_EQ(0, end(self));
	stacks_in_clone(self, 3, &parents, &children);
	EXPECT_EQ(1, parents);
	EXPECT_EQ(CHILD_LEAVES_CLONE, children);
}

TEST_F(moment, thread_in_clone)
{
	int parents, children;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_TRUE(start_on_one_cpu(self, "syscalls/sys_exit_clone", clone_thread));
	EXPECT_EQ(0, end(self));
	stacks_in_clone(self, 1, &parents, &children);
	EXPECT_EQ(1, parents);
	EXPECT_EQ(CHILD_LEAVES_CLONE, children);
}

/* --- exit --- */

static void exit_group_ready(void)
{
	child_ready();
	known_syscall(__NR_exit_group, 0);
}

static void exit_thread_ready(void)
{
	child_ready();
	known_syscall(__NR_exit, 0);
}

static void exit_thread(void)
{
	child_in_thread(exit_thread_ready);
	_exit(0);
}

static void kill_ready(void)
{
	child_ready();
	known_syscall(__NR_kill, getpid(), SIGKILL);
}

static void pause_ready(void)
{
	if (child_tell())
		known_syscall(__NR_nanosleep, &(struct timespec){ 3600 }, NULL);
}

/* The first thread waits to be let go, and ends them all. */
static void exit_group_beside_a_thread(void)
{
	pthread_t id;

	if (child_thread(&id, pause_ready) && child_wait())
		_exit(0);
}

/* The second page is in the page cache, but not mapped yet. */
static void leave(long number, long a, long b)
{
	const unsigned long frame[] = { 0, (unsigned long)known_ip };
	int fd = memfd_create("frame", 0);
	char *area;

	if (fd < 0 || pwrite(fd, frame, sizeof(frame), PAGE) != sizeof(frame))
		_exit(1);
	area = mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, fd, 0);
	if (area == MAP_FAILED)
		_exit(1);
	leave_by(number, a, b, area);
}

static void leave_by_exit(void)
{
	leave(__NR_exit_group, 0, 0);
}

static void leave_by_exec(void)
{
	static const char * const argv[] = { "moment_test", EXECUTED, NULL };

	leave(__NR_execve, (long)"/proc/self/exe", (long)argv);
}

/* --- Events around exec and exit --- */

FIXTURE(sampled) {
	FIXTURE_DATA(moment) moment;
};

FIXTURE_VARIANT(sampled) {
	void (*run)(void);
	/* The events, and how many of their samples have what. */
	struct {
		const char *name;
		int (*count)(struct sampler *sampler);
		int samples;
	} events[3];
	/* Its own, as wait() says it; what it waits in before it goes on; a thread is sampled. */
	int status, waits_in;
	bool in_a_thread;
};

#define EXECVE		"syscalls/sys_enter_execve"
#define GETPPID		"syscalls/sys_enter_getppid"
#define PROCESS_EXIT	"sched/sched_process_exit"
#define DELIVER		"signal/signal_deliver"

FIXTURE_VARIANT_ADD(sampled, exec)
	{ execute_self, { { EXECVE, samples_with_stack, 2 },
	    { "sched/sched_process_exec", samples_without_stack, 1 },
	    { GETPPID, samples_with_stack, 1 } } };
/* The only sample is one for which no stack is right any more. */
FIXTURE_VARIANT_ADD(sampled, after_exec)
	{ execute_self, { { "sched/sched_process_exec", samples_without_stack, 1 } } };
/* The thread that executes becomes the leader, with another id than its samples had. */
FIXTURE_VARIANT_ADD(sampled, exec_in_a_thread)
	{ execute_self_in_thread, { { EXECVE, samples_with_stack, 2 },
	    { GETPPID, samples_with_stack, 1 } }, .in_a_thread = true };
/* Its credentials are prepared by then, and the stack was taken; it is still there. */
FIXTURE_VARIANT_ADD(sampled, exec_fails)
	{ execute_nothing, { { EXECVE, samples_with_stack, 1 },
	    { "syscalls/sys_exit_execve", samples_with_stack, 1 } } };
FIXTURE_VARIANT_ADD(sampled, exec_fails_late)
	{ execute_no_program, { { EXECVE, samples_with_stack, 1 },
	    { DELIVER, samples_without_stack, 1 } }, SIGSEGV };
/* The page is there: a system call that returns waits for it. */
FIXTURE_VARIANT_ADD(sampled, exec_waits_for_memory)
	{ leave_by_exec, { { EXECVE, frames_of_stack, 2 } } };
/* Others wait for a mutex that it holds by then. */
FIXTURE_VARIANT_ADD(sampled, late_exec_does_not_wait)
	{ leave_by_exec, { { "sched/sched_prepare_exec", frames_of_stack, 1 } } };
FIXTURE_VARIANT_ADD(sampled, exit)
	{ exit_group_ready, { { "syscalls/sys_enter_exit_group", samples_with_stack, 1 } } };
/* Late in exit, with no sample before it. */
FIXTURE_VARIANT_ADD(sampled, late_in_exit)
	{ exit_group_ready, { { PROCESS_EXIT, samples_with_stack, 1 } } };
FIXTURE_VARIANT_ADD(sampled, exit_of_a_thread)
	{ exit_thread, { { "syscalls/sys_enter_exit", samples_with_stack, 1 },
	    { PROCESS_EXIT, samples_with_stack, 1 } }, .in_a_thread = true };
FIXTURE_VARIANT_ADD(sampled, exit_of_a_killed_task)
	{ kill_ready, { { DELIVER, samples_with_stack, 1 } }, SIGKILL };
/* The signal is there when the stack is walked. */
FIXTURE_VARIANT_ADD(sampled, self_kill)
	{ kill_ready, { { "syscalls/sys_enter_kill", samples_with_stack, 1 } }, SIGKILL };
FIXTURE_VARIANT_ADD(sampled, exit_by_another_thread)
	{ exit_group_beside_a_thread, { { DELIVER, samples_with_restart, 1 },
	    { PROCESS_EXIT, samples_with_restart, 1 } },
	    .waits_in = __NR_nanosleep, .in_a_thread = true };
/* It could not be killed, if the memory never came. */
FIXTURE_VARIANT_ADD(sampled, exit_does_not_wait)
	{ leave_by_exit, { { PROCESS_EXIT, frames_of_stack, 1 } } };

FIXTURE_SETUP(sampled)
{
	moment_setup(_metadata, &self->moment, NULL);
}

FIXTURE_TEARDOWN(sampled)
{
}

TEST_F(sampled, stacks)
{
	FIXTURE_DATA(moment) *moment = &self->moment;
	struct sampler *samplers[] = { &moment->one, &moment->two, &moment->three };
	const int core_dumped = 0x80;

	ASSERT_TRUE(start(moment, variant->run));
	ASSERT_EQ(variant->in_a_thread, moment->tid != moment->pid);
	for (int i = 0; i < 3 && variant->events[i].name; i++)
		ASSERT_EQ(0, event_open(samplers[i], variant->events[i].name, moment->tid, -1));
	if (variant->waits_in)
		EXPECT_TRUE(waits_in(moment->pid, moment->tid, variant->waits_in));
	ASSERT_TRUE(child_go());
	EXPECT_EQ(variant->status, end(moment) & ~core_dumped);
	for (int i = 0; i < 3 && variant->events[i].name; i++) {
		EXPECT_EQ(variant->events[i].samples, variant->events[i].count(samplers[i]))
			TH_LOG("%s", variant->events[i].name);
	}
}

/* An event that the child has inherited. */
TEST_F(moment, exit_of_a_child)
{
	ASSERT_TRUE(start_on_one_cpu(self, "syscalls/sys_enter_exit_group", exit_group_ready));
	EXPECT_EQ(0, end(self));
	EXPECT_EQ(1, samples_with_stack(&self->one));
}

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
	char *area = mmap(NULL, 2 * PAGE, RW, ANON, -1, 0);

	if (area == MAP_FAILED)
		_exit(1);
	*area = 1;
	never->range = (struct uffdio_range){ (unsigned long)area + PAGE, PAGE };
	never->uffd = uffd_open(0);
	if (never->uffd >= 0 && uffd_missing(never->uffd, area + PAGE, PAGE))
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
	never = mmap(NULL, sizeof(*never), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (never == MAP_FAILED || !start(self, leave_it))
		return false;
	if (never->uffd < 0) {
		kill(self->pid, SIGKILL);
		end(self);
	}
	return true;
}

FIXTURE(traced) {
	FIXTURE_DATA(moment) moment;
};

FIXTURE_VARIANT(traced) {
	void (*run)(void);
	const char *event;
	int status;
	bool in_a_thread;
};

FIXTURE_VARIANT_ADD(traced, exit) { leave_for_ever_by_exit, "syscalls/sys_enter_exit_group" };
FIXTURE_VARIANT_ADD(traced, killed_exit) { leave_for_ever_by_kill, DELIVER, SIGKILL };
/* The rest of its process may end without a signal to it. */
FIXTURE_VARIANT_ADD(traced, exit_of_a_thread)
	{ leave_for_ever_by_exit_of_a_thread, "syscalls/sys_enter_exit", .in_a_thread = true };

FIXTURE_SETUP(traced)
{
	moment_setup(_metadata, &self->moment, NULL);
}

FIXTURE_TEARDOWN(traced)
{
}

TEST_F_TIMEOUT(traced, does_not_wait, 4 * PATIENCE)
{
	FIXTURE_DATA(moment) *moment = &self->moment;
	bool stopped;

	ASSERT_TRUE(start_for_ever(moment, variant->run));
	if (never->uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, event_open(&moment->one, variant->event, moment->tid, -1));
	EXPECT_EQ(variant->status, end_traced(moment, &stopped));
	EXPECT_TRUE(stopped);
	EXPECT_EQ(1, frames_of_stack(&moment->one));
	if (variant->in_a_thread)
		EXPECT_EQ(0, end(moment));
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
	probed_exit(area, area + PAGE);
}

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

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], EXECUTED))
		return executed();
	if (argc > 1 && !strcmp(argv[1], OFTEN))
		execute_often();
	if (argc > 1 && !strcmp(argv[1], WITH_TABLE))
		return executed_with_table();
	return test_harness_run(argc, argv);
}
