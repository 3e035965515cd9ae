// SPDX-License-Identifier: GPL-2.0
/*
 * What the walker makes of registered tables, and what becomes known of them:
 * sampled stacks of a leaf that has no frame.
 */
#include "../kselftest_harness.h"

#include "tables.h"

#define USED_SYSCTL	"/proc/sys/kernel/unwind_tables"

FIXTURE(verdict) {
	struct place place, other;
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
	ASSERT_EQ(0, place_make(&self->place));
	ASSERT_EQ(0, place_make(&self->other));
	self->good = self->place.good;
	/* One that nothing is done to, and that stays good. */
	ASSERT_EQ(0, do_register(&self->other.good));
	EXPECT_EQ(WALK_FOUND, walk(&self->sampler, self->other.text));
}

FIXTURE_TEARDOWN(verdict)
{
	EXPECT_EQ(WALK_FOUND, walk(&self->sampler, self->other.text));
	EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&self->other.good).state);
}

#define EXPECT_WALK(expected, text) \
	EXPECT_EQ(expected, walk(&self->sampler, text))
#define EXPECT_STATE(expected) \
	EXPECT_EQ(expected, tables_find(&self->good).state)

/* The tests can fail: without a table the leaf's caller is skipped. */
TEST_F(verdict, the_table_is_what_is_used)
{
	EXPECT_WALK(WALK_LOST, self->place.text);
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_FOUND, self->place.text);
	/* The next leaf is in the text, but not in the table. */
	EXPECT_WALK(WALK_LOST, self->place.text + PAGE);
	ASSERT_EQ(0, do_unregister(&self->good));
	EXPECT_WALK(WALK_LOST, self->place.text);
}

TEST_F(verdict, good)
{
	struct unwind_table found;

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
	EXPECT_WALK(WALK_FOUND, self->place.text);
	found = tables_find(&self->good);
	EXPECT_EQ(UNWIND_TABLE_GOOD, found.state);
	EXPECT_EQ(1, found.functions);
	EXPECT_EQ(0, found.reason);
	EXPECT_EQ(0, found.reason_offset);
}

/* How the table is described in /proc; NULL if it is not there. */
static struct line *own_line(const struct unwind_table *table)
{
	static struct line lines[16];

	return line_of(lines, proc_lines(getpid(), lines, 16), table);
}

TEST_F(verdict, proc_says_the_same)
{
	struct line *line;

	ASSERT_EQ(0, do_register(&self->good));
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ("unchecked", line->state);
	EXPECT_WALK(WALK_FOUND, self->place.text);
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ("good", line->state);
	EXPECT_STREQ("1", line->detail);

	ASSERT_EQ(0, do_update(&self->good));
	self->place.table->version = 2;
	EXPECT_WALK(WALK_LOST, self->place.text);
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ("disabled", line->state);
	EXPECT_STREQ("Version@0x2", line->detail);
}

TEST_F(verdict, a_malformed_header)
{
	struct unwind_table found;

	self->place.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
	EXPECT_WALK(WALK_LOST, self->place.text);
	found = tables_find(&self->good);
	EXPECT_EQ(UNWIND_TABLE_DISABLED, found.state);
	EXPECT_EQ(0, found.functions);
	EXPECT_EQ(VERSION_REASON, found.reason);
	EXPECT_EQ(VERSION_OFFSET, found.reason_offset);

	/* It is not looked at again. */
	self->place.table->version = 3;
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_DISABLED);

	/* Until it is registered again. */
	ASSERT_EQ(0, do_unregister(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
	EXPECT_EQ(0, tables_find(&self->good).reason);
	EXPECT_WALK(WALK_FOUND, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_GOOD);
}

TEST_F(verdict, a_malformed_row)
{
	struct unwind_table found;

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_FOUND, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_GOOD);
	self->place.table->row_info = 0x63;	/* words of an unknown width */
	EXPECT_WALK(WALK_LOST, self->place.text);
	found = tables_find(&self->good);
	EXPECT_EQ(UNWIND_TABLE_DISABLED, found.state);
	EXPECT_EQ(ROW_INFO_OFFSET, found.reason_offset);
	EXPECT_NE(0, found.reason);
}

TEST_F(verdict, update_starts_clean)
{
	struct unwind_table second = self->good;
	struct hand_table *table = (void *)((char *)self->place.table + PAGE);

	self->place.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_DISABLED);

	/* Another table, and another answer. */
	*table = table_outermost(table, self->place.text);
	second.table_start += PAGE;
	ASSERT_EQ(0, do_update(&second));
	EXPECT_EQ(UNWIND_TABLE_UNCHECKED, tables_find(&second).state);
	EXPECT_WALK(WALK_OUTERMOST, self->place.text);
	EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&second).state);

	/* The same one again, which is repaired. */
	self->place.table->version = 3;
	ASSERT_EQ(0, do_update(&self->good));
	EXPECT_WALK(WALK_FOUND, self->place.text);
}

TEST_F(verdict, two_texts_with_one_table)
{
	struct unwind_table first, second;

	/* Two texts, and one table for both, which is judged for each. */
	self->place.table->functions = 2;
	set_function(self->place.table, 1, self->place.table, self->place.text + 2 * PAGE);
	first = ranges(self->place.text, PAGE, self->place.table, PAGE);
	second = ranges(self->place.text + 2 * PAGE, PAGE, self->place.table, PAGE);
	ASSERT_EQ(0, do_register(&first));
	ASSERT_EQ(0, do_register(&second));
	EXPECT_WALK(WALK_FOUND, self->place.text);
	EXPECT_WALK(WALK_FOUND, self->place.text + 2 * PAGE);
	EXPECT_EQ(2, tables_find(&second).functions);
	EXPECT_WALK(WALK_LOST, self->place.text + PAGE);

	ASSERT_EQ(0, do_update(&second));
	self->place.table->magic = 0;
	EXPECT_WALK(WALK_LOST, self->place.text + 2 * PAGE);
	EXPECT_EQ(UNWIND_TABLE_DISABLED, tables_find(&second).state);
	EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&first).state);
}

TEST_F(verdict, a_child_judges_for_itself)
{
	pid_t pid;

	self->place.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_DISABLED);
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, sampler_open(&self->sampler));
		EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
		EXPECT_EQ(UNWIND_TABLE_UNCHECKED, tables_find(&self->other.good).state);
		/* Its copy of the table is good. */
		self->place.table->version = 3;
		EXPECT_WALK(WALK_FOUND, self->place.text);
		EXPECT_STATE(UNWIND_TABLE_GOOD);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(UNWIND_TABLE_DISABLED);

	/* Nor is what the child found out the parent's. */
	ASSERT_EQ(0, do_update(&self->good));
	self->place.table->version = 3;
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, sampler_open(&self->sampler));
		self->place.table->version = 2;
		EXPECT_WALK(WALK_LOST, self->place.text);
		EXPECT_STATE(UNWIND_TABLE_DISABLED);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
	EXPECT_WALK(WALK_FOUND, self->place.text);
}

TEST_F(verdict, changes_after_a_fork_leave_it)
{
	struct unwind_table third = ranges(self->place.text + PAGE, PAGE,
					   self->other.table, PART_PAGES * PAGE);
	int go[2];
	char byte;
	pid_t pid;

	/* Tables that are known, one of them malformed, in parent and child. */
	self->good.text_end = self->good.text_start + PAGE;
	self->place.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_LOST, self->place.text);
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		ASSERT_EQ(0, sampler_open(&self->sampler));
		EXPECT_WALK(WALK_FOUND, self->other.text);
		EXPECT_WALK(WALK_LOST, self->place.text);
		EXPECT_EQ(0, read(go[0], &byte, 1));
		/* The parent has changed something; that is nothing to the child. */
		EXPECT_STATE(UNWIND_TABLE_DISABLED);
		EXPECT_FALSE(registered(&third));
		ASSERT_EQ(0, do_register(&third));
		EXPECT_STATE(UNWIND_TABLE_DISABLED);
		EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&self->other.good).state);
		EXPECT_WALK(WALK_LOST, self->place.text);
		ASSERT_EQ(0, do_update(&self->good));
		EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
		self->place.table->version = 3;
		EXPECT_WALK(WALK_FOUND, self->place.text);
		EXPECT_STATE(UNWIND_TABLE_GOOD);
		_exit(0);
	}
	close(go[0]);
	ASSERT_EQ(0, do_register(&third));
	EXPECT_STATE(UNWIND_TABLE_DISABLED);
	EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&self->other.good).state);
	ASSERT_EQ(0, do_unregister(&third));
	close(go[1]);
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(UNWIND_TABLE_DISABLED);
	EXPECT_WALK(WALK_LOST, self->place.text);

	/* What is registered again is not known. */
	ASSERT_EQ(0, do_unregister(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
}

TEST_F(verdict, memory_that_cannot_be_read)
{
	size_t len = PART_PAGES * PAGE;

	/* The header, before it was ever read. */
	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_EQ(0, mprotect(self->place.table, len, PROT_NONE));
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_UNCHECKED);
	ASSERT_EQ(0, mprotect(self->place.table, len, PROT_READ | PROT_WRITE));
	EXPECT_WALK(WALK_FOUND, self->place.text);

	/* What is behind it, later. */
	ASSERT_EQ(0, mprotect(self->place.table, len, PROT_NONE));
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_STATE(UNWIND_TABLE_GOOD);
	ASSERT_EQ(0, mprotect(self->place.table, len, PROT_READ | PROT_WRITE));
	EXPECT_WALK(WALK_FOUND, self->place.text);
}

TEST_F(verdict, a_file_that_is_cut_off)
{
	int fd = syscall(__NR_memfd_create, "table", 0);
	struct hand_table table, *mapped;
	struct unwind_table other;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, mapped);
	table = table_for(mapped, self->place.text);
	ASSERT_EQ(sizeof(table), pwrite(fd, &table, sizeof(table), 0));
	other = ranges(self->place.text, PAGE, mapped, PAGE);
	ASSERT_EQ(0, do_register(&other));
	EXPECT_WALK(WALK_FOUND, self->place.text);

	ASSERT_EQ(0, ftruncate(fd, 0));
	EXPECT_WALK(WALK_LOST, self->place.text);
	EXPECT_EQ(UNWIND_TABLE_GOOD, tables_find(&other).state);
	ASSERT_EQ(sizeof(table), pwrite(fd, &table, sizeof(table), 0));
	EXPECT_WALK(WALK_FOUND, self->place.text);
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
		*table = table_for(table, self->place.text);
		other = ranges(self->place.text, PAGE, table, PAGE);
		EXPECT_EQ(0, do_register(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(WALK_FOUND, self->place.text) TH_LOG("%s", kinds[i].name);
		ASSERT_EQ(0, munmap(table, PAGE));
		EXPECT_FALSE(registered(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(WALK_LOST, self->place.text) TH_LOG("%s", kinds[i].name);
		close(fd);
	}
}

TEST_F(verdict, other_code_at_the_same_address)
{
	unsigned char *text = self->place.text;
	struct unwind_table other = ranges(text, PAGE, self->place.table, PAGE);

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(WALK_FOUND, text);
	ASSERT_EQ(text, mmap(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	write_leaf(text);
	/* The table is there and would fit, but is not that of this code. */
	EXPECT_WALK(WALK_LOST, text);

	*self->place.table = table_outermost(self->place.table, text);
	ASSERT_EQ(0, do_register(&other));
	EXPECT_WALK(WALK_OUTERMOST, text);
}

TEST_F(verdict, an_administrator_switches_tables_off)
{
	enum walk off, on;
	struct unwind_table found;
	int unregister, again, error;

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_EQ(1, read_number(USED_SYSCTL));
	error = write_string(USED_SYSCTL, "0");
	if (error)
		SKIP(return, "cannot write %s: errno %d", USED_SYSCTL, -error);
	off = walk(&self->sampler, self->place.text);
	found = tables_find(&self->good);
	/* Only the use of tables is off. */
	unregister = do_unregister(&self->good);
	again = do_register(&self->good);
	ASSERT_EQ(0, write_string(USED_SYSCTL, "1"));
	on = walk(&self->sampler, self->place.text);

	EXPECT_EQ(WALK_LOST, off);
	EXPECT_EQ(UNWIND_TABLE_UNCHECKED, found.state);
	EXPECT_EQ(0, unregister);
	EXPECT_EQ(0, again);
	EXPECT_EQ(WALK_FOUND, on);
	EXPECT_EQ(1, read_number(USED_SYSCTL));
	EXPECT_EQ(-EINVAL, write_string(USED_SYSCTL, "2"));
}

TEST_HARNESS_MAIN
