// SPDX-License-Identifier: GPL-2.0
/*
 * Who shares registrations with whom: children have their own, which start as a
 * copy; threads and children that share memory have the same.
 */
#include "../kselftest_harness.h"

#include <pthread.h>
#include <sched.h>

#include "tables.h"

FIXTURE(family) {
	struct place place, other;
	struct unwind_table good, second;
};

FIXTURE_SETUP(family)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, place_make(&self->place));
	ASSERT_EQ(0, place_make(&self->other));
	ASSERT_EQ(0, do_register(&self->place.good));
	self->good = self->place.good;
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
		EXPECT_EQ(UNWIND_TABLE_BY_PRCTL, tables_find(&self->good).origin);
		EXPECT_EQ(0, do_unregister(&self->good));
		EXPECT_EQ(0, do_register(&self->second));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	/* What the child did is not the parent's. */
	EXPECT_TRUE(registered(&self->good));
	EXPECT_FALSE(registered(&self->second));
}

TEST_F(family, what_the_parent_does_later)
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

TEST_F(family, a_child_that_shares_memory)
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

/* --- Memory that children do not get --- */

FIXTURE(advice) {
	struct place place, other;
	unsigned char *start;
	size_t len;
};

FIXTURE_VARIANT(advice) {
	int advice;
	int first, end;
	bool stays;
};

FIXTURE_VARIANT_ADD(advice, text_not_copied) { MADV_DONTFORK, 1, 5 };
FIXTURE_VARIANT_ADD(advice, page_of_text_not_copied) { MADV_DONTFORK, 2, 3 };
FIXTURE_VARIANT_ADD(advice, table_not_copied) { MADV_DONTFORK, 6, 10 };
FIXTURE_VARIANT_ADD(advice, page_of_table_not_copied) { MADV_DONTFORK, 9, 10 };
FIXTURE_VARIANT_ADD(advice, neighbours_not_copied) { MADV_DONTFORK, 5, 6, true };
FIXTURE_VARIANT_ADD(advice, text_wiped) { MADV_WIPEONFORK, 1, 5 };
FIXTURE_VARIANT_ADD(advice, page_of_text_wiped) { MADV_WIPEONFORK, 1, 2 };
FIXTURE_VARIANT_ADD(advice, table_wiped) { MADV_WIPEONFORK, 6, 10 };
FIXTURE_VARIANT_ADD(advice, page_of_table_wiped) { MADV_WIPEONFORK, 6, 7 };
FIXTURE_VARIANT_ADD(advice, neighbours_wiped) { MADV_WIPEONFORK, 10, 12, true };
FIXTURE_VARIANT_ADD(advice, none) { MADV_DOFORK, 1, 10, true };

FIXTURE_SETUP(advice)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, place_make(&self->place));
	ASSERT_EQ(0, place_make(&self->other));
	ASSERT_EQ(0, do_register(&self->place.good));
	ASSERT_EQ(0, do_register(&self->other.good));
	self->start = self->place.area + variant->first * PAGE;
	self->len = (variant->end - variant->first) * PAGE;
}

FIXTURE_TEARDOWN(advice)
{
}

TEST_F(advice, fork)
{
	pid_t pid;

	ASSERT_EQ(0, madvise(self->start, self->len, variant->advice));
	pid = fork();
	if (!pid) {
		EXPECT_EQ(variant->stays, registered(&self->place.good));
		EXPECT_TRUE(registered(&self->other.good));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_TRUE(registered(&self->place.good));
	EXPECT_TRUE(registered(&self->other.good));
}

TEST_HARNESS_MAIN
