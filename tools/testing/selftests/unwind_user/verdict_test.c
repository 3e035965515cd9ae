// SPDX-License-Identifier: GPL-2.0
/*
 * What the walker makes of registered tables, and what becomes known of them:
 * sampled stacks of a leaf that has no frame.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tables.h"
#include "example.h"

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

TEST_F(verdict, good)
{
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
}

/* How the table is described in /proc; NULL if it is not there. */
static struct line *own_line(const struct unwind_table *table)
{
	static struct line lines[16];

	return line_of(lines, proc_lines(getpid(), lines, 16), table);
}

TEST_F(verdict, same_as_proc)
{
	struct line *line;

	ASSERT_EQ(0, do_register(&self->good));
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ("unchecked", line->state);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ("good", line->state);

	ASSERT_EQ(0, do_register(&self->good));
	self->layout.table->version = 2;
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	line = own_line(&self->good);
	ASSERT_NE(NULL, line);
	EXPECT_STREQ(VERSION_STATE, line->state);
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

/* The last function of a table that stands before an address need not be around it. */
TEST_F(verdict, a_second_text_before_its_first_function)
{
	unsigned char *text = self->layout.text + 2 * PAGE;
	struct unwind_table first, second;

	ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	write_leaf(text + 64);
	self->layout.table->functions = 2;
	set_function(self->layout.table, 1, self->layout.table, text + 64);
	first = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	second = ranges(text, PAGE, self->layout.table, PAGE);
	ASSERT_EQ(0, do_register(&first));
	ASSERT_EQ(0, do_register(&second));
	/* There is a leaf at the start of this text, too, of which the table does not know. */
	EXPECT_WALK(LEAF_LOST, text);
	EXPECT_EQ(TABLE_GOOD, tables_find(&second).state);
	EXPECT_WALK(LEAF_FOUND, text + 64);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_WALK(LEAF_LOST, text);
	EXPECT_EQ(TABLE_GOOD, tables_find(&second).state);
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

TEST_F(verdict, changes_after_a_fork_leave_it)
{
	struct unwind_table third = ranges(self->layout.text + PAGE, PAGE,
					   self->other.table, PART_PAGES * PAGE);
	int go[2];
	char byte;
	pid_t pid;

	/* Tables that are known, one of them malformed, in parent and child. */
	self->good.text_end = self->good.text_start + PAGE;
	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		ASSERT_EQ(0, sampler_open(&self->sampler));
		EXPECT_WALK(LEAF_FOUND, self->other.text);
		EXPECT_WALK(LEAF_LOST, self->layout.text);
		EXPECT_EQ(0, read(go[0], &byte, 1));
		/* The parent has changed something; that is nothing to the child. */
		EXPECT_STATE(TABLE_DISABLED);
		EXPECT_FALSE(registered(&third));
		ASSERT_EQ(0, do_register(&third));
		EXPECT_STATE(TABLE_DISABLED);
		EXPECT_EQ(TABLE_GOOD, tables_find(&self->other.good).state);
		EXPECT_WALK(LEAF_LOST, self->layout.text);
		ASSERT_EQ(0, do_register(&self->good));
		EXPECT_STATE(TABLE_UNCHECKED);
		self->layout.table->version = 3;
		EXPECT_WALK(LEAF_FOUND, self->layout.text);
		EXPECT_STATE(TABLE_GOOD);
		_exit(0);
	}
	close(go[0]);
	ASSERT_EQ(0, do_register(&third));
	EXPECT_STATE(TABLE_DISABLED);
	EXPECT_EQ(TABLE_GOOD, tables_find(&self->other.good).state);
	ASSERT_EQ(0, do_unregister(&third));
	close(go[1]);
	EXPECT_TRUE(ended_well(pid));
	EXPECT_STATE(TABLE_DISABLED);
	EXPECT_WALK(LEAF_LOST, self->layout.text);

	/* What is registered again is not known. */
	ASSERT_EQ(0, do_unregister(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
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

TEST_F(verdict, sysctl_off)
{
	enum leaf_stack off;
	struct listed found;
	int unregister, again, error;

	ASSERT_EQ(0, do_register(&self->good));
	error = sysctl_set(SYSCTL_TABLES, 0);
	if (error)
		SKIP(return, "cannot write " SYSCTL_TABLES ": errno %d", -error);
	off = call_leaf(&self->sampler, self->layout.text);
	found = tables_find(&self->good);
	/* Only the use of tables is off. */
	unregister = do_unregister(&self->good);
	again = do_register(&self->good);
	sysctl_restore();

	EXPECT_EQ(LEAF_LOST, off);
	EXPECT_EQ(TABLE_UNCHECKED, found.state);
	EXPECT_EQ(0, unregister);
	EXPECT_EQ(0, again);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_EQ(-EINVAL, sysctl_set(SYSCTL_TABLES, 8));
	sysctl_restore();
}

/* --- The published example --- */

/* The example's instructions, in bytes from the start of its code. */
static const struct instruction {
	__u32 at;
	/* How often it is executed in a call of add_two(). */
	int times;
} instructions[] = {
	{ 0, 2 }, { 3, 2 },
	{ 16 + 0, 1 }, { 16 + 1, 1 }, { 16 + 6, 1 }, { 16 + 8, 1 }, { 16 + 13, 1 },
	{ 16 + 14, 1 },
};

/* A call of the example, and where the function that makes it returns to. */
struct example_call {
	const __u8 *code;
	__u32 at;
	unsigned long back;
};

static int call_example(struct example_call *call)
{
	int (*function)(int i);

	function = (void *)(call->code + functions[1].place);
	call->back = (unsigned long)__builtin_return_address(0);
	return function(40) + 1;
}

/* Whether a stack has each frame, from the instruction to the caller of call_example(). */
static bool is_example_stack(const struct chain *chain, const void *arg)
{
	const struct example_call *call = arg;
	unsigned long code = (unsigned long)call->code, in_call_example;
	const unsigned long *ip = chain->ips;

	if (chain->nr < 4 || *ip++ != code + call->at)
		return false;
	/* add_one() has two callers in add_two(). */
	if (call->at < functions[1].place) {
		if (*ip != code + 16 + 6 && *ip != code + 16 + 13)
			return false;
		ip++;
	}
	in_call_example = *ip++ - (unsigned long)call_example;
	return in_call_example < 100 && *ip == call->back;
}

/* Sample an instruction of the example in a call; returns how many stacks were good, or -1. */
static int sample_example(struct example_call *call)
{
	static struct chain chain;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (unsigned long)call->code + call->at,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	int (*call_it)(struct example_call *call) = call_example;
	struct sampler sampler;
	int error = sampler_open_stacks(&sampler, attr), good = -1;

	if (error) {
		ksft_print_msg("no breakpoint: errno %d\n", error);
		return -1;
	}
	/* The compiler does not know what it calls, so that this has a frame. */
	asm volatile("" : "+r" (call_it));
	if (call_it(call) == 43)
		good = sampler_each(&sampler, &chain, is_example_stack, call);
	sampler_close(&sampler);
	return good;
}

TEST_F(verdict, published_example)
{
	__u8 *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_jit *region = unwind_jit_open(code, PAGE, 0);
	struct example_call call = { .code = code };

	ASSERT_NE(MAP_FAILED, code);
	ASSERT_NE(NULL, region);
	/* The first one is published, and the second one appended. */
	ASSERT_EQ(1, compile(region, code, &functions[0]));
	ASSERT_EQ(0, unwind_jit_publish(region));
	ASSERT_EQ(0, compile(region, code, &functions[1]));
	for (unsigned int i = 0; i < ARRAY_SIZE(instructions); i++) {
		call.at = instructions[i].at;
		EXPECT_EQ(instructions[i].times, sample_example(&call)) TH_LOG("byte %u", call.at);
	}

	/* Without the table, no stack of these is good. */
	unwind_jit_close(region);
	for (unsigned int i = 0; i < ARRAY_SIZE(instructions); i++) {
		call.at = instructions[i].at;
		EXPECT_EQ(-1, sample_example(&call)) TH_LOG("byte %u", call.at);
	}
	/* All these stacks were said to the other event of this thread as well. */
	while (sampler_record(&self->sampler))
		;
}

TEST_HARNESS_MAIN
