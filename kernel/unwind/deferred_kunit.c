// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred unwinding as its users in the kernel see it: which tasks may request a stack,
 * what becomes of a cancelled work, and what is not waited for.
 *
 * The tests make threads as programs have them, which stay in the kernel.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/hardirq.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/panic.h>
#include <linux/perf_event.h>
#include <linux/processor.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_user.h>
#include <trace/events/kmem.h>

#include <asm/sections.h>

#include "tables/tables.h"

/* When a stack is taken at once. */
enum moment {
	SWITCHED_OFF,
	UNKNOWN_PROGRAM,
	KNOWN_PROGRAM,
	MAPPINGS_CHANGE,
	NMI_IN_ENTRY,
	NMI_IN_USER_CODE,
	CLOSED,
	NR_MOMENTS,
};

/* A thread, what it does, and what comes of it. */
struct requester {
	int (*act)(struct requester *user);
	/* Its instruction pointer. The stack pointer is in no mapping. */
	unsigned long ip;
	struct completion done;
	/* A thread that it has made is done. */
	struct completion worker_done;

	/* What it has requested, and got. */
	struct unwind_work work;
	int ret;
	u64 cookie;
	unsigned long mask;

	/* What its callback has got. */
	unsigned int calls;
	unsigned int nr;
	unsigned long first;
	u64 called_cookie;
	bool may_fault;

	/* Memory that its last walk has allocated. */
	struct task_struct *watched;
	unsigned int allocations;
	unsigned int waits;

	/* What has come of stacks that were taken at once. */
	int at_once[NR_MOMENTS];
};

static void callback(struct unwind_work *work, struct unwind_stacktrace *trace, u64 cookie)
{
	struct requester *user = container_of(work, struct requester, work);

	user->calls++;
	user->nr = trace->nr;
	user->first = trace->nr ? trace->entries[0] : 0;
	user->called_cookie = cookie;
	user->may_fault = !pagefault_disabled();
}

/* Registers as those of a program; it never gets there. */
static int user_thread(void *arg)
{
	struct requester *user = arg;

	start_thread(task_pt_regs(current), user->ip, 0);
	user->act(user);
	/* Whatever is pending uses @user, which is gone soon. */
	unwind_deferred_close();
	complete(&user->done);
	do_exit(0);
}

static void request(struct requester *user)
{
	user->ret = unwind_deferred_request(&user->work, &user->cookie);
	user->mask = atomic_long_read(&current->unwind_info.unwind_mask);
}

static void init_user(struct kunit *test, struct requester *user,
		      int (*act)(struct requester *user))
{
	user->act = act;
	/* The current task gets an address space by this, which the thread shares. */
	user->ip = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_EXEC,
				 MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, user->ip, 0);
	init_completion(&user->done);
	init_completion(&user->worker_done);
	KUNIT_ASSERT_EQ(test, unwind_deferred_init(&user->work, callback), 0);
}

static struct requester *make_user(struct kunit *test, int (*act)(struct requester *user))
{
	struct requester *user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, user);
	init_user(test, user, act);
	return user;
}

static void start(struct kunit *test, struct requester *user)
{
	KUNIT_ASSERT_GT(test, user_mode_thread(user_thread, user, SIGCHLD), 0);
}

static void run(struct kunit *test, struct requester *user)
{
	start(test, user);
	wait_for_completion(&user->done);
}

/* A stack of a frame, which is that of the request. */
static void expect_stack(struct kunit *test, const struct requester *user)
{
	KUNIT_EXPECT_EQ(test, user->ret, 0);
	KUNIT_EXPECT_NE(test, user->cookie, 0);
	KUNIT_EXPECT_EQ(test, user->calls, 1);
	KUNIT_EXPECT_EQ(test, user->nr, 1);
	KUNIT_EXPECT_EQ(test, user->first, user->ip);
	KUNIT_EXPECT_EQ(test, user->called_cookie, user->cookie);
}

static int request_and_flush(struct requester *user)
{
	request(user);
	unwind_deferred_flush();
	return 0;
}

static void user_task(struct kunit *test)
{
	struct requester *user = make_user(test, request_and_flush);

	run(test, user);
	unwind_deferred_cancel(&user->work);
	expect_stack(test, user);
	KUNIT_EXPECT_TRUE(test, user->may_fault);
}

/* --- More than one work --- */

/* Another user of the same thread, and what the requests of both have returned, in turn. */
struct second {
	struct requester user;
	struct requester other;
	int asked[6];
	int taken;
	u64 taken_cookie;
	unsigned int taken_nr;
};

/* Request for both, take the stack without leaving the entry context, and request again. */
static int request_twice(struct requester *user)
{
	struct second *both = container_of(user, struct second, user);
	struct unwind_stacktrace trace = {};

	request(user);
	both->asked[0] = user->ret;
	request(&both->other);
	both->asked[1] = both->other.ret;
	request(user);
	both->asked[2] = user->ret;

	task_work_run();
	request(user);
	both->asked[3] = user->ret;
	request(&both->other);
	both->asked[4] = both->other.ret;
	both->taken = unwind_user_faultable(&trace, &both->taken_cookie);
	both->taken_nr = trace.nr;

	/* The next entry context. */
	unwind_deferred_flush();
	request(&both->other);
	both->asked[5] = both->other.ret;
	unwind_deferred_flush();
	return 0;
}

static struct second *make_both(struct kunit *test, int (*act)(struct requester *user))
{
	struct second *both = kunit_kzalloc(test, sizeof(*both), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, both);
	init_user(test, &both->user, act);
	both->other.ip = both->user.ip;
	KUNIT_ASSERT_EQ(test, unwind_deferred_init(&both->other.work, callback), 0);
	return both;
}

static void run_both(struct kunit *test, struct second *both)
{
	run(test, &both->user);
	unwind_deferred_cancel(&both->user.work);
	unwind_deferred_cancel(&both->other.work);
}

/* Each work is called once for an entry, with the same stack; a request tells if it was. */
static void two_works(struct kunit *test)
{
	static const int expected[] = {
		0, 0, UNWIND_DEFERRED_PENDING, UNWIND_DEFERRED_DONE, UNWIND_DEFERRED_DONE, 0,
	};
	struct second *both = make_both(test, request_twice);

	run_both(test, both);

	KUNIT_EXPECT_MEMEQ(test, both->asked, expected, sizeof(expected));
	KUNIT_EXPECT_EQ(test, both->user.calls, 1);
	KUNIT_EXPECT_EQ(test, both->other.calls, 2);
	KUNIT_EXPECT_EQ(test, both->user.nr, 1);
	KUNIT_EXPECT_EQ(test, both->other.nr, 1);
	KUNIT_EXPECT_EQ(test, both->taken, 0);
	KUNIT_EXPECT_EQ(test, both->taken_nr, 1);
	KUNIT_EXPECT_EQ(test, both->taken_cookie, both->user.cookie);
	KUNIT_EXPECT_EQ(test, both->user.called_cookie, both->user.cookie);
	KUNIT_EXPECT_NE(test, both->other.cookie, both->user.cookie);
	KUNIT_EXPECT_EQ(test, both->other.called_cookie, both->other.cookie);
}

static int request_behind_callback(struct requester *user)
{
	struct second *both = container_of(user, struct second, user);

	request(user);
	task_work_run();
	request(&both->other);
	unwind_deferred_flush();
	return 0;
}

/* A work that is requested after the other's callback gets the same stack, and only that work. */
static void second_work_after_callback(struct kunit *test)
{
	struct second *both = make_both(test, request_behind_callback);

	run_both(test, both);
	expect_stack(test, &both->user);
	expect_stack(test, &both->other);
	KUNIT_EXPECT_EQ(test, both->other.cookie, both->user.cookie);
}

static int request_and_cancel(struct requester *user)
{
	struct second *both = container_of(user, struct second, user);

	request(user);
	request(&both->other);
	unwind_deferred_cancel(&both->other.work);
	unwind_deferred_flush();
	/* run_both() cancels a work that is there. */
	return unwind_deferred_init(&both->other.work, callback);
}

/* A cancelled work is not called, and takes nothing from the other one. */
static void cancelled_while_pending(struct kunit *test)
{
	struct second *both = make_both(test, request_and_cancel);

	run_both(test, both);
	expect_stack(test, &both->user);
	KUNIT_EXPECT_EQ(test, both->other.ret, 0);
	KUNIT_EXPECT_EQ(test, both->other.calls, 0);
}

/* Give the bit of a work to a new one, before and after the callbacks of an entry. */
static int request_on_the_same_bit(struct requester *user)
{
	struct second *both = container_of(user, struct second, user);
	const int bit = both->other.work.bit;

	request(user);
	for (int i = 0; i < 2; i++) {
		request(&both->other);
		both->asked[2 * i] = both->other.ret;
		if (i)
			task_work_run();
		unwind_deferred_cancel(&both->other.work);
		both->asked[2 * i + 1] = unwind_deferred_init(&both->other.work, callback);
		both->taken += both->other.work.bit == bit;
	}
	request(&both->other);
	both->asked[4] = both->other.ret;
	unwind_deferred_flush();
	return 0;
}

/* What a cancelled work has asked for does not keep the next work on its bit from asking. */
static void bit_of_a_cancelled_work(struct kunit *test)
{
	static const int expected[6] = {};
	struct second *both = make_both(test, request_on_the_same_bit);

	run_both(test, both);
	expect_stack(test, &both->user);
	KUNIT_EXPECT_EQ(test, both->taken, 2);
	KUNIT_EXPECT_MEMEQ(test, both->asked, expected, sizeof(expected));
	KUNIT_EXPECT_EQ(test, both->other.calls, 2);
	KUNIT_EXPECT_EQ(test, both->other.called_cookie, both->user.cookie);
}

static int take_in_exec(struct requester *user)
{
	struct unwind_stacktrace trace = {};

	current->in_execve = 1;
	user->ret = unwind_user_faultable(&trace, &user->cookie);
	current->in_execve = 0;
	unwind_deferred_close();
	user->mask = unwind_user_check();
	user->calls = !unwind_user_faultable(&trace, &user->cookie);
	return 0;
}

/* A stack is not taken where the wait for it would hold locks, nor when it is closed. */
static void not_in_exec(struct kunit *test)
{
	struct requester *user = make_user(test, take_in_exec);

	run(test, user);
	unwind_deferred_cancel(&user->work);
	KUNIT_EXPECT_EQ(test, user->ret, -EAGAIN);
	KUNIT_EXPECT_EQ(test, (int)user->mask, -EAGAIN);
	KUNIT_EXPECT_EQ(test, user->calls, 0);
	KUNIT_EXPECT_EQ(test, user->cookie, 0);
}

/* --- Threads that work for io_uring and vhost --- */

static int worker_thread(void *arg)
{
	struct unwind_stacktrace trace = {};
	struct requester *user = arg;
	u64 cookie;

	request(user);
	user->calls += !unwind_user_faultable(&trace, &cookie);
	user->nr = trace.nr;
	unwind_deferred_close();
	complete(&user->worker_done);
	do_exit(0);
}

static int start_worker(struct requester *user)
{
	struct task_struct *worker = create_io_thread(worker_thread, user, NUMA_NO_NODE);

	if (IS_ERR(worker))
		return PTR_ERR(worker);
	wake_up_new_task(worker);
	wait_for_completion(&user->worker_done);
	return 0;
}

static void worker_of_a_task(struct kunit *test)
{
	struct requester *user = make_user(test, start_worker);

	user->ret = 1;
	run(test, user);
	unwind_deferred_cancel(&user->work);
	KUNIT_EXPECT_EQ(test, user->ret, -ESRCH);
	KUNIT_EXPECT_EQ(test, user->cookie, 0);
	KUNIT_EXPECT_EQ(test, user->mask, 0);
	KUNIT_EXPECT_EQ(test, user->nr, 0);
	KUNIT_EXPECT_EQ(test, user->calls, 0);
}

static void thread_of_the_kernel(struct kunit *test)
{
	struct requester *user = make_user(test, NULL);

	request(user);
	unwind_deferred_cancel(&user->work);
	KUNIT_EXPECT_EQ(test, user->ret, -ESRCH);
	KUNIT_EXPECT_EQ(test, user->mask, 0);
}

/* --- Cancelled works --- */

/* An event may come while its work is cancelled: that is not worth a warning. */
static void cancelled_work(struct kunit *test)
{
	struct requester *user = make_user(test, request_and_flush);
	bool warned = test_taint(TAINT_WARN);

	unwind_deferred_cancel(&user->work);
	run(test, user);
	KUNIT_EXPECT_EQ(test, user->ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, user->cookie, 0);
	KUNIT_EXPECT_EQ(test, user->mask, 0);
	KUNIT_EXPECT_EQ(test, user->calls, 0);
	KUNIT_EXPECT_EQ(test, test_taint(TAINT_WARN), warned);
}

/* --- A stack that is taken at once --- */

static void watch(struct requester *user, gfp_t flags)
{
	if (current != READ_ONCE(user->watched))
		return;
	user->allocations++;
	user->waits += gfpflags_allow_blocking(flags);
}

static void watch_kmalloc(void *user, unsigned long call_site, const void *ptr, size_t asked,
			  size_t size, gfp_t flags, int node)
{
	watch(user, flags);
}

static void watch_cache(void *user, unsigned long call_site, const void *ptr,
			struct kmem_cache *cache, gfp_t flags, int node)
{
	watch(user, flags);
}

static int request_and_close(struct requester *user)
{
	request(user);
	WRITE_ONCE(user->watched, current);
	unwind_deferred_close();
	WRITE_ONCE(user->watched, NULL);
	return 0;
}

/* Neither the walk nor the callback waits for user memory, and no allocation for any. */
static void closed_without_waiting(struct kunit *test)
{
	struct requester *user = make_user(test, request_and_close);

	KUNIT_ASSERT_EQ(test, register_trace_kmalloc(watch_kmalloc, user), 0);
	KUNIT_ASSERT_EQ(test, register_trace_kmem_cache_alloc(watch_cache, user), 0);
	run(test, user);
	unregister_trace_kmem_cache_alloc(watch_cache, user);
	unregister_trace_kmalloc(watch_kmalloc, user);
	tracepoint_synchronize_unregister();
	unwind_deferred_cancel(&user->work);

	expect_stack(test, user);
	KUNIT_EXPECT_FALSE(test, user->may_fault);
	KUNIT_EXPECT_GT(test, user->allocations, 0);
	KUNIT_EXPECT_EQ(test, user->waits, 0);
}

/* Nor for a task that holds the mmap lock. */
static void closed_while_mappings_change(struct kunit *test)
{
	struct requester *user = make_user(test, request_and_close);
	unsigned long left;

	mmap_write_lock(current->mm);
	start(test, user);
	left = wait_for_completion_timeout(&user->done, 10 * HZ);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_NE(test, left, 0);
	if (!left)
		wait_for_completion(&user->done);
	unwind_deferred_cancel(&user->work);
	expect_stack(test, user);
}

#ifdef CONFIG_UNWIND_USER_TABLES

/* --- Stacks that are taken at once --- */

static void take_at_event(struct requester *user, enum moment moment, struct pt_regs *event_regs)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct unwind_stacktrace trace = {};
	unsigned long entries[4];

	trace.entries = entries;
	user->at_once[moment] = unwind_user_immediate(&trace, regs, event_regs,
						      ARRAY_SIZE(entries));
	user->nr = trace.nr;
	user->first = trace.nr ? entries[0] : 0;
}

static void take_at_once(struct requester *user, enum moment moment)
{
	take_at_event(user, moment, task_pt_regs(current));
}

static void take_in_nmi(struct requester *user, enum moment moment, struct pt_regs *event_regs)
{
	unsigned long flags;

	local_irq_save(flags);
	__nmi_enter();
	take_at_event(user, moment, event_regs);
	__nmi_exit();
	local_irq_restore(flags);
}

/* Where the user registers may not be stored yet. */
static void take_in_entry(struct requester *user)
{
	struct pt_regs regs = {};

	perf_fetch_caller_regs(&regs);
	instruction_pointer_set(&regs, (unsigned long)__entry_text_start);
	take_in_nmi(user, NMI_IN_ENTRY, &regs);
}

static int take_at_moments(struct requester *user)
{
	const unsigned int level = unwind_tables_level;
	struct mm_struct *mm = current->mm;

	/* A stack, in the only mapping that the thread has made. */
	start_thread(task_pt_regs(current), user->ip, user->ip + PAGE_SIZE / 2);
	WRITE_ONCE(unwind_tables_level, UNWIND_TABLES_DISCOVERED);
	take_at_once(user, SWITCHED_OFF);
	WRITE_ONCE(unwind_tables_level, UNWIND_TABLES_IMMEDIATE);
	take_at_once(user, UNKNOWN_PROGRAM);
	user->mask = atomic_long_read(&current->unwind_info.unwind_mask);
	/* The walk that this has asked for. */
	unwind_deferred_flush();
	mmap_write_lock(mm);
	take_at_once(user, MAPPINGS_CHANGE);
	mmap_write_unlock(mm);
	take_in_entry(user);
	take_in_nmi(user, NMI_IN_USER_CODE, task_pt_regs(current));
	take_at_once(user, KNOWN_PROGRAM);
	unwind_deferred_close();
	user->at_once[CLOSED] = unwind_user_immediate(&(struct unwind_stacktrace){},
						      task_pt_regs(current),
						      task_pt_regs(current), 0);
	WRITE_ONCE(unwind_tables_level, level);
	return 0;
}

/* Where the stack cannot be taken, nothing waits, and perf follows frame pointers. */
static void at_once(struct kunit *test)
{
	struct requester *user = make_user(test, take_at_moments);

	/* Nothing is taken at once there. */
	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		kunit_skip(test, "no CONFIG_PER_VMA_LOCK");
	run(test, user);
	unwind_deferred_cancel(&user->work);
	KUNIT_EXPECT_EQ(test, user->at_once[SWITCHED_OFF], -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, user->at_once[UNKNOWN_PROGRAM], -ENOENT);
	KUNIT_EXPECT_NE(test, user->mask & UNWIND_PENDING, 0);
	KUNIT_EXPECT_EQ(test, user->at_once[MAPPINGS_CHANGE], -EAGAIN);
	KUNIT_EXPECT_EQ(test, user->at_once[NMI_IN_ENTRY], -EAGAIN);
	KUNIT_EXPECT_EQ(test, user->at_once[NMI_IN_USER_CODE], 0);
	KUNIT_EXPECT_EQ(test, user->at_once[KNOWN_PROGRAM], 0);
	KUNIT_EXPECT_EQ(test, user->nr, 1);
	KUNIT_EXPECT_EQ(test, user->first, user->ip);
	KUNIT_EXPECT_EQ(test, user->at_once[CLOSED], -EAGAIN);
}

#endif

static struct kunit_case tests[] = {
	KUNIT_CASE(user_task),
	KUNIT_CASE(two_works),
	KUNIT_CASE(second_work_after_callback),
	KUNIT_CASE(cancelled_while_pending),
	KUNIT_CASE(bit_of_a_cancelled_work),
	KUNIT_CASE(not_in_exec),
	KUNIT_CASE(worker_of_a_task),
	KUNIT_CASE(thread_of_the_kernel),
	KUNIT_CASE(cancelled_work),
	KUNIT_CASE(closed_without_waiting),
	KUNIT_CASE(closed_while_mappings_change),
#ifdef CONFIG_UNWIND_USER_TABLES
	KUNIT_CASE(at_once),
#endif
	{}
};

static struct kunit_suite suite = {
	.name = "unwind_deferred",
	.test_cases = tests,
};

kunit_test_suite(suite);
