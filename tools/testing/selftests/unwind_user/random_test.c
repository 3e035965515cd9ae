// SPDX-License-Identifier: GPL-2.0
/*
 * Operations at random, on tables, text and stacks, by threads of several
 * processes, most of them of an ordinary user.
 *
 * No process may hurt the kernel, so any operation is allowed, and the kernel's log shows what
 * went wrong. The test itself fails if a process ends in a way that it did not
 * choose, if a stack cannot be one, if what is registered cannot be removed, or if
 * some operation never succeeded.
 *
 * It says the seed of its choices, and takes it from RANDOM_SEED. What happens at
 * the same time is another each time, though. RANDOM_SECONDS says how long it takes;
 * without it, there may be no time for some operations. With RANDOM_SYSCTLS, it sets
 * system controls, too.
 */
#include "kselftest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

/* Who has no rights. */
#define NOBODY		65534
/* How long it takes, unless RANDOM_SECONDS says it. */
#define SECONDS		10
/* How long processes may take to end, on a slow machine. */
#define PATIENCE	120

/* --- Processes that come and go --- */

/* Execute this program again, as something else. It returns if it fails. */
static void become(const char *role, unsigned long number)
{
	char seed[24], nth[24];
	char * const argv[] = { "random_test", (char *)role, nth, seed, NULL };

	snprintf(nth, sizeof(nth), "%lu", number);
	snprintf(seed, sizeof(seed), "%llu", any_number());
	hold_signals(true);
	syscall(__NR_execveat, PROGRAM_FD, "", argv, environ, 0x1000 /* AT_EMPTY_PATH */);
	hold_signals(false);
}

/* What a child does, too: there may be no other threads. */
static void (* const brief_acts[])(void) = {
	act_register, act_unregister, act_replace, act_both, act_list, act_few, act_crowd,
	act_mad, act_mmap, act_munmap, act_mremap, act_mprotect, act_madvise, act_table, act_synth,
	act_object, act_proc,
};

static void be_brief(void)
{
	for (unsigned long left = below(50); left > 0 && !stopped(); left--)
		brief_acts[below(ARRAY_SIZE(brief_acts))]();
}

static void wait_for(pid_t pid, bool killed)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			failure("waitpid: %s", strerror(errno));
			return;
		}
	}
	judge("a child", status, killed);
}

static void act_fork(void)
{
	bool killed = one_in(3), execs = one_in(4);
	pid_t pid;

	/* Not the same numbers in both. */
	any_number();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		me->random = seed_of(me->random, 1);
		me->child = true;
		/* Events are the parent's. */
		me->sampled = false;
		be_brief();
		if (execs) {
			become("child", 0);
			_exit(2);
		}
		_exit(0);
	}
	if (pid > 0 && killed) {
		pause_a_while(10000);
		count(KILL, !kill(pid, SIGKILL));
	}
	if (count(FORK, pid > 0))
		wait_for(pid, killed);
}

/* The child has the same memory, and this thread waits. */
static void act_vfork(void)
{
	bool execs = one_in(4);
	pid_t pid;

	pid = vfork();
	if (!pid) {
		act_few();
		act_list();
		if (execs)
			become("child", 0);
		_exit(execs ? 2 : 0);
	}
	if (count(VFORK, pid > 0))
		wait_for(pid, false);
}

static unsigned long world_number;

/* All other threads end. */
static void act_exec(void)
{
	if (me->child || !one_in(30))
		return;
	become("another world", world_number);
	/* Another thread was faster. */
	count(EXEC_THREADS, false);
}

static void *short_life(void *unused)
{
	static __thread struct actor actor;

	me = &actor;
	me->random = (unsigned long)&actor ^ getpid();
	act_list();
	act_few();
	return NULL;
}

static void act_thread(void)
{
	pthread_t thread;

	if (count(THREAD, !pthread_create(&thread, NULL, short_life, NULL)))
		pthread_join(thread, NULL);
}

/* --- A world --- */

static void (* const acts[])(void) = {
	act_register, act_unregister, act_replace, act_both, act_list, act_few, act_few,
	act_few, act_crowd, act_mad, act_mmap, act_munmap, act_mremap, act_mprotect, act_madvise,
	act_table, act_synth, act_synth, act_synth, act_object, act_object, act_signal,
	act_proc, act_proc, act_fork, act_vfork, act_exec, act_thread,
};

#define FAVOURITES	3

/* A life: some operations again and again, and others seldom. */
static void *live(void *argument)
{
	void (*favourites[FAVOURITES])(void);
	unsigned long left;

	me = argument;
	use_signal_stack(true);
	__atomic_store_n(&me->tid, gettid(), __ATOMIC_RELAXED);
	left = below(2000);
	for (int i = 0; i < FAVOURITES; i++)
		favourites[i] = acts[below(ARRAY_SIZE(acts))];
	while (left-- > 0 && !stopped()) {
		if (one_in(8))
			acts[below(ARRAY_SIZE(acts))]();
		else
			favourites[below(FAVOURITES)]();
	}
	__atomic_store_n(&me->tid, 0, __ATOMIC_RELAXED);
	if (me->sampled)
		sampler_close(&me->sampler);
	me->sampled = false;
	use_signal_stack(false);
	return NULL;
}

/* Let a thread start; it may be that there is no memory right now. */
static bool start(struct actor *actor)
{
	int error, tries = 100;

	actor->random = seed_of(any_number(), 1);
	do {
		error = pthread_create(&actor->thread, NULL, live, actor);
		if (error)
			pause_a_while(20000);
	} while (error == EAGAIN && tries-- > 0);
	if (error)
		failure("pthread_create: %s", strerror(error));
	return !error;
}

/* Threads come and go, for a while. Then nothing may be left of what they did. */
static int world(unsigned long number, unsigned long long seed)
{
	static struct actor ruler;
	const char *error;
	long left;

	me = &ruler;
	me->random = seed_of(seed, 2);
	world_number = number;
	catch_signals();
	error = make_arena();
	if (error) {
		failure("%s: %s", error, strerror(errno));
		return 1;
	}
	for (int i = 0; i < ACTORS; i++) {
		if (!start(&actors[i]))
			return 1;
	}
	for (unsigned long left = 2 + below(40); left > 0 && !stopped(); left--) {
		struct actor *actor = &actors[below(ACTORS)];

		pthread_join(actor->thread, NULL);
		if (!start(actor))
			return 1;
	}
	/* Sometimes they are in the middle of something. */
	if (!stopped() && one_in(2))
		return 0;
	for (int i = 0; i < ACTORS; i++)
		pthread_join(actors[i].thread, NULL);
	left = unregister_all();
	if (left)
		failure("%ld tables cannot be unregistered", left);
	return 0;
}

/* --- Who starts worlds, ends them, and judges --- */

static struct {
	pid_t pid;
	bool killed;
} started[WORLDS];

static void start_world(unsigned int nth, bool root)
{
	pid_t pid = fork();

	if (!pid) {
		/* One of them may do all that root may. */
		if (root && nth && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
			_exit(3);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1);
		become("world", nth);
		_exit(4);
	}
	if (pid < 0)
		failure("fork: %s", strerror(errno));
	started[nth].pid = pid;
	started[nth].killed = false;
	__atomic_store_n(&common->worlds[nth], pid, __ATOMIC_RELAXED);
}

/* Whether a world has ended. */
static bool has_ended(unsigned int nth)
{
	int status;

	if (started[nth].pid <= 0)
		return false;
	if (waitpid(started[nth].pid, &status, WNOHANG) != started[nth].pid)
		return false;
	judge("a process", status, started[nth].killed);
	return true;
}

/* Whether tables may be switched off, and their number limited, for all: only on request. */
static bool may_set_sysctls(bool root)
{
	return root && getenv("RANDOM_SYSCTLS");
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* What only root can do. */
static bool is_privileged(enum kind kind)
{
	return kind == SYSCTL;
}

/* What needs tables of .eh_frame. */
static bool is_eh_frame(enum kind kind)
{
	return kind == BOTH || kind == EH_FRAME || kind == EH_DISCOVERY;
}

/* Why something cannot be done, or NULL. */
static const char *excuse(enum kind kind, bool root)
{
	if (!root && is_privileged(kind))
		return "only root can do that";
	if (kind == SYSCTL && !may_set_sysctls(root))
		return "RANDOM_SYSCTLS is not set";
	if (common->no_eh_frame && is_eh_frame(kind))
		return "no CONFIG_UNWIND_USER_EH_FRAME";
	return NULL;
}

static bool something_is_missing(bool root)
{
	for (enum kind kind = 0; kind < NR_KINDS; kind++) {
		if (!common->counts[kind].done && !excuse(kind, root))
			return true;
	}
	return false;
}

/* For how much longer it goes on if something was never done. */
static time_t patience(void)
{
	return getenv("RANDOM_SECONDS") ? PATIENCE : SECONDS;
}

/*
 * What nobody may do to others: end them, and switch tables off. On a slow machine it
 * goes on until everything was done once, if that is not too long.
 */
static void rule(time_t end, bool root)
{
	static const long limits[] = { 0, 1, 2, 5, 100 };
	bool changed = false;

	for (unsigned int i = 0; i < WORLDS; i++)
		start_world(i, root);
	while ((seconds() < end || (something_is_missing(root) && seconds() < end + patience())) &&
	       !common->failed) {
		unsigned int nth = below(WORLDS);

		pause_a_while(100000);
		/* Most of the time all is as it should be. */
		if (changed) {
			sysctl_restore();
			changed = false;
		} else if (may_set_sysctls(root) && one_in(4)) {
			changed = !(one_in(2) ? sysctl_set(SYSCTL_TABLES, 3) :
				    one_in(2) ? sysctl_set(SYSCTL_TABLES, below(3)) :
						sysctl_set(SYSCTL_MAX,
							   limits[below(ARRAY_SIZE(limits))]));
			count(SYSCTL, changed);
		}
		act_proc();
		if (one_in(16) && started[nth].pid > 0) {
			started[nth].killed = true;
			count(KILL, !kill(started[nth].pid, SIGKILL));
		}
		for (nth = 0; nth < WORLDS; nth++) {
			if (has_ended(nth))
				start_world(nth, root);
		}
	}
	sysctl_restore();
	__atomic_store_n(&common->stop, true, __ATOMIC_RELAXED);
}

/* All end by themselves now. */
static void wait_for_worlds(void)
{
	time_t end = seconds() + PATIENCE;

	for (unsigned int i = 0; i < WORLDS; i++) {
		while (started[i].pid > 0 && !has_ended(i)) {
			if (seconds() > end) {
				failure("process %d does not end", started[i].pid);
				kill(started[i].pid, SIGKILL);
				break;
			}
			usleep(10000);
		}
	}
}

static unsigned long long wanted_seed(void)
{
	const char *wish = getenv("RANDOM_SEED");
	unsigned long long seed = 0;

	if (wish)
		return strtoull(wish, NULL, 0);
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = time(NULL);
	return seed;
}

/* A file that is found by its number; returns 0 or an errno. */
static int keep(int fd, int number)
{
	return fd < 0 || dup2(fd, number) < 0 ? errno : 0;
}

/* Whether the kernel takes no such table. */
static bool no_eh_frame(void)
{
	struct layout layout = {};
	bool taken;

	if (layout_make(&layout))
		return true;
	layout.good.format = UNWIND_TABLE_EH_FRAME;
	layout.good.header = layout.good.table_start;
	taken = !do_register(&layout.good);
	munmap(layout.area, LAYOUT_PAGES * PAGE);
	return !taken;
}

static int prepare(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	long id = tracepoint_id("getppid");
	struct sampler sampler;
	int error;

	if (id < 0)
		return -id;
	attr.config = id;
	error = sampler_open_stacks(&sampler, attr);
	if (error)
		return error;
	sampler_close(&sampler);
	error = keep(open("/proc/self/exe", O_RDONLY), PROGRAM_FD) ?:
		keep(syscall(__NR_memfd_create, "common", 0), COMMON_FD);
	if (error || ftruncate(COMMON_FD, sizeof(*common)))
		ksft_exit_fail_msg("cannot share files: %s\n", strerror(errno));
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED, COMMON_FD, 0);
	if (common == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	common->tracepoint = id;
	common->no_eh_frame = no_eh_frame();
	return 0;
}

static void report(bool root)
{
	ksft_test_result(!common->failed, "nothing happened that was not wanted\n");
	if (common->failed)
		ksft_print_msg("%s\n", common->failure);
	for (enum kind kind = 0; kind < NR_KINDS; kind++) {
		const char *why = excuse(kind, root);

		if (!common->counts[kind].done && !getenv("RANDOM_SECONDS"))
			why = "not in so short a time; see RANDOM_SECONDS";
		ksft_print_msg("%s: %lu of %lu\n", kind_names[kind], common->counts[kind].done,
			       common->counts[kind].tried);
		if (why)
			ksft_test_result_skip("%s: %s\n", kind_names[kind], why);
		else
			ksft_test_result(common->counts[kind].done, "%s\n", kind_names[kind]);
	}
}

/* The program that starts all, or what it has executed: ROLE NUMBER SEED. */
int main(int argc, char **argv)
{
	const struct rlimit no_core = {};
	static struct actor ruler;
	bool root = !geteuid();
	int error;

	if (argc == 4) {
		unsigned long long seed = strtoull(argv[3], NULL, 0);

		common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED,
			      COMMON_FD, 0);
		if (common == MAP_FAILED)
			return 5;
		if (strcmp(argv[1], "child")) {
			if (strcmp(argv[1], "world"))
				count(EXEC_THREADS, true);
			return world(strtoul(argv[2], NULL, 0), seed);
		}
		count(EXEC, true);
		me = &ruler;
		me->child = true;
		me->random = seed_of(seed, 3);
		catch_signals();
		use_signal_stack(true);
		if (make_arena())
			return 6;
		be_brief();
		return 0;
	}

	ksft_print_header();
	if (tables_missing())
		ksft_exit_skip(NO_TABLES "\n");
	error = prepare();
	if (stacks_missing(error))
		ksft_exit_skip(NO_STACKS "\n", error);
	if (error)
		ksft_exit_fail_msg("cannot sample: %s\n", strerror(error));
	ksft_set_plan(1 + NR_KINDS);
	me = &ruler;
	me->random = wanted_seed();
	ksft_print_msg("RANDOM_SEED=%llu\n", me->random);
	me->random = seed_of(me->random, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	rule(seconds() + wanted("RANDOM_SECONDS", SECONDS), root);
	wait_for_worlds();
	report(root);
	ksft_finished();
}
