// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of both formats for a text, and those of .eh_frame that mean no good.
 * RACE_SECONDS says how long a table changes.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables.h"
#include "synth.h"
#include "eh_frame.h"
#include "synth_fixture.h"
#include "changing.h"

#define EXPECT_END(expected)	EXPECT_EQ(PERF_CALLCHAIN_END_##expected, self->synth.chain.end)

/* --- Two tables --- */

/*
 * Make another table for the same text, of SFrame, which knows the first function.
 * By it that is called by the second, by the other table by the third.
 */
static struct unwind_table add_sframe(FIXTURE_DATA(synth) *self)
{
	struct synth *synth = &self->synth;
	struct hand_table *table = (struct hand_table *)(synth->table + SYNTH_TABLE - PAGE);
	struct unwind_table sframe = ranges(synth->text, SYNTH_TEXT, table, PAGE);

	*table = table_for(table, synth->text);
	table->index[0].size = FUNCTION_SIZE;
	table->row_cfa = 16;
	/* What .eh_frame has ends before. */
	do_unregister(&synth->ranges);
	synth->ranges.table_end = sframe.table_start;
	do_register(&synth->ranges);

	EH_CFI(NOP);
	EH_CFI(DEF_CFA_OFFSET, 24);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = 1;
	WORD(0x00) = RETURN(2);
	WORD(0x08) = RETURN(1);
	WORD(0x20) = RETURN(2);
	return sframe;
}

TEST_F(synth, sframe_is_asked_first)
{
	struct unwind_table sframe = add_sframe(self);
	struct listed all[4];

	EXPECT_CALLERS(RETURN(2));
	ASSERT_EQ(0, do_register(&sframe));
	/* Each keeps the other one. */
	EXPECT_EQ(0, do_register(&sframe));
	EXPECT_EQ(0, do_register(&self->synth.ranges));
	/* The first function by the one, the others by the other. */
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(COMPLETE);

	ASSERT_EQ(2, tables_list(all, ARRAY_SIZE(all)));
	EXPECT_EQ(UNWIND_TABLE_SFRAME, all[0].table.format);
	EXPECT_EQ(0, all[0].table.header);
	EXPECT_TRUE(same_ranges(&sframe, &all[0].table));
	EXPECT_EQ(UNWIND_TABLE_EH_FRAME, all[1].table.format);
	EXPECT_EQ(self->synth.ranges.header, all[1].table.header);
	EXPECT_TRUE(same_ranges(&self->synth.ranges, &all[1].table));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(TABLE_GOOD, all[i].state);
		EXPECT_EQ(TABLE_BY_PRCTL, all[i].origin);
	}

	/* Each goes without the other. */
	ASSERT_EQ(0, do_unregister(&sframe));
	EXPECT_EQ(-ENOENT, do_unregister(&sframe));
	EXPECT_CALLERS(RETURN(2));
	ASSERT_EQ(0, do_register(&sframe));
	ASSERT_EQ(0, do_unregister(&self->synth.ranges));
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO);
	EXPECT_EQ(1, tables_count());
}

/* With a table goes its text, and so the other table. */
TEST_F(synth, one_is_unmapped)
{
	struct unwind_table sframe = add_sframe(self);
	int status;
	pid_t child;

	ASSERT_EQ(0, do_register(&sframe));
	ASSERT_EQ(0, madvise((void *)sframe.table_start, PAGE, MADV_DONTFORK));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(tables_count());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, tables_count());
	EXPECT_CALLERS(RETURN(1), RETURN(2));

	ASSERT_EQ(0, munmap((void *)sframe.table_start, PAGE));
	EXPECT_EQ(0, tables_count());
	EXPECT_EQ(-ENOENT, do_unregister(&sframe));
	EXPECT_EQ(-ENOENT, do_unregister(&self->synth.ranges));
}

TEST_F(synth, malformed_table_disabled_alone)
{
	struct unwind_table sframe = add_sframe(self);

	((struct hand_table *)sframe.table_start)->version = 2;
	ASSERT_EQ(0, do_register(&sframe));
	EXPECT_CALLERS(RETURN(2));
	EXPECT_END(COMPLETE);
	EXPECT_STREQ(VERSION_STATE, state_of(&sframe));
	EXPECT_STREQ("good", state_of(&self->synth.ranges));

	/* The other way round. */
	((struct hand_table *)sframe.table_start)->version = 3;
	ASSERT_EQ(0, do_register(&sframe));
	eh_header(&self->synth)->version = 2;
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(MALFORMED);
	EXPECT_STREQ("good", state_of(&sframe));
	EXPECT_STREQ("disabled:version@0x80", state_of(&self->synth.ranges));
}

/* --- Tables that mean no good --- */

/* Break the table of one function, be sampled, and see what is said about it. */
#define EXPECT_REFUSED(state, change) do {				\
	struct eh_header *header = eh_header(&self->synth);		\
	unsigned char *cie = self->synth.table;				\
	struct eh_fde *fde;						\
									\
	EH_NO_RULES();							\
	fde = EH_CFI(NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP); \
	(void)header;							\
	(void)cie;							\
	(void)fde;							\
	change;								\
	EXPECT_NO_CALLERS();						\
	EXPECT_END(MALFORMED);						\
	EXPECT_STREQ(state, state_of(&self->synth.ranges));		\
} while (0)

TEST_F(synth, refused)
{
	WORD(0x00) = RETURN(1);
	EXPECT_REFUSED("disabled:version@0x80", header->version = 2);
	EXPECT_REFUSED("disabled:index-encoding@0x82", header->count_encoding = 0x04);
	EXPECT_REFUSED("disabled:index-encoding@0x83", header->index_encoding = 0x33);
	/* More than there can be: the table ends before. */
	EXPECT_REFUSED("disabled:layout@0x84", header->count = -1);
	EXPECT_REFUSED("disabled:layout@0x84", header->count = SYNTH_TABLE / 8);
	EXPECT_REFUSED("disabled:fde-place@0x88", header->index[0].fde = SYNTH_TABLE);
	EXPECT_REFUSED("disabled:fde-place@0x88", header->index[0].fde = -EH_HEADER - 1);
}

/* What is wrong with the records of one function says nothing about the table. */
TEST_F(synth, records_refused)
{
	WORD(0x00) = RETURN(1);
	/* Lengths that wrap, or are of another kind. */
	EXPECT_REFUSED("good", fde->length = 0xffffffff);
	EXPECT_REFUSED("good", fde->length = 0xfffffff0);
	EXPECT_REFUSED("good", fde->length = SYNTH_TABLE);
	EXPECT_REFUSED("good", fde->length = 3);
	EXPECT_REFUSED("good", fde->length = 0);
	EXPECT_REFUSED("good", fde->cie = 0);
	/* CIEs that are not there, or none; and one that is its own FDE. */
	EXPECT_REFUSED("good", fde->cie = 0x291);
	EXPECT_REFUSED("good", fde->cie = -4);
	EXPECT_REFUSED("good", fde->cie = 4);
	EXPECT_REFUSED("good", memset(cie, 0xff, 4));
	EXPECT_REFUSED("good", cie[4] = 1);
	EXPECT_REFUSED("good", fde->start++);
	EXPECT_REFUSED("good", fde->program[0] = RESTORE);
	/* An operand behind the end, and numbers without one. */
	EXPECT_REFUSED("good", fde->program[10] = DEF_CFA_OFFSET);
	EXPECT_REFUSED("good",
		       (fde->program[0] = DEF_CFA_OFFSET, memset(fde->program + 1, 0x80, 10)));
}

/* Whether the stack is as it should be where the kernel may remember what it has found out. */
static bool is_again(struct synth *synth, unsigned long caller, unsigned int nr, __u8 end)
{
	return !synth_sample_again(synth) && synth->chain.nr == nr && synth->chain.end == end &&
	       (nr == 1 || synth->chain.ips[1] == caller);
}

/* A function whose FDE is malformed takes none of the others along. */
TEST_F(synth, one_bad_function)
{
	EH_CFI(RESTORE);
	EH_CFI(NOP);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x00) = RETURN(2);
	memcpy((void *)synth_function(&self->synth, 1), synth_code, sizeof(synth_code));
	for (int i = 0; i < 3; i++) {
		REGS.ip = synth_function(&self->synth, 0);
		EXPECT_TRUE(is_again(&self->synth, 0, 1, PERF_CALLCHAIN_END_MALFORMED));
		EXPECT_STREQ("good", state_of(&self->synth.ranges));
		REGS.ip = synth_function(&self->synth, 1);
		EXPECT_TRUE(is_again(&self->synth, RETURN(2), 2, PERF_CALLCHAIN_END_COMPLETE));
	}
}

/* An index that is not sorted, where a search sees it. */
TEST_F(synth, unsorted)
{
	struct eh_header *header = eh_header(&self->synth);

	for (int i = 0; i < 8; i++)
		EH_CFI(NOP);
	/* The other way round: the second one that a search sees is above the first. */
	for (int i = 1; i < 8; i++)
		header->index[i].start = header->index[0].start + (8 - i) * (int)FUNCTION_SIZE;
	WORD(0x00) = RETURN(1);
	EXPECT_NO_CALLERS();
	EXPECT_END(MALFORMED);
	EXPECT_EQ(0, strncmp("disabled:unsorted@", state_of(&self->synth.ranges), 18));
}

/*
 * The longest program that there is room for; frames of a word, all in it, and few of
 * the same address, which would be looked up once.
 */
TEST_F(synth, the_longest_programs)
{
	static unsigned char program[SYNTH_TABLE - EH_FDES - PAGE];
	unsigned long *stack = (unsigned long *)self->synth.stack;

	/* Advances by nothing. */
	memset(program, ADVANCE(0), sizeof(program));
	EH_CFI(NOP);
	eh_add(&self->synth, EH_CIE, program, sizeof(program));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = synth_function(&self->synth, 1) + 1 + i % (FUNCTION_SIZE - 1);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_END(BUDGET);

	/* With a shorter one it gets further, and another stack has as much as before. */
	for (int i = 0; i < 2; i++) {
		EH_NO_RULES();
		EH_CFI(NOP);
		eh_add(&self->synth, EH_CIE, program, 20000);
		EXPECT_EQ(NULL, synth_sample(&self->synth));
		EXPECT_LT(4, self->synth.chain.nr);
		EXPECT_GT(32, self->synth.chain.nr);
		EXPECT_END(BUDGET);
	}
	/* One that knows what these have found out gets further still, in the end to the end. */
	for (unsigned int i = 0, last = self->synth.chain.nr; i < 32; i++) {
		EXPECT_EQ(NULL, synth_sample_again(&self->synth));
		if (self->synth.chain.end != PERF_CALLCHAIN_END_BUDGET)
			break;
		EXPECT_LT(last, self->synth.chain.nr);
		last = self->synth.chain.nr;
	}
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	EXPECT_END(DEPTH);
	EH_NO_RULES();
	EH_CFI(NOP);
	EH_CFI(NOP);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	EXPECT_END(DEPTH);
}

TEST_F(synth, states_without_end)
{
	static unsigned char program[65536];

	memset(program, REMEMBER, sizeof(program));
	eh_add(&self->synth, EH_CIE, program, sizeof(program));
	WORD(0x00) = RETURN(1);
	EXPECT_NO_CALLERS();
	EXPECT_END(RULE);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
}

TEST_F_TIMEOUT(synth, a_table_that_changes, 600)
{
	struct changing changing = {
		.synth = &self->synth, .frames = MOST_FRAMES, .len = EH_FDES + 128,
		.header = EH_HEADER, .header_len = 8,
	};
	unsigned long *stack = (unsigned long *)self->synth.stack;

	EH_CFI(NOP);
	EH_CFI(NOP);
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = RETURN(1);
	EXPECT_EQ(NULL, changing_sample(&changing));
	EXPECT_LT(0, changing.whole);
	EXPECT_LT(changing.whole, changing.samples);
	EXPECT_LT(0, changing.writes);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

/* --- The call --- */

TEST_F(synth, headers_are_in_their_tables)
{
	struct unwind_table table = self->synth.ranges;

	ASSERT_EQ(0, do_unregister(&table));
	table.header = 0;
	EXPECT_EQ(-EINVAL, do_register(&table));
	table.header = table.table_start - 1;
	EXPECT_EQ(-EINVAL, do_register(&table));
	table.header = table.table_end;
	EXPECT_EQ(-EINVAL, do_register(&table));
	/* Its bytes are not looked at. */
	table.header = table.table_end - 1;
	self->synth.ranges.header = table.header;
	EXPECT_EQ(0, do_register(&table));
	EXPECT_NO_CALLERS();
	EXPECT_STREQ("disabled:truncated@0x200000", state_of(&table));
	ASSERT_EQ(0, do_unregister(&table));

	table.format = UNWIND_TABLE_SFRAME;
	EXPECT_EQ(-EINVAL, do_register(&table));
	table.header = 0;
	EXPECT_EQ(0, do_register(&table));
}

TEST_HARNESS_MAIN
