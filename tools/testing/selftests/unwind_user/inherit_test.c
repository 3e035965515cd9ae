// SPDX-License-Identifier: GPL-2.0
/*
 * What a child inherits: what one of two changes is only changed there, and memory that
 * the child does not get has no table.
 */
#include "kselftest_harness.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables.h"

/* --- What one of two does that have the same --- */

FIXTURE(change) {
	struct layout layout, other, more;
	struct unwind_table good;
	long others;
};

static int change_by_register(FIXTURE_DATA(change) *self)
{
	return do_register(&self->more.good);
}

static int change_by_replace(FIXTURE_DATA(change) *self)
{
	struct unwind_table shorter = self->good;

	shorter.table_end -= PAGE;
	return do_register(&shorter);
}

static int change_by_unregister(FIXTURE_DATA(change) *self)
{
	return do_unregister(&self->good);
}

static int change_by_munmap(FIXTURE_DATA(change) *self)
{
	return munmap((void *)self->good.text_start, PAGE);
}

static int change_by_munmap_of_table(FIXTURE_DATA(change) *self)
{
	return munmap((void *)self->good.table_start, PAGE);
}

static int change_by_mmap(FIXTURE_DATA(change) *self)
{
	return mmap((void *)self->good.text_start, PAGE, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
}

static int change_by_mremap(FIXTURE_DATA(change) *self)
{
	/* It cannot grow where it is. */
	return mremap((void *)self->good.text_start, PAGE, 2 * PAGE, MREMAP_MAYMOVE) ==
	       MAP_FAILED;
}

FIXTURE_VARIANT(change) {
	int (*change)(FIXTURE_DATA(change) *self);
};

FIXTURE_VARIANT_ADD(change, register) { change_by_register };
FIXTURE_VARIANT_ADD(change, replace) { change_by_replace };
FIXTURE_VARIANT_ADD(change, unregister) { change_by_unregister };
FIXTURE_VARIANT_ADD(change, munmap) { change_by_munmap };
FIXTURE_VARIANT_ADD(change, munmap_of_table) { change_by_munmap_of_table };
FIXTURE_VARIANT_ADD(change, mmap) { change_by_mmap };
FIXTURE_VARIANT_ADD(change, mremap) { change_by_mremap };

FIXTURE_SETUP(change)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	ASSERT_EQ(0, layout_make(&self->more));
	self->others = tables_count();
	ASSERT_EQ(0, do_register(&self->layout.good));
	ASSERT_EQ(0, do_register(&self->other.good));
	self->good = self->layout.good;
}

FIXTURE_TEARDOWN(change)
{
}

/* Whether everything is as it was, or as a change leaves it. */
static bool is_changed(FIXTURE_DATA(change) *self, int (*change)(FIXTURE_DATA(change) *),
		       bool changed)
{
	bool more = registered(&self->more.good), good = registered(&self->good);
	long count = tables_count() - self->others;

	if (!registered(&self->other.good))
		return false;
	if (!changed)
		return good && !more && count == 2;
	if (change == change_by_register)
		return good && more && count == 3;
	return !good && !more && count == (change == change_by_replace ? 2 : 1);
}

/* Parent and child change theirs or not, in this order, and look at it before and after. */
static void both_change(struct __test_metadata *_metadata, FIXTURE_DATA(change) *self,
			int (*change)(FIXTURE_DATA(change) *), bool parent_changes,
			bool child_changes)
{
	int go[2], done[2];
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) != 1 || !is_changed(self, change, false))
			_exit(1);
		if (child_changes && change(self))
			_exit(2);
		if (!is_changed(self, change, child_changes))
			_exit(3);
		if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(4);
		_exit(is_changed(self, change, child_changes) ? 0 : 5);
	}
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, parent_changes ? change(self) : 0);
	EXPECT_TRUE(is_changed(self, change, parent_changes));
	ASSERT_EQ(1, write(go[1], &byte, 1));
	/* Nothing is read if the child has failed. */
	close(done[1]);
	EXPECT_EQ(1, read(done[0], &byte, 1));
	EXPECT_TRUE(is_changed(self, change, parent_changes));
	ASSERT_EQ(1, write(go[1], &byte, 1));
	EXPECT_TRUE(ended_well(pid));
	EXPECT_TRUE(is_changed(self, change, parent_changes));
}

TEST_F(change, of_the_child)
{
	both_change(_metadata, self, variant->change, false, true);
}

TEST_F(change, of_the_parent)
{
	both_change(_metadata, self, variant->change, true, false);
}

TEST_F(change, of_both)
{
	both_change(_metadata, self, variant->change, true, true);
}

/* --- Memory that children do not get --- */

FIXTURE(advice) {
	struct layout layout, other;
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
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	ASSERT_EQ(0, do_register(&self->layout.good));
	ASSERT_EQ(0, do_register(&self->other.good));
	self->start = self->layout.area + variant->first * PAGE;
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
		EXPECT_EQ(variant->stays, registered(&self->layout.good));
		EXPECT_TRUE(registered(&self->other.good));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_TRUE(registered(&self->layout.good));
	EXPECT_TRUE(registered(&self->other.good));
}

/* --- Text and tables of many mappings, and such memory elsewhere --- */

/* Each of which is a mapping of its own: its neighbours have other protections. */
#define MANY_PAGES	200

FIXTURE(spread) {
	unsigned char *low, *text, *between, *table, *high;
	struct unwind_table good;
};

FIXTURE_VARIANT(spread) {
	/* What is done to the pages below, between and above, or none. */
	int low, between, high;
};

FIXTURE_VARIANT_ADD(spread, no_advice) { 0, 0, 0 };
FIXTURE_VARIANT_ADD(spread, below) { MADV_DONTFORK, 0, 0 };
FIXTURE_VARIANT_ADD(spread, between) { 0, MADV_WIPEONFORK, 0 };
FIXTURE_VARIANT_ADD(spread, above) { 0, 0, MADV_DONTFORK };
FIXTURE_VARIANT_ADD(spread, around) { MADV_WIPEONFORK, 0, MADV_DONTFORK };
FIXTURE_VARIANT_ADD(spread, everywhere) { MADV_DONTFORK, MADV_DONTFORK, MADV_WIPEONFORK };

FIXTURE_SETUP(spread)
{
	size_t size = (2 * MANY_PAGES + 3) * PAGE;
	unsigned char *area;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	/* Below, text, between, table, above: in this order. */
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	self->low = area;
	self->text = area + PAGE;
	self->between = self->text + MANY_PAGES * PAGE;
	self->table = self->between + PAGE;
	self->high = self->table + MANY_PAGES * PAGE;
	for (int i = 0; i < MANY_PAGES; i++) {
		int more = i % 2 ? PROT_WRITE : 0;

		ASSERT_EQ(0, mprotect(self->text + i * PAGE, PAGE, PROT_READ | PROT_EXEC | more));
		ASSERT_EQ(0, mprotect(self->table + i * PAGE, PAGE, PROT_READ | more));
	}
	ASSERT_EQ(0, variant->low && madvise(self->low, PAGE, variant->low));
	ASSERT_EQ(0, variant->between && madvise(self->between, PAGE, variant->between));
	ASSERT_EQ(0, variant->high && madvise(self->high, PAGE, variant->high));
	self->good = ranges(self->text, MANY_PAGES * PAGE, self->table, MANY_PAGES * PAGE);
}

FIXTURE_TEARDOWN(spread)
{
}

/* Whether a child has the registration. */
static bool reaches_child(const struct unwind_table *table)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(registered(table));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status);
}

TEST_F_TIMEOUT(spread, reaches_the_child, 300)
{
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_TRUE(reaches_child(&self->good));
}

TEST_F_TIMEOUT(spread, but_not_with_a_hole, 300)
{
	ASSERT_EQ(0, do_register(&self->good));
	for (int i = 0; i < MANY_PAGES; i += MANY_PAGES - 1) {
		unsigned char *pages[] = { self->text + i * PAGE, self->table + i * PAGE };

		for (int k = 0; k < 2; k++) {
			ASSERT_EQ(0, madvise(pages[k], PAGE, MADV_DONTFORK));
			EXPECT_FALSE(reaches_child(&self->good)) TH_LOG("page %d of %d", i, k);
			ASSERT_EQ(0, madvise(pages[k], PAGE, MADV_DOFORK));
			EXPECT_TRUE(reaches_child(&self->good)) TH_LOG("page %d of %d", i, k);
		}
	}
	/* One of the pages can be written, is private and anonymous, and so can be wiped. */
	ASSERT_EQ(0, madvise(self->table + PAGE, PAGE, MADV_WIPEONFORK));
	EXPECT_FALSE(reaches_child(&self->good));
	ASSERT_EQ(0, madvise(self->table + PAGE, PAGE, MADV_KEEPONFORK));
	EXPECT_TRUE(reaches_child(&self->good));
}

/* As with a library's table, which is that of each of its segments. */
TEST_F_TIMEOUT(spread, one_table_for_several_texts, 300)
{
	struct unwind_table texts[8];

	for (int i = 0; i < 8; i++) {
		texts[i] = ranges(self->text + i * PAGE, PAGE, self->table, 32 * PAGE);
		ASSERT_EQ(0, do_register(&texts[i]));
	}
	for (int i = 0; i < 8; i++)
		EXPECT_TRUE(reaches_child(&texts[i]));
}

/* Many that overlap and are in many mappings, of which the child gets all. */
TEST_F_TIMEOUT(spread, tables_that_overlap, 300)
{
	long others = tables_count(), count = 64 * MANY_PAGES;
	int shared[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(shared));
	if (count > 4000 - others)
		count = 4000 - others;
	for (int i = 0; i < count; i++) {
		struct unwind_table table = ranges(self->text + 64 * i, 64, self->table + i,
						   (MANY_PAGES - 1) * PAGE);

		ASSERT_EQ(0, do_register(&table));
	}
	pid = fork();
	if (!pid) {
		long left = tables_count() - others;

		_exit(write(shared[1], &left, sizeof(left)) != sizeof(left));
	}
	ASSERT_TRUE(ended_well(pid));
	ASSERT_EQ(sizeof(others), read(shared[0], &others, sizeof(others)));
	TH_LOG("%ld of %ld reach the child", others, count);
	EXPECT_EQ(count, others);
}

TEST_HARNESS_MAIN
