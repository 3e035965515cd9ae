// SPDX-License-Identifier: GPL-2.0
/*
 * All that a rule may say, each on a stack that fits that alone; and what the walker may
 * not follow: return addresses and CFAs that cannot be, and stacks that end.
 */
#include "harness.h"

#include "synth_fixture.h"

/* The tests can fail: what no rule says does not happen. */
TEST_F(synth, without_a_rule)
{
	REGS.fp = AT(0x100);
	WORDS({ 0x00, RETURN(1) }, { 0x108, RETURN(2) });
	/* By frame pointer, then there is none. */
	EXPECT_CALLERS(RETURN(2));
	RULES(BY_SP(8), OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
}

/* --- The CFA --- */

TEST_F(synth, cfa_from_sp)
{
	static const int offsets[] = { 8, 0x40, 0x100, 0x108, 0x1000, 0x12000 };

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
		RULES(BY_SP(offsets[i]), BY_SP(0x20), OUTERMOST);
		WORDS({ offsets[i] - 8, RETURN(1) }, { offsets[i] + 0x18, RETURN(2) });
		EXPECT_CALLERS(RETURN(1), RETURN(2));
		memset(self->synth.stack, 0, SYNTH_STACK);
	}
}

TEST_F(synth, cfa_from_fp)
{
	/* Each of two functions saves the frame pointer where it points to. */
	RULES(BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), BY_FP(-0x80), OUTERMOST);
	REGS.fp = AT(0x40);
	WORDS({ 0x40, AT(0x13000) }, { 0x48, RETURN(1) }, { 0x13000, AT(0x13100) },
	      { 0x13008, RETURN(2) });
	/* At last the CFA is below the frame pointer. */
	WORD(0x13078) = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
}

TEST_F(synth, cfa_from_another_register)
{
	static const int registers[] = { SYNTH_REGISTERS };
	unsigned long *values = &REGS.sp;

	/* Each points to a place of its own, with another return address. */
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		values[i] = AT(0x100 * i);
		WORD(0x100 * i + 0x1000) = RETURN(1) + i;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		RULES(FLEXIBLE(REG(registers[i]), 0x1008), OUTERMOST);
		EXPECT_CALLERS(RETURN(1) + i);
	}
}

TEST_F(synth, cfa_on_the_stack)
{
	static const int registers[] = { SP, FP, S1 };

	REGS.fp = AT(0x200);
	REGS.s1 = AT(0x300);
	WORDS({ 0x10, AT(0x1000) }, { 0x210, AT(0x2000) }, { 0x310, AT(0x12000) },
	      { 0xff8, RETURN(1) }, { 0x1ff8, RETURN(1) + 1 }, { 0x11ff8, RETURN(1) + 2 });
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		RULES(FLEXIBLE(AT_REG(registers[i]), 0x10), OUTERMOST);
		EXPECT_CALLERS(RETURN(1) + i);
	}
}

/* --- The return address --- */

/* Also all distances of what is read together. */
TEST_F(synth, return_address_on_the_stack)
{
	for (int offset = -0x300; offset <= HIGHEST_RA; offset += 8) {
		RULES(FLEXIBLE(REG(SP), 0x400, AT_CFA, offset), BY_SP(0x100), OUTERMOST);
		WORDS({ 0x400 + offset, RETURN(1) }, { 0x4f8, RETURN(2) });
		EXPECT_CALLERS(RETURN(1), RETURN(2));
		WORD(0x400 + offset) = 0;
	}
}

TEST_F(synth, return_address_far_away)
{
	static const int offsets[] = { -0x12008, -0x10000, -0x1000, 0x1000, 0xdff0 };

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
		RULES(FLEXIBLE(REG(SP), 0x12008, AT_CFA, offsets[i]), OUTERMOST);
		WORD(0x12008 + offsets[i]) = RETURN(1);
		EXPECT_CALLERS(RETURN(1));
		WORD(0x12008 + offsets[i]) = 0;
	}
}

TEST_F(synth, return_address_in_a_register)
{
	RULES(FLEXIBLE(REG(SP), 0x10, REG(S1), -3), BY_SP(0x10), OUTERMOST);
	REGS.s1 = RETURN(1) + 3;
	WORDS({ 0x08, RETURN(5) }, { 0x18, RETURN(2) });
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

TEST_F(synth, return_address_where_a_register_points_to)
{
	static const int registers[] = { SP, FP, S3 };

	REGS.sp = AT(0x20);
	REGS.fp = AT(0x2000);
	REGS.s3 = AT(0x3000);
	WORDS({ 0x00, RETURN(1) }, { 0x1fe0, RETURN(1) + 1 }, { 0x2fe0, RETURN(1) + 2 });
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		RULES(FLEXIBLE(REG(SP), 0x10, AT_REG(registers[i]), -0x20), OUTERMOST);
		EXPECT_CALLERS(RETURN(1) + i);
	}
}

/* --- The frame pointer, which shows in the frame after the next --- */

#define EXPECT_FP(...) do {						\
	NO_RULES();							\
	RULE(__VA_ARGS__);						\
	RULE(BY_FP(0x10));						\
	RULE(OUTERMOST);						\
	WORD(0x1008) = RETURN(2);					\
	EXPECT_CALLERS(RETURN(1), RETURN(2));				\
} while (0)

TEST_F(synth, fp_unchanged)
{
	WORD(0x18) = RETURN(1);
	REGS.fp = AT(0x1000);
	EXPECT_FP(BY_SP(0x20));
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20));
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, AT_CFA, -8));
}

TEST_F(synth, fp_on_the_stack)
{
	for (int offset = -0x300; offset <= 0x40; offset += 8) {
		if (offset == -8)
			continue;
		WORDS({ 0x3f8, RETURN(1) }, { 0x400 + offset, AT(0x1000) });
		EXPECT_FP(BY_SP(0x400, offset));
		EXPECT_FP(FLEXIBLE(REG(SP), 0x400, NO_RULE, AT_CFA, offset));
		WORD(0x400 + offset) = 0;
	}
}

TEST_F(synth, fp_in_a_register)
{
	WORD(0x18) = RETURN(1);
	REGS.fp = AT(0x2000);
	REGS.s2 = AT(0x0f00);
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, REG(S2), 0x100));
	REGS.sp = AT(0);
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, REG(SP), 0x1000));
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, AT_CFA, -8, REG(FP), -0x1000));
}

TEST_F(synth, fp_where_a_register_points_to)
{
	WORD(0x18) = RETURN(1);
	REGS.fp = AT(0x2000);
	REGS.s2 = AT(0x3000);
	WORD(0x10) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, AT_REG(SP), 0x10));
	WORDS({ 0x10, 0 }, { 0x1ff8, AT(0x1000) });
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, AT_REG(FP), -8));
	WORDS({ 0x1ff8, 0 }, { 0x3008, AT(0x1000) });
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, AT_REG(S2), 8));
}

/* --- All of it --- */

/* A rule never sees what it restores. */
TEST_F(synth, operands_are_the_current_frames)
{
	REGS.sp = AT(0x100);
	REGS.fp = AT(0x200);
	/* CFA 0x400, by the old frame pointer, which the return address is at, too. */
	WORDS({ 0x200, AT(0x1000) }, { 0x208, RETURN(1) }, { 0x210, AT(0x400) });
	/* What is found by the new one, and by the new stack pointer. */
	WORDS({ 0x1008, RETURN(8) }, { 0x408, RETURN(9) });
	RULE(FLEXIBLE(AT_REG(FP), 0x10, AT_REG(FP), 8, AT_REG(FP), 0));
	/* The stack pointer is 0x400; its offsets are not from the new one, 0x500. */
	RULE(FLEXIBLE(REG(SP), 0x100, AT_REG(SP), 0x20, AT_REG(SP), 0x28));
	WORDS({ 0x420, RETURN(2) }, { 0x428, AT(0x2000) }, { 0x520, RETURN(8) },
	      { 0x528, AT(0x600) });
	/* The return address from the old frame pointer, 0x2000, itself. */
	RULE(FLEXIBLE(REG(FP), 0x10, AT_REG(FP), 8, AT_CFA, -0x10));
	WORDS({ 0x2000, AT(0x3000) }, { 0x2008, RETURN(3) }, { 0x3008, RETURN(4) });
	RULE(BY_FP(0x10, -0x10));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3), RETURN(4));
}

/* Other registers are those of the topmost frame, and nobody else's. */
TEST_F(synth, another_register_in_a_callers_frame)
{
	static const struct rule others[] = {
		FLEXIBLE(REG(S1), 0x10),
		FLEXIBLE(AT_REG(S1), 0x18),
		FLEXIBLE(REG(SP), 0x10, REG(S2), 0),
		FLEXIBLE(REG(SP), 0x10, AT_REG(S1), 8),
	};

	REGS.s1 = AT(0x100);
	REGS.s2 = RETURN(2);
	/* By frame pointer it would go on as well. */
	REGS.fp = AT(0x200);
	WORDS({ 0x00, RETURN(1) }, { 0x10, RETURN(2) }, { 0x108, RETURN(2) }, { 0x118, AT(0x110) },
	      { 0x208, RETURN(2) });
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		RULES(BY_SP(8), others[i], OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
		/* On top it holds. */
		RULES(others[i], OUTERMOST, OUTERMOST);
		WORD(0x08) = RETURN(2);
		EXPECT_CALLERS(RETURN(2));
		WORD(0x08) = 0;
	}
}

/* Below a signal's frame they are known again, for one frame. */
TEST_F(synth, another_register_below_a_signal)
{
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;
	unsigned long ip = RETURN(1) + 5;
	ucontext_t *context;

	memcpy(restorer, restorer_code, sizeof(restorer_code));
	RULES(BY_SP(8), FLEXIBLE(REG(S1), 0x10, AT_REG(S0), 8, REG(T1), 0x20), BY_FP(0x10),
	      FLEXIBLE(REG(S1), 0x1010), OUTERMOST);
	/* What is interrupted has its stack below the handler's. */
	REGS.sp = AT(0x8000);
	WORD(0x8000) = (unsigned long)restorer;
	context = synth_signal((void *)AT(0x8008), ip, AT(0x100), 0);
	UC_S1(context) = AT(0x200);
	UC_S0(context) = AT(0x300);
	UC_T1(context) = AT(0x400);
	/* Those on top are others. */
	REGS.s1 = AT(0x8100);
	REGS.s0 = AT(0x8200);
	REGS.t1 = AT(0x8300);
	WORDS({ 0x308, RETURN(2) }, { 0x428, RETURN(3) }, { 0x1208, RETURN(4) });
	EXPECT_CALLERS((unsigned long)restorer, ip, RETURN(2), RETURN(3));
}

TEST_F(synth, outermost)
{
	static const struct rule ends[] = { OUTERMOST, { .flexible = true } };

	/* There would be more, by the next rule and by frame pointer. */
	REGS.fp = AT(0x100);
	WORDS({ 0x00, RETURN(1) }, { 0x08, RETURN(2) }, { 0x108, RETURN(2) });
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		EXPECT_NONE_BY(ends[i]);
		RULES(BY_SP(8), ends[i], OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
	}
}

/* --- What the walker must not follow --- */

static unsigned char *restorer_at(struct synth *synth)
{
	unsigned char *at = synth->text + 20 * FUNCTION_SIZE;

	memcpy(at, restorer_code, sizeof(restorer_code));
	return at;
}

/* --- Return addresses --- */

TEST_F(synth, bad_return_address)
{
	static const unsigned long none[] = {
		0, -1UL, -4095UL, 1UL << 63, 1UL << 62, 0xffffffff81000000UL,
		/* Where user space ends with four and with five levels of tables. */
		0xfffffffffff000UL, 1UL << 56,
		PERF_CONTEXT_HV, PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER,
		PERF_CONTEXT_USER_DEFERRED, PERF_CONTEXT_GUEST, PERF_CONTEXT_GUEST_KERNEL,
		PERF_CONTEXT_GUEST_USER, PERF_CONTEXT_MAX,
	};
	unsigned char *restorer = restorer_at(&self->synth);

	/* What is behind them in the stack is good. */
	WORDS({ 0x00, RETURN(1) }, { 0x10, RETURN(2) }, { 0x18, RETURN(2) }, { 0x500, RETURN(2) });
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		/* On the stack, near and far. */
		WORD(0x08) = none[i];
		RULES(BY_SP(8), BY_SP(8));
		EXPECT_CALLERS(RETURN(1));
		RULES(BY_SP(8), FLEXIBLE(REG(SP), 0x800, AT_CFA, -0x800));
		EXPECT_CALLERS(RETURN(1));
		/* By frame pointer. */
		RULES(BY_SP(8));
		REGS.fp = AT(0x100);
		WORDS({ 0x100, AT(0x200) }, { 0x108, none[i] }, { 0x208, RETURN(2) });
		EXPECT_CALLERS(RETURN(1));
		/* In a register. */
		RULES(FLEXIBLE(REG(SP), 8, REG(S1), 0));
		REGS.s1 = none[i];
		EXPECT_NO_CALLERS();
		/* Where a signal interrupted. */
		RULES(BY_SP(8));
		WORD(0x00) = (unsigned long)restorer;
		synth_signal((void *)AT(0x08), none[i], AT(0x500), AT(0x4f8));
		EXPECT_CALLERS((unsigned long)restorer);
		WORD(0x00) = RETURN(1);
	}

	/* The highest user address may be one, but there is no code. */
	RULES(BY_SP(8), BY_SP(8));
	REGS.fp = 0;
	WORD(0x08) = 0x7fffffffefffUL;
	EXPECT_CALLERS(RETURN(1));
	EXPECT_EQ(PERF_CALLCHAIN_END_BAD_FRAME, self->synth.chain.end);
}

/* What a signal interrupted must be code of 64 bits. */
TEST_F(synth, signals_in_other_code)
{
	unsigned char *restorer = restorer_at(&self->synth);
	ucontext_t *context;

	RULES(BY_SP(8), OUTERMOST);
	WORD(0x00) = (unsigned long)restorer;
	context = synth_signal((void *)AT(0x08), RETURN(1), AT(0x500), 0);
	EXPECT_CALLERS((unsigned long)restorer, RETURN(1));
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, self->synth.chain.end);
	for (unsigned int mode = 0; mode < 0x40; mode++) {
		UC_MODE(context) = mode;
		if (is_mode_64(mode))
			continue;
		EXPECT_CALLERS((unsigned long)restorer);
		EXPECT_EQ(PERF_CALLCHAIN_END_BAD_FRAME, self->synth.chain.end);
	}
}

/* A restorer's code is read in one mapping: what is beside that may be a device. */
TEST_F(synth, restorers_at_the_ends_of_mappings)
{
	const size_t len = sizeof(restorer_code);
	unsigned char *page = self->synth.text + 9 * PAGE;
	unsigned char *places[] = { page - len, page, page + PAGE - len, page + PAGE,
				    page + 1 - len, page - 1, page + PAGE - 1 };

	RULES(BY_SP(8), OUTERMOST);
	for (int i = 0; i < 7; i++) {
		unsigned long restorer = (unsigned long)places[i];

		ASSERT_EQ(0, mprotect(page, PAGE, RW | PROT_EXEC));
		memcpy(places[i], restorer_code, len);
		ASSERT_EQ(0, mprotect(page, PAGE, RX));
		WORD(0x00) = restorer;
		synth_signal((void *)AT(0x08), RETURN(1), AT(0x500), 0);
		if (i < 4)
			EXPECT_CALLERS(restorer, RETURN(1));
		else
			EXPECT_CALLERS(restorer);
	}
}

/* --- The CFA --- */

TEST_F(synth, bad_cfa)
{
	const unsigned long none[] = {
		-1UL, -8UL, -16UL, -0x1000UL, 1UL << 63, 0x7ffffffff000UL, 0, 8, 0x1000,
		/* Misaligned. */
		AT(0x101), AT(0x104), AT(0x107),
		/* Below the frame. */
		AT(0x78), AT(0x00),
	};

	REGS.sp = AT(0x80);
	WORD(0x80) = RETURN(1);
	/* A return address in a register needs no stack, and one on it is there. */
	REGS.s1 = RETURN(1);
	for (int at = 0; at < 0x100; at++)
		((unsigned long *)AT(0x200))[at] = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		REGS.s0 = none[i];
		EXPECT_NONE_BY(FLEXIBLE(REG(S0), 0, REG(S1), 0), OUTERMOST);
		EXPECT_NONE_BY(FLEXIBLE(REG(S0), 0, AT_REG(SP), 0), OUTERMOST);
		/* By an offset that wraps around. */
		REGS.s0 = none[i] - 0x7ffffff8;
		EXPECT_NONE_BY(FLEXIBLE(REG(S0), 0x7ffffff8, REG(S1), 0), OUTERMOST);
		/* On the stack. */
		WORD(0x90) = none[i];
		EXPECT_NONE_BY(FLEXIBLE(AT_REG(SP), 0x10, REG(S1), 0), OUTERMOST);
	}
	/* The last one is not wrong by itself. */
	RULES(FLEXIBLE(REG(S0), 0x7ffffff8, REG(S1), 0), OUTERMOST);
	REGS.s0 = AT(0x88) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* The topmost frame may have nothing on the stack any more, */
	REGS.s0 = AT(0x80) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* but a caller has at least its return address there. */
	RULES(BY_SP(8), FLEXIBLE(REG(SP), 0, AT_CFA, 8), OUTERMOST);
	WORD(0x90) = RETURN(2);
	EXPECT_CALLERS(RETURN(1));
}

TEST_F(synth, bad_frame_pointer)
{
	const unsigned long none[] = {
		0, 1, -1UL, -8UL, -16UL, -0x1000UL, 1UL << 63, AT(0x101), AT(0x10b), AT(0x78),
		/* Its frame is no more, but the caller's would be. */
		AT(0x80),
	};

	REGS.sp = AT(0x80);
	WORD(0x80) = RETURN(1);
	/* What they would lead to is good. */
	WORDS({ 0x88, RETURN(2) }, { 0x109, RETURN(2) }, { 0x113, RETURN(2) });
	RULE(BY_SP(8));
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		REGS.fp = none[i];
		EXPECT_CALLERS(RETURN(1));
	}
	/* The rest of its frame is still to come. */
	WORD(0x90) = RETURN(2);
	REGS.fp = AT(0x88);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

/* --- Where a stack ends --- */

TEST_F(synth, end_of_the_stack)
{
	/* One page, and behind it what nobody may touch. */
	unsigned char *page = synth_memory(PAGE);

	ASSERT_NE(NULL, page);
	for (int words = 1; words <= 64; words++) {
		unsigned long *top = (unsigned long *)(page + PAGE);

		memset(page, 0, PAGE);
		REGS.sp = (unsigned long)(top - words);
		top[-1] = RETURN(1);
		RULES(BY_SP(8 * words), OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
		/* One word beyond: there the return address is no more, or the CFA alone. */
		EXPECT_NONE_BY(BY_SP(8 * words + 8), OUTERMOST);
		EXPECT_NONE_BY(FLEXIBLE(REG(SP), 8 * words + 8, AT_CFA, -16), OUTERMOST);
		EXPECT_NONE_BY(FLEXIBLE(REG(SP), 8 * words, AT_CFA, 0), OUTERMOST);
	}
}

/* Below where the stack starts there is other memory. */
TEST_F(synth, below_the_stack)
{
	ASSERT_EQ(0, mprotect(self->synth.stack, PAGE, RW | PROT_EXEC));
	REGS.sp = AT(PAGE);
	for (unsigned long at = 0; at < 2 * PAGE; at += 8)
		WORD(at) = RETURN(1);
	for (int offset = 0; offset > -0x400; offset -= 8) {
		bool there = 0x10 + offset >= 0;

		RULES(FLEXIBLE(REG(SP), 0x10, AT_CFA, offset), OUTERMOST);
		EXPECT_TRUE(synth_has(&self->synth, &(unsigned long){ RETURN(1) }, there));
		/* The frame pointer alone is there. */
		RULES(BY_SP(0x10, offset), OUTERMOST);
		EXPECT_TRUE(synth_has(&self->synth, &(unsigned long){ RETURN(1) }, there));
	}
}

static void write_frames(struct synth *synth, unsigned long *at, unsigned long size, int nr)
{
	for (int i = 0; i < nr; i++) {
		at += size / 8;
		at[-1] = synth_return(synth, i == nr - 1 ? 2 : 1);
	}
}

#define FRAME	(PAGE / 16 * 5)

/* A stack that is in many mappings is still one. */
TEST_F(synth, a_stack_in_pieces)
{
	unsigned char *stack = self->synth.stack;
	unsigned long callers[64];

	/* Some frames lie across. */
	RULES(BY_SP(FRAME), BY_SP(FRAME), OUTERMOST);
	write_frames(&self->synth, (unsigned long *)stack, FRAME, 64);
	for (int i = 0; i < 64; i++)
		callers[i] = RETURN(i == 63 ? 2 : 1);
	EXPECT_TRUE(synth_has(&self->synth, callers, 64));

	ASSERT_EQ(0, mlock(stack + 3 * PAGE, 2 * PAGE));
	ASSERT_EQ(0, mprotect(stack + 8 * PAGE, PAGE, PROT_READ));
	ASSERT_EQ(0, madvise(stack + 12 * PAGE, PAGE, MADV_DONTDUMP));
	ASSERT_EQ(0, madvise(stack + 15 * PAGE, PAGE, MADV_DONTFORK));
	EXPECT_TRUE(synth_has(&self->synth, callers, 64));

	/* Up to where there is none, or none that may be read. */
	ASSERT_EQ(0, mprotect(stack + 10 * PAGE, PAGE, PROT_NONE));
	EXPECT_TRUE(synth_has(&self->synth, callers, 10 * PAGE / FRAME));
	ASSERT_EQ(0, munmap(stack + 10 * PAGE, PAGE));
	EXPECT_TRUE(synth_has(&self->synth, callers, 10 * PAGE / FRAME));
}

TEST_HARNESS_MAIN
