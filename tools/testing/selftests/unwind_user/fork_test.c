// SPDX-License-Identifier: GPL-2.0
/*
 * Who shares registrations with whom: children have their own, which start as a
 * copy, if only once either changes something; threads and children that share
 * memory have the same.
 */
#include "kselftest_harness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables.h"

FIXTURE(family) {
	struct layout layout, other;
	struct unwind_table good, second;
};

FIXTURE_SETUP(family)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	ASSERT_EQ(0, do_register(&self->layout.good));
	self->good = self->layout.good;
	self->second = self->other.good;
}

FIXTURE_TEARDOWN(family)
{
}

TEST_F(family, fork)
{
	pid_t pid = fork();

	if (!pid) {
		EXPECT_TRUE(registered(&self->good));
		EXPECT_EQ(TABLE_BY_PRCTL, tables_find(&self->good).origin);
		EXPECT_EQ(0, do_unregister(&self->good));
		EXPECT_EQ(0, do_register(&self->second));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	/* What the child did is not the parent's. */
	EXPECT_TRUE(registered(&self->good));
	EXPECT_FALSE(registered(&self->second));
}

TEST_F(family, later_changes_by_parent)
{
	int go[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		char byte;

		close(go[1]);
		EXPECT_EQ(0, read(go[0], &byte, 1));
		EXPECT_TRUE(registered(&self->good));
		EXPECT_FALSE(registered(&self->second));
		_exit(0);
	}
	close(go[0]);
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_EQ(0, do_register(&self->second));
	close(go[1]);
	EXPECT_TRUE(ended_well(pid));
}

TEST_F(family, fork_of_a_fork)
{
	pid_t child = fork();

	if (!child) {
		pid_t grandchild;

		EXPECT_EQ(0, do_register(&self->second));
		grandchild = fork();
		if (!grandchild) {
			EXPECT_TRUE(registered(&self->good));
			EXPECT_TRUE(registered(&self->second));
			EXPECT_EQ(0, do_unregister(&self->good));
			_exit(0);
		}
		EXPECT_TRUE(ended_well(grandchild));
		EXPECT_TRUE(registered(&self->good));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(child));
	EXPECT_TRUE(registered(&self->good));
	EXPECT_FALSE(registered(&self->second));
}

/*
 * Each process of a line makes the next one and is gone before that goes on.
 * Every third adds a range, and so has what its parent, which is dead, had.
 */
TEST_F_TIMEOUT(family, generations, 120)
{
	int result[2], length = 90;
	long others = tables_count();
	char byte = 1;
	pid_t pid;

	ASSERT_EQ(0, pipe(result));
	pid = fork();
	if (!pid) {
		for (int nth = 0; nth < length; nth++) {
			struct unwind_table table = ranges(self->other.text + 16 * nth, 8,
							   self->other.table, PAGE);
			int alive[2];
			pid_t next;

			if (pipe(alive))
				_exit(1);
			next = fork();
			if (next)
				_exit(next < 0);
			close(alive[1]);
			/* Until the parent has no files any more, and no memory before. */
			if (read(alive[0], &byte, 1))
				_exit(1);
			close(alive[0]);
			if (nth % 3 == 0 && do_register(&table))
				_exit(1);
			if (tables_count() != others + 1 + nth / 3 || !registered(&self->good))
				_exit(1);
		}
		byte = 0;
		_exit(write(result[1], &byte, 1) != 1);
	}
	close(result[1]);
	EXPECT_TRUE(ended_well(pid));
	/* Nothing is read if one of them has failed. */
	EXPECT_EQ(1, read(result[0], &byte, 1));
	EXPECT_EQ(others, tables_count());
}

/* Children that are all there at once, of which each has another set. */
TEST_F(family, siblings)
{
	enum { SIBLINGS = 16 };
	long others = tables_count();
	int go[2], done[2];
	pid_t pids[SIBLINGS];
	char byte = 0;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	for (int nth = 0; nth < SIBLINGS; nth++) {
		pids[nth] = fork();
		if (!pids[nth]) {
			close(go[1]);
			for (int i = 0; i <= nth; i++) {
				struct unwind_table table = ranges(self->other.text + 16 * i, 8,
								   self->other.table, PAGE);

				if (do_register(&table))
					_exit(1);
			}
			if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1))
				_exit(2);
			_exit(tables_count() != others + nth + 1);
		}
	}
	for (int nth = 0; nth < SIBLINGS; nth++)
		EXPECT_EQ(1, read(done[0], &byte, 1));
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_EQ(others - 1, tables_count());
	close(go[1]);
	for (int nth = 0; nth < SIBLINGS; nth++)
		EXPECT_TRUE(ended_well(pids[nth]));
	EXPECT_EQ(others - 1, tables_count());
}

TEST_F(family, children_of_many_ranges)
{
	/* Many nodes of a tree, which are copied, and each child changes its copy. */
	long others = tables_count(), count;

	for (int i = 0; i < 1000; i++) {
		struct unwind_table table = ranges(self->other.text + 16 * i, 8,
						   self->other.table, PAGE);

		ASSERT_EQ(0, do_register(&table));
	}
	for (int nth = 0; nth < 8; nth++) {
		pid_t pid = fork();

		if (!pid) {
			for (int i = nth; i < 1000; i += 8) {
				struct unwind_table table = ranges(self->other.text + 16 * i, 8,
								   self->other.table, PAGE);

				ASSERT_EQ(0, do_unregister(&table));
			}
			EXPECT_EQ(others + 1000 - 125, tables_count());
			munmap(self->other.text, PART_PAGES * PAGE);
			EXPECT_EQ(others, tables_count());
			_exit(0);
		}
		count = tables_count();
		EXPECT_TRUE(ended_well(pid));
		EXPECT_EQ(others + 1000, count);
	}
	EXPECT_EQ(others + 1000, tables_count());
}

/*
 * Address spaces with trees of many shapes come to their end. How deep a tree
 * is, and how full its nodes are, depends on the number alone.
 */
/* Slow where a kernel looks for mistakes. */
TEST_F_TIMEOUT(family, registries_of_many_sizes, 600)
{
	static struct unwind_table tables[4000];
	size_t len = ARRAY_SIZE(tables) * 4;
	unsigned char *text = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	ASSERT_NE(MAP_FAILED, text);
	for (unsigned int i = 0; i < ARRAY_SIZE(tables); i++)
		tables[i] = ranges(text + 4 * i, 2, self->other.table, PAGE);
	for (int size = 1; size <= (int)ARRAY_SIZE(tables); size += 1 + size / 16) {
		pid_t pid = fork();

		if (!pid)
			_exit(tables_call(PR_UNWIND_TABLES_REGISTER, tables, size,
					  sizeof(*tables)) != size);
		EXPECT_TRUE(ended_well(pid)) TH_LOG("%d ranges", size);
	}
	EXPECT_TRUE(registered(&self->good));
}

TEST_F(family, vfork)
{
	static int result;
	pid_t pid = vfork();

	if (!pid) {
		/* In the parent's memory, while that waits. */
		__atomic_store_n(&result, do_register(&self->second) ?: do_unregister(&self->good),
				 __ATOMIC_SEQ_CST);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(0, __atomic_load_n(&result, __ATOMIC_SEQ_CST));
	EXPECT_TRUE(registered(&self->second));
	EXPECT_FALSE(registered(&self->good));
}

struct work {
	struct unwind_table *add, *take;
	int result;
};

static int do_work(void *argument)
{
	struct work *work = argument;

	work->result = do_register(work->add) ?: do_unregister(work->take);
	return 0;
}

static void *do_work_in_thread(void *argument)
{
	do_work(argument);
	return NULL;
}

TEST_F(family, clone_with_shared_memory)
{
	struct work work = { &self->second, &self->good, -1 };
	char *stack = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	pid_t pid;

	ASSERT_NE(MAP_FAILED, stack);
	pid = clone(do_work, stack + 16 * PAGE, CLONE_VM | SIGCHLD, &work);

	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(0, work.result);
	EXPECT_TRUE(registered(&self->second));
	EXPECT_FALSE(registered(&self->good));
}

TEST_F(family, threads)
{
	struct work work = { &self->second, &self->good, -1 };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, do_work_in_thread, &work));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, work.result);
	EXPECT_TRUE(registered(&self->second));
	EXPECT_FALSE(registered(&self->good));
}

TEST_HARNESS_MAIN
