// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks by .eh_frame: what a table may say, tables of both formats for a text, and
 * tables that mean no good. RACE_SECONDS says how long a table changes.
 */
#include "harness.h"

#include "synth.h"
#include "eh_frame.h"
#include "synth_fixture.h"
#include "hostile.h"

#define EXPECT_END(expected)	EXPECT_EQ(PERF_CALLCHAIN_END_##expected, self->synth.chain.end)

/* --- Rules --- */

/* The tests can fail: what no rule says does not happen. */
TEST_F(synth, without_a_rule)
{
	WORD(0x00) = RETURN(1);
	EXPECT_ENDS(NO_INFO);
	EH_RULES(CFI(NOP), CFI(UNDEFINED, RETURN_ADDRESS));
	EXPECT_ENDS(COMPLETE, RETURN(1));
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
}

/* Nobody knows the frame pointer of a caller, if its rule does not need that. */
TEST_F(synth, a_frame_pointer_that_is_lost)
{
	/* In r12, which only the topmost frame is known to have; or nowhere. */
	EH_RULES(CFI(NOP), CFI(IN_REGISTER, FP, S1), CFI(UNDEFINED, FP, DEF_CFA_OFFSET, 16),
		 CFI(DEF_CFA_OFFSET, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.fp = AT(0x80);
	REGS.s1 = AT(0x80);
	WORDS({ 0x00, RETURN(1) }, { 0x08, RETURN(2) }, { 0x18, RETURN(3) }, { 0x28, RETURN(4) },
	      { 0x88, RETURN(4) });
	EXPECT_STACK(COMPLETE, false, RETURN(1), RETURN(2), RETURN(3), RETURN(4));
	EXPECT_STREQ("good", state_of(&self->synth.ranges));

	/* A rule needs it, which is not wrong; and so does code without a rule. */
	EH_RULES(CFI(NOP), CFI(IN_REGISTER, FP, S1), CFI(NOP), CFI(DEF_CFA, FP, 16),
		 CFI(UNDEFINED, RETURN_ADDRESS));
	WORD(0x10) = RETURN(3);
	EXPECT_STACK(NO_INFO, false, RETURN(1), RETURN(2), RETURN(3));
	WORD(0x10) = RETURN(5);
	EXPECT_ENDS(NO_INFO, RETURN(1), RETURN(2), RETURN(5));

	/* A frame in between has saved its own. */
	EH_RULES(CFI(UNDEFINED, FP), CFI(DEF_CFA_OFFSET, 24, SAVED(FP), 2), CFI(DEF_CFA, FP, 16),
		 CFI(UNDEFINED, RETURN_ADDRESS));
	WORDS({ 0x10, AT(0x100) }, { 0x18, RETURN(2) }, { 0x108, RETURN(3) });
	EXPECT_ENDS(COMPLETE, RETURN(1), RETURN(2), RETURN(3));

	/* The topmost frame has it in a register. */
	EH_RULES(CFI(IN_REGISTER, FP, S1), CFI(DEF_CFA, FP, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.fp = 0;
	WORD(0x88) = RETURN(2);
	EXPECT_ENDS(COMPLETE, RETURN(1), RETURN(2));
}

/* What is below the stack pointer is still there in a leaf, at the very start, too. */
TEST_F(synth, red_zone)
{
	EH_RULES(CFI(SAVED(FP), 3), CFI(DEF_CFA, FP, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.sp = AT(0x10);
	WORDS({ 0x00, AT(0x80) }, { 0x10, RETURN(1) }, { 0x88, RETURN(2) });
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	/* Nothing is below the mapping. */
	REGS.sp = AT(0x10 - SYNTH_BELOW);
	WORDS({ 0x00 - SYNTH_BELOW, AT(0x80) }, { 0x10 - SYNTH_BELOW, RETURN(1) });
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	REGS.sp = AT(0x08 - SYNTH_BELOW);
	WORD(0x08 - SYNTH_BELOW) = RETURN(1);
	EXPECT_ENDS(BAD_FRAME);
}

TEST_F(synth, other_registers)
{
	/* A function that aligns its stack: the CFA is in a register, then on the stack. */
	EH_CFI(DEF_CFA, T0, 0);
	/* breg FP -8, deref */
	EH_CFI(DEF_CFA_EXPRESSION, 3, BREG(FP), 0x78, 0x06);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.t0 = AT(0x100);
	REGS.fp = AT(0x1000);
	WORDS({ 0xf8, RETURN(1) }, { 0xff8, AT(0x2000) }, { 0x1ff8, RETURN(2) });
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

/*
 * An outer frame's CFA is in a register, as the dynamic linker's where it resolves a
 * function. Frames in between keep it, or save it.
 */
TEST_F(synth, a_register_of_an_outer_frame)
{
	EH_RULES(CFI(NOP), CFI(DEF_CFA_OFFSET, 24, SAVED(S0), 2), CFI(DEF_CFA_OFFSET, 16),
		 CFI(DEF_CFA, S0, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.s0 = AT(0x1000);
	WORDS({ 0x00, RETURN(1) }, { 0x10, AT(0x100) }, { 0x18, RETURN(2) }, { 0x28, RETURN(3) },
	      { 0x108, RETURN(4) });
	EXPECT_STACK(COMPLETE, false, RETURN(1), RETURN(2), RETURN(3), RETURN(4));
	/* Nobody has saved it: it is what the topmost frame has. */
	WORDS({ 0x00, RETURN(2) }, { 0x10, RETURN(3) }, { 0x1008, RETURN(4) });
	EXPECT_ENDS(COMPLETE, RETURN(2), RETURN(3), RETURN(4));
}

/* Nobody knows it where a frame loses it, or was found by something else than rules. */
TEST_F(synth, a_register_that_is_lost)
{
	EH_RULES(CFI(UNDEFINED, S0), CFI(DEF_CFA, S0, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.s0 = AT(0x100);
	WORDS({ 0x00, RETURN(1) }, { 0x108, RETURN(2) });
	EXPECT_ENDS(NO_INFO, RETURN(1));

	/* The second function is not in the table. */
	EH_RULES(CFI(NOP), CFI(NOP), CFI(DEF_CFA, S0, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	eh_header(&self->synth)->index[1].fde = 0;
	REGS.fp = AT(0x10);
	WORDS({ 0x00, RETURN(1) }, { 0x10, AT(0x80) }, { 0x18, RETURN(2) }, { 0x108, RETURN(3) });
	EXPECT_STACK(NO_INFO, true, RETURN(1), RETURN(2));

	/* Calls destroy it. */
	EH_RULES(CFI(NOP), CFI(DEF_CFA, T0, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.t0 = AT(0x100);
	WORDS({ 0x00, RETURN(1) }, { 0x108, RETURN(2) });
	EXPECT_ENDS(NO_INFO, RETURN(1));
}

/* A call overwrites the register that has the return address, whatever the caller's rule says. */
TEST_F(synth, a_return_address_that_a_caller_has_kept)
{
	EH_RULES(CFI(NOP), CFI(SAME_VALUE, RETURN_ADDRESS), CFI(UNDEFINED, RETURN_ADDRESS));
	WORD(0x00) = RETURN(1);
	REGS.fp = 1;
	*row_return(&REGS, 0x10) = RETURN(2);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_EQ(KEPT_RA_ENDS, self->synth.chain.end);
}

/* A signal's frame has all of them, whatever was before. */
TEST_F(synth, a_register_below_a_signal)
{
	ucontext_t *context;

	EH_RULES(CFI(NOP), CFI(DEF_CFA_OFFSET, 24), CFI(DEF_CFA, S0, 16),
		 CFI(UNDEFINED, RETURN_ADDRESS));
	memcpy((void *)synth_function(&self->synth, 20), restorer_code, sizeof(restorer_code));
	WORD(0x00) = synth_function(&self->synth, 20);
	REGS.s0 = AT(0x3000);
	context = synth_signal(&WORD(0x08), RETURN(1), AT(0x1000), 0);
	UC_S0(context) = AT(0x2000);
	WORDS({ 0x1010, RETURN(2) }, { 0x2008, RETURN(3) }, { 0x3008, RETURN(2) });
	EXPECT_ENDS(COMPLETE, synth_function(&self->synth, 20), RETURN(1), RETURN(2), RETURN(3));
}

/* It is stored in a frame that has more above that. */
TEST_F(synth, cfa_far_above)
{
	/* breg SP 16, deref, plus_uconst 80; the frame pointer at CFA - 24 */
	EH_RULES(CFI(DEF_CFA_EXPRESSION, 5, BREG(SP), 16, 0x06, 0x23, 80, SAVED(FP), 3),
		 CFI(DEF_CFA, FP, 16), CFI(UNDEFINED, RETURN_ADDRESS));
	WORDS({ 0x10, AT(0x200) }, { 0x248, RETURN(1) }, { 0x238, AT(0x300) },
	      { 0x308, RETURN(2) });
	EXPECT_ENDS(COMPLETE, RETURN(1), RETURN(2));
}

/*
 * Two stacks that call each other, as OCaml's runtime does: the one that is called
 * stores the other's stack pointer, or has it in a register. Above or below, that is
 * no guess.
 */
TEST_F(synth, stacks_by_turns)
{
	unsigned long *below = synth_memory(PAGE);

	ASSERT_NE(NULL, below);
	ASSERT_LT((unsigned long)below, AT(0));
	EH_RULES(CFI(DEF_CFA_EXPRESSION, 5, BREG(SP), 8, 0x06, 0x23, 8),
		 CFI(DEF_CFA_EXPRESSION, 5, BREG(SP), 16, 0x06, 0x23, 80), CFI(DEF_CFA, S0, 16),
		 CFI(UNDEFINED, RETURN_ADDRESS));
	WORD(0x08) = (unsigned long)&below[0];
	below[0] = RETURN(1);
	below[3] = AT(0x100);
	WORD(0x148) = RETURN(2);
	REGS.s0 = (unsigned long)&below[16];
	below[17] = RETURN(3);
	EXPECT_STACK(COMPLETE, false, RETURN(1), RETURN(2), RETURN(3));

	/* Below, on the same stack, nobody called. */
	WORDS({ 0x08, AT(-0x80) }, { -0x80, RETURN(1) });
	EXPECT_ENDS(BAD_FRAME);
	/* Nor where there is no code to return to, or no stack. */
	WORD(0x08) = (unsigned long)&below[0];
	below[0] = AT(0);
	EXPECT_NO_CALLERS();
	below[0] = RETURN(1);
	ASSERT_EQ(0, mprotect(below, PAGE, PROT_READ));
	EXPECT_ENDS(BAD_FRAME);
	ASSERT_EQ(0, munmap(below, PAGE));
	EXPECT_ENDS(BAD_FRAME);
}

/* S without the kernel's frame: the caller's address is exact. */
TEST_F(synth, signal_without_a_frame)
{
	EH_SIGNAL(NOP);
	EH_CFI(DEF_CFA_OFFSET, 24);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	/* One byte before begins another function. */
	WORDS({ 0x00, synth_function(&self->synth, 1) }, { 0x18, RETURN(2) });
	EXPECT_CALLERS(synth_function(&self->synth, 1), RETURN(2));
}

/* --- What is not supported --- */

TEST_F(synth, unsupported)
{
	EH_CFI(DEF_CFA_EXPRESSION, 2, BREG(SP), 8);	/* an expression that adds only */
	EH_CFI(DEF_CFA_EXPRESSION, 3, BREG(SP), 8, 0x94);	/* or reads less than a word */
	EH_CFI(DEF_CFA, SP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x08) = RETURN(3);
	REGS.ip = synth_function(&self->synth, 1);
	write_code((void *)REGS.ip, synth_code, sizeof(synth_code));
	EXPECT_ENDS(RULE);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
	/* Others are as good as before. */
	REGS.ip = synth_function(&self->synth, 2);
	write_code((void *)REGS.ip, synth_code, sizeof(synth_code));
	EXPECT_ENDS(COMPLETE, RETURN(3));
}

/* A frame pointer may still lead on. */
TEST_F(synth, unsupported_and_a_frame_pointer)
{
	EH_RULES(CFI(DEF_CFA_EXPRESSION, 3, BREG(SP), 8, 0x94), CFI(UNDEFINED, RETURN_ADDRESS));
	REGS.fp = AT(0x100);
	WORD(0x108) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_TRUE(self->synth.chain.guessed);
}

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
	REGS.fp = 1;
	WORD(0x00) = RETURN(2);
	*row_return(&REGS, 16) = RETURN(1);
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
	EXPECT_ENDS(COMPLETE, RETURN(1), RETURN(2));

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
	EXPECT_ENDS(NO_INFO, RETURN(1));
	EXPECT_EQ(1, tables_count());
}

TEST_F(synth, malformed_table_disabled_alone)
{
	struct unwind_table sframe = add_sframe(self);

	((struct hand_table *)sframe.table_start)->version = 2;
	ASSERT_EQ(0, do_register(&sframe));
	EXPECT_ENDS(COMPLETE, RETURN(2));
	EXPECT_STREQ(VERSION_STATE, state_of(&sframe));
	EXPECT_STREQ("good", state_of(&self->synth.ranges));

	/* The other way round. */
	((struct hand_table *)sframe.table_start)->version = 3;
	ASSERT_EQ(0, do_register(&sframe));
	eh_header(&self->synth)->version = 2;
	EXPECT_ENDS(MALFORMED, RETURN(1));
	EXPECT_STREQ("good", state_of(&sframe));
	EXPECT_STREQ("disabled:version@0x80", state_of(&self->synth.ranges));
}

/* --- Tables that mean no good --- */

/* Whether the stack is as it should be where the kernel may remember what it has found out. */
static bool is_again(struct synth *synth, unsigned long caller, unsigned int nr, __u8 end)
{
	return !synth_sample_again(synth) && synth->chain.nr == nr && synth->chain.end == end &&
	       (nr == 1 || synth->chain.ips[1] == caller);
}

/* A function whose FDE is malformed takes none of the others along. */
TEST_F(synth, one_bad_function)
{
	EH_RULES(CFI(RESTORE), CFI(NOP), CFI(UNDEFINED, RETURN_ADDRESS));
	WORD(0x00) = RETURN(2);
	write_code((void *)synth_function(&self->synth, 1), synth_code, sizeof(synth_code));
	for (int i = 0; i < 3; i++) {
		REGS.ip = synth_function(&self->synth, 0);
		EXPECT_TRUE(is_again(&self->synth, 0, 1, PERF_CALLCHAIN_END_MALFORMED));
		EXPECT_STREQ("good", state_of(&self->synth.ranges));
		REGS.ip = synth_function(&self->synth, 1);
		EXPECT_TRUE(is_again(&self->synth, RETURN(2), 2, PERF_CALLCHAIN_END_COMPLETE));
	}
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
	EH_RULES(CFI(NOP), CFI(NOP));
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	EXPECT_END(DEPTH);
}

/*
 * A second walk, which carries a register along, has what the first one has left. In it, each
 * program is read to find where that register is saved; and before, unless its rule is known.
 */
TEST_F(synth, a_second_walk_of_long_programs)
{
	static unsigned char program[STACK_BUDGET];

	memset(program, ADVANCE(0), sizeof(program));
	REGS.s0 = AT(0x100);
	WORDS({ 0x000, RETURN(1) }, { 0x108, RETURN(2) }, { 0x110, RETURN(3) });
	for (int is_long = 0; is_long < 2; is_long++) {
		EH_NO_RULES();
		eh_add(&self->synth, EH_CIE, program, STACK_BUDGET / 4);
		EH_CFI(DEF_CFA, S0, 16);
		eh_add(&self->synth, EH_CIE, program, STACK_BUDGET / (is_long ? 3 : 30));
		EH_CFI(UNDEFINED, RETURN_ADDRESS);
		/* The first one gets the table's pages, and pays for its reads until then. */
		EXPECT_EQ(NULL, synth_sample(&self->synth) ?: synth_sample(&self->synth));
		EXPECT_LE(3, self->synth.chain.nr);
		EXPECT_EQ(is_long ? PERF_CALLCHAIN_END_BUDGET : PERF_CALLCHAIN_END_COMPLETE,
			  self->synth.chain.end);
	}
}

TEST_F_TIMEOUT(synth, a_table_that_changes, 600)
{
	struct changing changing = {
		.synth = &self->synth, .frames = MOST_FRAMES, .len = EH_FDES + 128,
		.header = EH_HEADER, .header_len = 8,
	};
	unsigned long *stack = (unsigned long *)self->synth.stack;

	EH_RULES(CFI(NOP), CFI(NOP));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = RETURN(1);
	EXPECT_EQ(NULL, changing_sample(&changing));
	EXPECT_LT(0, changing.whole);
	EXPECT_LT(changing.whole, changing.samples);
	EXPECT_LT(0, changing.writes);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
}

TEST_HARNESS_MAIN
