// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that mean no good: tables and stacks that keep the walker busy, lead it
 * in circles, change under it, or never arrive. RACE_SECONDS says how long those
 * tests take that have no end of their own.
 */
#include "harness.h"

#include <linux/falloc.h>

#include "object.h"
#include "synth_fixture.h"
#include "hostile.h"
#include "uffd.h"

/* For so many texts of a stack a table is looked for, and so many reads may wait. */
#define DISCOVERIES	8
#define WAITS		16
/* So many texts without a table are remembered. */
#define MOST_ABSENT	4096
/* How long others may be kept waiting, on a slow machine. */
#define PATIENCE	60

/* --- Much work --- */

/* The walk ends when it has read more than programs have, not when it is through. */
TEST_F(synth, the_longest_functions)
{
	EXPECT_EQ(NULL, hostile_rows(&self->synth) ?: synth_sample(&self->synth));
	/* The first frame takes most of what there is. */
	EXPECT_EQ(3, self->synth.chain.nr);
	EXPECT_EQ(hostile_rows_return(&self->synth, 1), self->synth.chain.ips[1]);
	EXPECT_EQ(hostile_rows_return(&self->synth, 2), self->synth.chain.ips[2]);
	EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, self->synth.chain.end);

	/* It is not spent for good: the next one has as much. */
	hostile_frames(&self->synth);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

TEST_F(synth, the_longest_rows)
{
	hostile_long_rows(&self->synth);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, self->synth.chain.end);
}

TEST_F(synth, as_many_frames_as_there_can_be)
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
		set_callers(&objects[i].table);
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
TEST_F(synth, many_texts_without_a_table_yet)
{
	const struct chain *chain = &self->synth.chain;

	ASSERT_EQ(0, make_objects(&self->synth));
	/* Without a table, the frame pointer is tried, and leads nowhere. */
	REGS.fp = 1;
	for (unsigned int known = DISCOVERIES; known < ARRAY_SIZE(objects); known += DISCOVERIES) {
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		/* The text that is not looked at is the last frame. */
		EXPECT_EQ(1 + known + 1, chain->nr);
		EXPECT_EQ(PERF_CALLCHAIN_END_FAULT, chain->end);
	}
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(1 + ARRAY_SIZE(objects) + 1, chain->nr);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, chain->end);
	EXPECT_EQ(RETURN(1), chain->ips[chain->nr - 1]);
}

/* A few reads may wait for a page that is not there. The next walk finds it. */
TEST_F(synth, many_tables_that_are_not_in_memory)
{
	const struct chain *chain = &self->synth.chain;

	ASSERT_EQ(0, make_objects(&self->synth));
	for (unsigned int i = 0; i < ARRAY_SIZE(objects); i += DISCOVERIES)
		EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, chain->end);

	/* Without a table, the frame pointer is tried, and leads nowhere. */
	REGS.fp = 1;
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

/*
 * A stack that leads by frame pointers through so many texts, again and again, up to where
 * it is known to end.
 */
#define CALLS	500

static void call_texts(struct synth *synth, unsigned char * const texts[], unsigned int nr)
{
	unsigned long *frame = (unsigned long *)synth->stack;

	synth_no_rules(synth);
	synth_rule(synth, BY_FP(0x10, -0x10));
	synth_rule(synth, OUTERMOST);
	synth->frame.regs.fp = (unsigned long)frame;
	for (unsigned int i = 0; i <= CALLS; i++, frame += 2) {
		frame[0] = (unsigned long)(frame + 2);
		frame[1] = i < CALLS ? (unsigned long)texts[i % nr] + RETURN_OFFSET :
				       synth_return(synth, 1);
	}
}

#define EXPECT_ALL_CALLS() do {						\
	EXPECT_EQ(NULL, synth_sample(&self->synth));				\
	EXPECT_EQ(1 + CALLS + 1, self->synth.chain.nr);				\
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, self->synth.chain.end);		\
	EXPECT_TRUE(self->synth.chain.guessed);					\
} while (0)

static unsigned char *map_text(int fd, unsigned int page)
{
	/* No read of a file waits. */
	const int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : MAP_POPULATE);
	void *at = synth_memory(PAGE);

	if (!at || mmap(at, PAGE, RX, flags, fd, page * PAGE) == MAP_FAILED)
		return NULL;
	return at;
}

static int known_as(const char *reason)
{
	static struct line lines[2 * MOST_ABSENT];
	int n = proc_all_lines(getpid(), lines, ARRAY_SIZE(lines)), count = 0;

	for (int i = 0; i < n; i++)
		count += !strcmp(lines[i].state, reason);
	return count;
}

/*
 * Generated code in thousands of mappings: it has frame pointers, and nobody needs to know
 * more. It costs no discovery, whether the kernel can remember it or not.
 */
TEST_F_TIMEOUT(synth, many_texts_without_a_file, 120)
{
	unsigned char *texts[CALLS];

	for (unsigned int known = 0; known < MOST_ABSENT + CALLS; known += CALLS) {
		for (unsigned int i = 0; i < CALLS; i++) {
			texts[i] = map_text(-1, 0);
			ASSERT_NE(NULL, texts[i]);
		}
		call_texts(&self->synth, texts, CALLS);
		EXPECT_ALL_CALLS();
	}
	/* The program's own text may be one, too. */
	EXPECT_LE(MOST_ABSENT - 2, known_as("absent:no-file"));
	EXPECT_GE(MOST_ABSENT, known_as("absent:no-file"));
	EXPECT_ALL_CALLS();
}

/* The same in a file that is no object: its first page is text or, then, not mapped at all. */
TEST_F_TIMEOUT(synth, many_texts_of_a_file_without_a_header, 120)
{
	for (unsigned int first = 0; first < 2; first++) {
		int fd = syscall(__NR_memfd_create, "code", 0);
		unsigned char *texts[CALLS];

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ftruncate(fd, (1 + CALLS) * PAGE));
		for (unsigned int i = 0; i < CALLS; i++) {
			texts[i] = map_text(fd, first * (i + 1));
			ASSERT_NE(NULL, texts[i]);
		}
		call_texts(&self->synth, texts, CALLS);
		EXPECT_ALL_CALLS();
		EXPECT_EQ(CALLS, known_as(first ? "absent:no-header" : "absent:not-elf"));
		close(fd);
	}
}

static int make_objects_without_a_table(unsigned char *texts[], unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		int error;

		objects[i] = object_good();
		objects[i].ehdr.e_phnum--;
		error = object_make(&objects[i]);
		if (error)
			return error;
		texts[i] = object_text(&objects[i]);
	}
	return 0;
}

/* The objects that a walk does not look at any more are followed by frame pointer. */
TEST_F(synth, many_objects_with_frame_pointers)
{
	unsigned char *texts[ARRAY_SIZE(objects)];

	ASSERT_EQ(0, make_objects_without_a_table(texts, ARRAY_SIZE(objects)));
	call_texts(&self->synth, texts, ARRAY_SIZE(objects));
	for (unsigned int known = DISCOVERIES; known < ARRAY_SIZE(objects); known += DISCOVERIES) {
		EXPECT_ALL_CALLS();
		EXPECT_EQ(known, known_as("absent:no-table"));
	}
	EXPECT_ALL_CALLS();
	EXPECT_EQ(ARRAY_SIZE(objects), known_as("absent:no-table"));
}

/* Two texts of which nothing can be found out now call each other. */
TEST_F(synth, two_objects_that_cannot_be_read)
{
	unsigned char *texts[2];

	ASSERT_EQ(0, make_objects_without_a_table(texts, 2));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, mprotect(objects[i].base, PAGE, PROT_NONE));
	call_texts(&self->synth, texts, 2);
	EXPECT_ALL_CALLS();
	EXPECT_EQ(0, known_as("absent:no-table"));
}

/* What others unmap meanwhile keeps the kernel from remembering it, but from nothing else. */
static void *unmap_always(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
		void *at = mmap(NULL, PAGE, PROT_READ, ANON, -1, 0);

		munmap(at, PAGE);
	}
	return NULL;
}

TEST_F_TIMEOUT(synth, objects_while_others_unmap, 120)
{
	unsigned char *texts[ARRAY_SIZE(objects)];
	pthread_t thread;
	bool stop = false;

	ASSERT_EQ(0, make_objects_without_a_table(texts, ARRAY_SIZE(objects)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, unmap_always, &stop));
	for (int i = 0; i < 20; i++) {
		/* One with many frames, or many. */
		call_texts(&self->synth, texts, i % 2 ? ARRAY_SIZE(objects) : 1);
		EXPECT_ALL_CALLS();
		for (unsigned int nth = 0; nth < ARRAY_SIZE(objects); nth++)
			ASSERT_EQ(0, object_map_again(&objects[nth]));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

/* Memory is unmapped each time that the header of an object is waited for. */
static void *unmap_at_headers(void *arg)
{
	int uffd = *(int *)arg;

	for (int i = 0; i < DISCOVERIES; i++) {
		struct uffdio_range page = { .len = PAGE };
		void *at = mmap(NULL, PAGE, PROT_READ, ANON, -1, 0);
		int nth = 0;

		page.start = uffd_wait(uffd, PATIENCE) & -getpagesize();
		if (!page.start)
			return "a header is not asked for";
		while (nth < DISCOVERIES && page.start != (unsigned long)objects[nth].base)
			nth++;
		if (nth == DISCOVERIES || munmap(at, PAGE) || object_write(&objects[nth]) ||
		    ioctl(uffd, UFFDIO_WAKE, &page))
			return "a header does not come";
	}
	return NULL;
}

/* However often the kernel tries, an object counts once. */
TEST_F_TIMEOUT(synth, each_object_counts_once, 120)
{
	unsigned char *texts[DISCOVERIES];
	int uffd = uffd_open(0);
	pthread_t thread;
	void *error;

	if (uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, make_objects_without_a_table(texts, DISCOVERIES));
	for (int i = 0; i < DISCOVERIES; i++) {
		ASSERT_EQ(0, uffd_missing(uffd, objects[i].base, PAGE));
		ASSERT_EQ(0, fallocate(objects[i].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       0, PAGE));
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, unmap_at_headers, &uffd));
	call_texts(&self->synth, texts, DISCOVERIES);
	EXPECT_ALL_CALLS();
	EXPECT_EQ(DISCOVERIES, known_as("absent:no-table"));
	ASSERT_EQ(0, pthread_join(thread, &error));
	EXPECT_EQ(NULL, error);
	close(uffd);
}

/* --- Circles --- */

TEST_F(synth, frame_pointers_in_circles)
{
	/* To itself, and to each other. */
	REGS.fp = AT(0x100);
	WORDS({ 0x100, AT(0x100) }, { 0x108, RETURN(1) });
	EXPECT_CALLERS(RETURN(1));
	WORDS({ 0x100, AT(0x200) }, { 0x200, AT(0x100) }, { 0x208, RETURN(2) });
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	/* By tables. */
	RULES(BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), BY_FP(0x10, -0x10));
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

/* A signal's frame may be anywhere, so its own frame may be its caller. */
TEST_F(synth, signal_frames_in_circles)
{
	unsigned long restorer = hostile_signals(&self->synth);

	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	for (unsigned int i = 1; i < self->synth.chain.nr; i++)
		EXPECT_EQ(restorer, self->synth.chain.ips[i]);
}

/* The same with a handler that has a frame, and a restorer known by its mark. */
TEST_F(synth, handlers_in_circles)
{
	unsigned long restorer = synth_function(&self->synth, 2) + 1;

	hostile_marked(&self->synth, 2);
	for (int marked = 1; marked >= 0; marked--) {
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
		for (unsigned int i = 1; i < self->synth.chain.nr; i++)
			EXPECT_EQ(i % 2 ? RETURN(1) : restorer, self->synth.chain.ips[i]);
		/* By its code, and no mark. */
		RULES(BY_SP(8), BY_SP(0x100));
		memcpy((void *)restorer, restorer_code, sizeof(restorer_code));
	}
}

/* --- Tables that change --- */

/* Each byte that is used of a table, damaged: the walk ends, and the next one is right. */
TEST_F(synth, a_damaged_table)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	struct table_header *header = (struct table_header *)self->synth.table;
	unsigned int index = sizeof(*header) + 2 * sizeof(struct table_entry), others = 0;

	hostile_frames(&self->synth);
	for (unsigned int at = 0; at < sizeof(*header) + SYNTH_ROWS + header->rows_len; at++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(flips); i++) {
			self->synth.table[at] ^= flips[i];
			EXPECT_EQ(NULL, synth_sample(&self->synth));
			EXPECT_LE(1, self->synth.chain.nr);
			others += self->synth.chain.nr != MOST_FRAMES;
			self->synth.table[at] ^= flips[i];
		}
		/* What is between the index and the rows is not used. */
		if (at == index - 1)
			at = sizeof(*header) + SYNTH_ROWS - 1;
	}
	EXPECT_LT(0, others);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

TEST_F_TIMEOUT(synth, a_table_that_changes, 600)
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

/* A child exits with this where it may not make one. */
#define NO_USERFAULTFD	4

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
	late->uffd = uffd_open(0);
	if (late->uffd < 0)
		_exit(NO_USERFAULTFD);
	memcpy(late->bytes, late->page, PAGE);
	if (madvise(late->page, PAGE, MADV_DONTNEED) ||
	    uffd_missing(late->uffd, late->page, PAGE))
		return "userfaultfd";
	if (pthread_create(thread, NULL, walk_into, late))
		return "no thread";
	if (uffd_wait(late->uffd, PATIENCE) - (unsigned long)late->page >= PAGE)
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

/* A child whose thread waits for a page. Say so; then get the page, or wait to be killed. */
static int wait_for_page(struct late *late, int ready, bool arrives)
{
	pthread_t thread;
	const char *error = start_waiting(late, &thread) ?: others_go_on();

	if (!error && write(ready, "", 1) != 1)
		error = "cannot say so";
	while (!error && !arrives)
		pause();
	if (!error && uffd_bring(late->uffd, late->page, late->bytes, PAGE))
		error = "cannot copy";
	if (!error && pthread_join(thread, NULL))
		error = "cannot join";
	if (!error)
		error = late->error;
	if (!error && late->synth->chain.nr != MOST_FRAMES)
		error = "stack is not complete";
	if (error)
		ksft_print_msg("%s\n", error);
	return !!error;
}

static bool can_be_sampled(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = perf_open(&attr, pid, -1);

	return fd >= 0 && !close(fd);
}

static bool is_gone(pid_t pid, int *status)
{
	for (int tenths = 0; tenths < PATIENCE * 10; tenths++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(100000);
	}
	return false;
}

/* A page of the table, or of the stack, comes late, or never. */
TEST_F_TIMEOUT(synth, a_page_that_is_waited_for, 4 * PATIENCE)
{
	static struct late late;

	hostile_frames(&self->synth);
	late.synth = &self->synth;
	for (int nth = 0; nth < 4; nth++) {
		bool arrives = nth & 1;
		int ready[2], status;
		char byte;
		pid_t pid;

		late.page = nth & 2 ? self->synth.table : self->synth.stack;
		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ready[0]);
			_exit(wait_for_page(&late, ready[1], arrives));
		}
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1) {
			ASSERT_TRUE(is_gone(pid, &status));
			if (WIFEXITED(status) && WEXITSTATUS(status) == NO_USERFAULTFD)
				SKIP(return, NO_UFFD);
			ASSERT_FALSE(true);
		}
		close(ready[0]);
		if (!arrives) {
			/* Other processes are as they were. */
			EXPECT_TRUE(can_be_sampled(pid));
			EXPECT_EQ(NULL, synth_sample(&self->synth));
			EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
			EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
			ASSERT_EQ(0, kill(pid, SIGKILL));
		}
		ASSERT_TRUE(is_gone(pid, &status));
		EXPECT_EQ(arrives ? 0 : SIGKILL, status);
	}
}

/* --- Many searches, and many pages --- */

/* Each search is paid for, also those of a table that is well known by now. */
TEST_F(synth, a_search_for_each_frame)
{
	const struct chain *chain = &self->synth.chain;

	hostile_wide(&self->synth);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(PERF_CALLCHAIN_END_BUDGET, chain->end);
	EXPECT_GE(STACK_BUDGET / WIDE_COST + 2, chain->nr);
	EXPECT_LT(STACK_BUDGET / WIDE_COST * 9 / 10, chain->nr);
}

/* A page for each frame, none of them in memory. */
#define PAGES	(2 * WAITS)

struct absent_pages {
	int uffd;
	char bytes[PAGE];
	/* How many were brought. */
	unsigned int brought;
};

static void *bring_pages(void *data)
{
	struct absent_pages *absent = data;
	unsigned long page;

	while ((page = uffd_wait(absent->uffd, PATIENCE) & -getpagesize()) &&
	       !uffd_bring(absent->uffd, (void *)page, absent->bytes, getpagesize()))
		__atomic_add_fetch(&absent->brought, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* A few reads of the stack may wait, as of tables. The next walk gets further. */
TEST_F(synth, a_stack_that_is_not_in_memory)
{
	static struct absent_pages absent;
	unsigned char *stack = synth_memory((PAGES + 1) * PAGE);
	const struct chain *chain = &self->synth.chain;
	pthread_t thread;

	ASSERT_NE(NULL, stack);
	absent.uffd = uffd_open(0);
	if (absent.uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, uffd_missing(absent.uffd, stack, (PAGES + 1) * PAGE));

	/* Each frame returns to the function that it is of, behind the first one. */
	RULES(BY_SP(PAGE), BY_SP(PAGE));
	for (unsigned int at = 0; at < PAGE; at += sizeof(long))
		*(unsigned long *)&absent.bytes[at] = RETURN(1);
	REGS.sp = (unsigned long)stack + getpagesize() / 2;
	ASSERT_EQ(0, pthread_create(&thread, NULL, bring_pages, &absent));
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_GE(WAITS + 1, absent.brought);
	EXPECT_LT(WAITS / 2, absent.brought);
	EXPECT_EQ(PERF_CALLCHAIN_END_FAULT, chain->end);
	/* All of them are there in the end. */
	for (unsigned int i = 0; i < PAGES / WAITS; i++)
		EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(PERF_CALLCHAIN_END_BAD_FRAME, chain->end);
	EXPECT_EQ(1 + PAGES, chain->nr);
	pthread_cancel(thread);
	EXPECT_EQ(0, pthread_join(thread, NULL));
	close(absent.uffd);
}

TEST_HARNESS_MAIN
