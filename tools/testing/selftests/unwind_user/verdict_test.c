// SPDX-License-Identifier: GPL-2.0
/*
 * Which caller the walker finds by registered tables, and what state a table has then. The
 * stacks are those of a leaf that has no frame.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tables.h"

FIXTURE(verdict) {
	struct layout layout, other;
	struct unwind_table good;
	struct sampler sampler;
};

FIXTURE_SETUP(verdict)
{
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = sampler_open(&self->sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	self->good = self->layout.good;
	/* One that nothing is done to, and that stays good. */
	ASSERT_EQ(0, do_register(&self->other.good));
	ASSERT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->other.text));
}

FIXTURE_TEARDOWN(verdict)
{
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->other.text));
	EXPECT_EQ(TABLE_GOOD, tables_find(&self->other.good).state);
}

#define EXPECT_WALK(expected, text) \
	EXPECT_EQ(expected, call_leaf(&self->sampler, text))
#define EXPECT_STATE(expected) \
	EXPECT_EQ(expected, tables_find(&self->good).state)

/* The tests can fail: without a table the leaf's caller is skipped. */
TEST_F(verdict, the_table_is_what_is_used)
{
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	/* The next leaf is in the text, but not in the table. */
	EXPECT_WALK(LEAF_LOST, self->layout.text + PAGE);
	ASSERT_EQ(0, do_unregister(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
}

/* How the table is described in /proc; NULL if it is not there. */
static struct line *own_line(const struct unwind_table *table)
{
	static struct line lines[16];

	return line_of(lines, proc_lines(getpid(), lines, 16), table);
}

TEST_F(verdict, a_malformed_header)
{
	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);

	/* It is not looked at again. */
	self->layout.table->version = 3;
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);

	/* Until it is registered again. */
	ASSERT_EQ(0, do_unregister(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
}

TEST_F(verdict, a_malformed_row)
{
	struct line *line;
	char state[32];

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
	self->layout.table->row_info = 0x63;	/* words of an unknown width */
	/* The rule of a leaf alone is not remembered. */
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);
	snprintf(state, sizeof(state), "disabled:word-width@0x%zx", ROW_INFO_OFFSET);
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ(state, line->state);
}

TEST_F(verdict, register_resets_verdict)
{
	struct unwind_table second = self->good;
	struct hand_table *table = (void *)((char *)self->layout.table + PAGE);

	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);

	/* Another table, and another answer. */
	*table = table_outermost(table, self->layout.text);
	second.table_start += PAGE;
	ASSERT_EQ(0, do_register(&second));
	EXPECT_EQ(TABLE_UNCHECKED, tables_find(&second).state);
	EXPECT_WALK(LEAF_OUTERMOST, self->layout.text);
	EXPECT_EQ(TABLE_GOOD, tables_find(&second).state);

	/* The same one again, which is repaired. */
	self->layout.table->version = 3;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
}

TEST_F(verdict, two_texts_with_one_table)
{
	struct unwind_table first, second;

	/* Two texts, and one table for both, which is judged for each. */
	self->layout.table->functions = 2;
	set_function(self->layout.table, 1, self->layout.table, self->layout.text + 2 * PAGE);
	first = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	second = ranges(self->layout.text + 2 * PAGE, PAGE, self->layout.table, PAGE);
	ASSERT_EQ(0, do_register(&first));
	ASSERT_EQ(0, do_register(&second));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_WALK(LEAF_FOUND, self->layout.text + 2 * PAGE);
	EXPECT_WALK(LEAF_LOST, self->layout.text + PAGE);

	ASSERT_EQ(0, do_register(&second));
	self->layout.table->magic = 0;
	EXPECT_WALK(LEAF_LOST, self->layout.text + 2 * PAGE);
	EXPECT_EQ(TABLE_DISABLED, tables_find(&second).state);
	EXPECT_EQ(TABLE_GOOD, tables_find(&first).state);
}

TEST_F(verdict, a_child_goes_on_from_there)
{
	pid_t pid;

	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, sampler_open(&self->sampler));
		EXPECT_STATE(TABLE_DISABLED);
		EXPECT_EQ(TABLE_GOOD, tables_find(&self->other.good).state);
		/* Its copy of the table is good, but that is not looked at before it is told. */
		self->layout.table->version = 3;
		EXPECT_WALK(LEAF_LOST, self->layout.text);
		ASSERT_EQ(0, do_register(&self->good));
		EXPECT_WALK(LEAF_FOUND, self->layout.text);
		EXPECT_STATE(TABLE_GOOD);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(TABLE_DISABLED);

	/* Nor is what the child found out the parent's. */
	ASSERT_EQ(0, do_register(&self->good));
	self->layout.table->version = 3;
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, sampler_open(&self->sampler));
		self->layout.table->version = 2;
		EXPECT_WALK(LEAF_LOST, self->layout.text);
		EXPECT_STATE(TABLE_DISABLED);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
}

TEST_F(verdict, unreadable_table)
{
	size_t len = PART_PAGES * PAGE;

	/* The header, before it was ever read. */
	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_UNCHECKED);
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_READ | PROT_WRITE));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);

	/* What is behind it, later. */
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_READ | PROT_WRITE));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
}

TEST_F(verdict, truncated_file)
{
	int fd = syscall(__NR_memfd_create, "table", 0);
	struct hand_table table, *mapped;
	struct unwind_table other;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, mapped);
	table = table_for(mapped, self->layout.text);
	ASSERT_EQ(sizeof(table), pwrite(fd, &table, sizeof(table), 0));
	other = ranges(self->layout.text, PAGE, mapped, PAGE);
	ASSERT_EQ(0, do_register(&other));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);

	ASSERT_EQ(0, ftruncate(fd, 0));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_EQ(TABLE_GOOD, tables_find(&other).state);
	ASSERT_EQ(sizeof(table), pwrite(fd, &table, sizeof(table), 0));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
}

TEST_F(verdict, tables_in_memory_of_all_kinds)
{
	static const struct {
		const char *name;
		bool file;
		int flags;
	} kinds[] = {
		{ "private", false, MAP_PRIVATE | MAP_ANONYMOUS },
		{ "shared", false, MAP_SHARED | MAP_ANONYMOUS },
		{ "private file", true, MAP_PRIVATE },
		{ "shared file", true, MAP_SHARED },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		/* In tmpfs. */
		int fd = kinds[i].file ? (int)syscall(__NR_memfd_create, "table", 0) : -1;
		struct hand_table *table;
		struct unwind_table other;

		ASSERT_TRUE(!kinds[i].file || !ftruncate(fd, PAGE));
		table = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, kinds[i].flags, fd, 0);
		ASSERT_NE(MAP_FAILED, table);
		*table = table_for(table, self->layout.text);
		other = ranges(self->layout.text, PAGE, table, PAGE);
		EXPECT_EQ(0, do_register(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(LEAF_FOUND, self->layout.text) TH_LOG("%s", kinds[i].name);
		ASSERT_EQ(0, munmap(table, PAGE));
		EXPECT_FALSE(registered(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(LEAF_LOST, self->layout.text) TH_LOG("%s", kinds[i].name);
		close(fd);
	}
}

TEST_F(verdict, other_code_at_the_same_address)
{
	unsigned char *text = self->layout.text;
	struct unwind_table other = ranges(text, PAGE, self->layout.table, PAGE);

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, text);
	ASSERT_EQ(text, mmap(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	write_leaf(text);
	/* The table is there and would fit, but is not that of this code. */
	EXPECT_WALK(LEAF_LOST, text);

	*self->layout.table = table_outermost(self->layout.table, text);
	ASSERT_EQ(0, do_register(&other));
	EXPECT_WALK(LEAF_OUTERMOST, text);
}

/* How many messages there are that say this, from where the log was read to. */
static int messages(int log, const char *what)
{
	char text[2048];
	ssize_t len;
	int n = 0;

	/* EPIPE: messages were overwritten before they were read. */
	while ((len = read(log, text, sizeof(text) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		text[len] = '\0';
		n += !!strstr(text, what);
	}
	return n;
}

/* Users can make tables malformed as often as they like. */
TEST_F(verdict, nothing_is_logged)
{
	int log = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (log < 0)
		SKIP(return, "cannot open /dev/kmsg: errno %d", errno);
	lseek(log, 0, SEEK_END);
	/* A message that is there is found. */
	ASSERT_LT(0, write(log, "a test of unwind tables\n", 24));
	EXPECT_EQ(1, messages(log, "unwind"));
	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);
	EXPECT_EQ(0, messages(log, "unwind"));
	close(log);
}

TEST_HARNESS_MAIN
