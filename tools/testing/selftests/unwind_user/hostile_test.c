// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that mean no good: tables and stacks that keep the walker busy, lead it
 * in circles, change under it, or never arrive. RACE_SECONDS says how long those
 * tests take that have no end of their own.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "object.h"
#include "tables.h"
#include "synth.h"
#include "hostile.h"
#include "changing.h"

/* What perf shows of a stack at most is not more than this. */
#define MOST_FRAMES	510
/* For so many texts of a stack a table is looked for, and so many reads may wait. */
#define DISCOVERIES	8
#define WAITS		16
/* How long others may be kept waiting, on a slow machine. */
#define PATIENCE	60

FIXTURE(hostile) {
	struct synth synth;
	/* The kernel's log, from now on. */
	int log;
};

FIXTURE_SETUP(hostile)
{
	int error;

	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (self->log >= 0)
		lseek(self->log, 0, SEEK_END);
	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = -synth_make(&self->synth);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	ASSERT_LE(0, self->log);
}

/* Nothing that is done here is worth a warning. */
FIXTURE_TEARDOWN(hostile)
{
	static const char * const bad[] = { "BUG", "WARNING", "Oops", "rcu:", "blocked for" };
	char line[8192];
	ssize_t len;

	while (self->log >= 0 && ((len = read(self->log, line, sizeof(line) - 1)) > 0 ||
				  (len < 0 && errno == EPIPE))) {
		line[len < 0 ? 0 : len] = '\0';
		for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
			EXPECT_EQ(NULL, strstr(line, bad[i])) TH_LOG("%s", line);
	}
	if (self->log >= 0)
		close(self->log);
}

/* --- Much work --- */

/* The walk ends when it has read more than programs have, not when it is through. */
TEST_F(hostile, the_longest_functions)
{
	EXPECT_EQ(NULL, hostile_rows(&self->synth) ?: synth_sample(&self->synth));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_EQ(hostile_rows_return(&self->synth, 1), self->synth.chain.ips[1]);
	EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, self->synth.chain.end);

	/* It is not spent for good: the next one has as much. */
	hostile_frames(&self->synth);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

TEST_F(hostile, the_longest_rows)
{
	hostile_long_rows(&self->synth);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, self->synth.chain.end);
}

TEST_F(hostile, as_many_frames_as_there_can_be)
{
	hostile_frames(&self->synth);
	/* Also as far as the kernel remembers them. */
	for (int again = 0; again < 3; again++) {
		EXPECT_EQ(NULL, again ? synth_sample_again(&self->synth) :
				synth_sample(&self->synth));
		EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
		for (unsigned int i = 1; i < self->synth.chain.nr; i++)
			EXPECT_EQ(hostile_frame(&self->synth, i - 1), self->synth.chain.ips[i]);
	}
}

/*
 * A stack that leads through the texts of many objects, up to where it is known to end.
 * Each of them takes one word.
 */
static struct object objects[20];

static int make_objects(struct synth *synth)
{
	unsigned long *words = (unsigned long *)synth->frame.regs.sp;
	int error = 0;

	synth_rule(synth, BY_SP(8));
	synth_rule(synth, OUTERMOST);
	for (unsigned int i = 0; i < ARRAY_SIZE(objects); i++) {
		objects[i] = object_good();
		/* Its headers are in memory, and no read waits for them. */
		error = object_make(&objects[i]) ?:
			madvise(objects[i].base, PAGE, MADV_POPULATE_READ);
		if (error)
			break;
		*words++ = (unsigned long)object_text(&objects[i]) + RETURN_OFFSET;
	}
	*words = synth_return(synth, 1);
	return error;
}

/* A walk looks for the tables of a few texts only. The next one finds more. */
TEST_F(hostile, many_texts_without_a_table_yet)
{
	const struct chain *chain = &self->synth.chain;

	ASSERT_EQ(0, make_objects(&self->synth));
	for (unsigned int known = DISCOVERIES; known < ARRAY_SIZE(objects); known += DISCOVERIES) {
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		/* The text that is not looked at is the last frame. */
		EXPECT_EQ(1 + known + 1, chain->nr);
		EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, chain->end);
	}
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(1 + ARRAY_SIZE(objects) + 1, chain->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, chain->end);
	EXPECT_EQ(RETURN(1), chain->ips[chain->nr - 1]);
}

/* A few reads may wait for a page that is not there. The next walk finds it. */
TEST_F(hostile, many_tables_that_are_not_in_memory)
{
	const struct chain *chain = &self->synth.chain;

	ASSERT_EQ(0, make_objects(&self->synth));
	for (unsigned int i = 0; i < ARRAY_SIZE(objects); i += DISCOVERIES)
		EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, chain->end);

	/* Without a table, the frame pointer is tried, and leads nowhere. */
	REGS.bp = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(objects); i++)
		ASSERT_EQ(0, madvise(objects[i].base + OBJECT_TABLE * PAGE, PAGE, MADV_DONTNEED));
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	/* One more page may be missing for a reason of its own. */
	EXPECT_LE(1 + WAITS, chain->nr);
	EXPECT_GE(1 + WAITS + 1, chain->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_FAULT, chain->end);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(1 + ARRAY_SIZE(objects) + 1, chain->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, chain->end);
}

/* --- Circles --- */

TEST_F(hostile, frame_pointers_in_circles)
{
	/* To itself, and to each other. */
	REGS.bp = AT(0x100);
	WORD(0x100) = AT(0x100);
	WORD(0x108) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	WORD(0x100) = AT(0x200);
	WORD(0x200) = AT(0x100);
	WORD(0x208) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	/* By tables. */
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

/* A signal's frame may be anywhere, so its own frame may be its caller. */
TEST_F(hostile, signal_frames_in_circles)
{
	unsigned long restorer = hostile_signals(&self->synth);

	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	for (unsigned int i = 1; i < self->synth.chain.nr; i++)
		EXPECT_EQ(restorer, self->synth.chain.ips[i]);
}

/* The same with a handler that has a frame, and a restorer known by its mark. */
TEST_F(hostile, handlers_in_circles)
{
	unsigned long restorer = synth_function(&self->synth, 2) + 1;

	hostile_marked(&self->synth, 2);
	for (int marked = 1; marked >= 0; marked--) {
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
		for (unsigned int i = 1; i < self->synth.chain.nr; i++)
			EXPECT_EQ(i % 2 ? RETURN(1) : restorer, self->synth.chain.ips[i]);
		/* By its code, and no mark. */
		NO_RULES();
		RULE(BY_SP(8));
		RULE(BY_SP(0x100));
		memcpy((void *)restorer, restorer_code, sizeof(restorer_code));
	}
}

/* --- Tables that change --- */

TEST_F_TIMEOUT(hostile, a_table_that_changes, 600)
{
	struct table_header *header = (struct table_header *)self->synth.table;
	struct changing changing = {
		.synth = &self->synth, .frames = MOST_FRAMES, .header_len = sizeof(*header),
	};

	/* All that is used of it. */
	hostile_frames(&self->synth);
	changing.len = sizeof(*header) + SYNTH_ROWS + header->rows_len;
	EXPECT_EQ(NULL, changing_sample(&changing));
	EXPECT_LT(0, changing.whole);
	EXPECT_LT(changing.whole, changing.samples);
	EXPECT_LT(0, changing.writes);
	/* Nothing of that is left. */
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

/* --- Memory that never arrives --- */

struct late {
	struct synth *synth;
	/* The page that is waited for. */
	void *page;
	char bytes[PAGE];
	int uffd;
	bool done;
	const char *error;
};

/* What children exit with. */
#define NO_USERFAULTFD	4

/* Be sampled, and wait. */
static void *walk_into(void *data)
{
	struct late *late = data;

	if (sampler_open(&late->synth->sampler))
		late->error = "cannot sample";
	else
		late->error = synth_sample(late->synth);
	__atomic_store_n(&late->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Let a page be missing, and a thread walk into it; returns what is wrong, or NULL. */
static const char *start_waiting(struct late *late, pthread_t *thread)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = {
		.range = { (unsigned long)late->page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct pollfd event = { .events = POLLIN };
	struct uffd_msg message;

	late->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (late->uffd < 0)
		_exit(NO_USERFAULTFD);
	memcpy(late->bytes, late->page, PAGE);
	if (ioctl(late->uffd, UFFDIO_API, &api) || madvise(late->page, PAGE, MADV_DONTNEED) ||
	    ioctl(late->uffd, UFFDIO_REGISTER, &missing))
		return "userfaultfd";
	if (pthread_create(thread, NULL, walk_into, late))
		return "no thread";
	event.fd = late->uffd;
	if (poll(&event, 1, PATIENCE * 1000) != 1 ||
	    read(late->uffd, &message, sizeof(message)) != sizeof(message) ||
	    message.event != UFFD_EVENT_PAGEFAULT ||
	    (message.arg.pagefault.address & -PAGE) != (unsigned long)late->page)
		return "the page is not asked for";
	/* It might go on. */
	usleep(100000);
	return __atomic_load_n(&late->done, __ATOMIC_ACQUIRE) ? "nobody waits" : NULL;
}

/* While a thread waits, whoever has the same memory goes on. */
static const char *others_go_on(void)
{
	static struct sampler sampler;
	struct layout layout;

	if (sampler_open(&sampler) || layout_make(&layout) || do_register(&layout.good) ||
	    call_leaf(&sampler, layout.text) != LEAF_FOUND || do_unregister(&layout.good) ||
	    do_register(&layout.good) || munmap(layout.area, LAYOUT_PAGES * PAGE) ||
	    registered(&layout.good))
		return "others do not go on";
	sampler_close(&sampler);
	return NULL;
}

/* A child that waits for a page, says so, and goes on waiting until it is killed. */
static void wait_for_ever(struct late *late, int ready)
{
	pthread_t thread;
	const char *error = start_waiting(late, &thread) ?: others_go_on();

	if (error) {
		ksft_print_msg("%s\n", error);
		_exit(1);
	}
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A child that gets the page after all. */
static void wait_a_while(struct late *late)
{
	struct uffdio_copy copy = {
		.dst = (unsigned long)late->page,
		.src = (unsigned long)late->bytes,
		.len = PAGE,
	};
	pthread_t thread;
	const char *error = start_waiting(late, &thread);

	if (!error && ioctl(late->uffd, UFFDIO_COPY, &copy))
		error = "cannot copy";
	if (!error && pthread_join(thread, NULL))
		error = "cannot join";
	if (!error)
		error = late->error;
	if (!error && late->synth->chain.nr != MOST_FRAMES)
		error = "stack is not complete";
	if (error)
		ksft_print_msg("%s\n", error);
	_exit(!!error);
}

static bool can_be_sampled(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = syscall(__NR_perf_event_open, &attr, pid, -1, -1, 0);

	return fd >= 0 && !close(fd);
}

/* Whether a child is gone soon; its status. */
static bool is_gone(pid_t pid, int *status)
{
	for (int tenths = 0; tenths < PATIENCE * 10; tenths++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(100000);
	}
	return false;
}

TEST_F_TIMEOUT(hostile, a_page_that_never_arrives, 4 * PATIENCE)
{
	static struct late late;

	hostile_frames(&self->synth);
	late.synth = &self->synth;
	for (int table = 0; table < 2; table++) {
		int ready[2], status;
		char byte;
		pid_t pid;

		late.page = table ? self->synth.table : self->synth.stack;
		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ready[0]);
			wait_for_ever(&late, ready[1]);
		}
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1) {
			ASSERT_TRUE(is_gone(pid, &status));
			if (WIFEXITED(status) && WEXITSTATUS(status) == NO_USERFAULTFD)
				SKIP(return, "no userfaultfd; see config");
			ASSERT_FALSE(true);
		}
		/* Other processes are as they were. */
		EXPECT_TRUE(can_be_sampled(pid));
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));

		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_TRUE(is_gone(pid, &status));
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		close(ready[0]);
	}
}

TEST_F_TIMEOUT(hostile, a_page_that_arrives_late, 4 * PATIENCE)
{
	static struct late late;

	hostile_frames(&self->synth);
	late.synth = &self->synth;
	for (int table = 0; table < 2; table++) {
		int status;
		pid_t pid;

		late.page = table ? self->synth.table : self->synth.stack;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			wait_a_while(&late);
		ASSERT_TRUE(is_gone(pid, &status));
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_USERFAULTFD)
			SKIP(return, "no userfaultfd; see config");
		EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
	}
}

TEST_HARNESS_MAIN
