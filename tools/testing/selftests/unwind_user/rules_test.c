// SPDX-License-Identifier: GPL-2.0
/*
 * All that a rule may say, each on a stack that fits that alone; and what the walker may
 * not follow: return addresses and CFAs that cannot be, and stacks that end.
 */
#include "kselftest_harness.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "synth_fixture.h"

#define MANY_ROWS	3000
/* All of them are below the budget of a stack. */
#define MANY_FRAMES	5

/* The tests can fail: what no rule says does not happen. */
TEST_F(synth, without_a_rule)
{
	REGS.fp = AT(0x100);
	WORD(0x00) = RETURN(1);
	WORD(0x108) = RETURN(2);
	/* By frame pointer, then there is none. */
	EXPECT_CALLERS(RETURN(2));
	RULE(BY_SP(8));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
}

/* --- The CFA --- */

TEST_F(synth, cfa_from_sp)
{
	static const int offsets[] = { 8, 0x40, 0x100, 0x108, 0x1000, 0x12000 };

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
		NO_RULES();
		RULE(BY_SP(offsets[i]));
		RULE(BY_SP(0x20));
		RULE(OUTERMOST);
		WORD(offsets[i] - 8) = RETURN(1);
		WORD(offsets[i] + 0x18) = RETURN(2);
		EXPECT_CALLERS(RETURN(1), RETURN(2));
		memset(self->synth.stack, 0, SYNTH_STACK);
	}
}

/* A lookup reads the last rows when it has read more than once. */
TEST_F(synth, many_rows)
{
	static unsigned char rows[5 + (2 + ROW_SIZE) * MANY_ROWS] = {
		MANY_ROWS & 0xff, MANY_ROWS >> 8, 1
	};
	static const unsigned char outermost[7] = { 1 };
	unsigned long function = synth_function(&self->synth, 1);

	for (unsigned int i = 0; i < MANY_ROWS; i++) {
		const unsigned char row[] = { i, i >> 8, ROW_BY_SP(8 + i % 9 * 8) };

		memcpy(&rows[5 + sizeof(row) * i], row, sizeof(row));
	}
	RULE(BY_SP(8));
	synth_add(&self->synth, FUNCTION_SIZE, MANY_ROWS, rows, sizeof(rows));
	synth_add(&self->synth, FUNCTION_SIZE + MANY_ROWS, 1, outermost, sizeof(outermost));

	for (unsigned int row = 0; row < MANY_ROWS; row += MANY_FRAMES) {
		unsigned long callers[MANY_FRAMES + 1], at = 0;

		memset(self->synth.stack, 0, MANY_FRAMES * 0x100);
		for (unsigned int i = 0; i < MANY_FRAMES; i++) {
			callers[i] = function + row + i + 1;
			WORD(at) = callers[i];
			at += 8 + (row + i) % 9 * 8;
		}
		callers[MANY_FRAMES] = function + MANY_ROWS + 1;
		WORD(at) = callers[MANY_FRAMES];
		ASSERT_TRUE(synth_has(&self->synth, callers, MANY_FRAMES + 1));
	}
}

TEST_F(synth, cfa_from_fp)
{
	/* Each of two functions saves the frame pointer where it points to. */
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(-0x80));
	RULE(OUTERMOST);
	REGS.fp = AT(0x40);
	WORD(0x40) = AT(0x13000);
	WORD(0x48) = RETURN(1);
	WORD(0x13000) = AT(0x13100);
	WORD(0x13008) = RETURN(2);
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
		NO_RULES();
		RULE(FLEXIBLE(REG(registers[i]), 0x1008));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1) + i);
	}
}

TEST_F(synth, cfa_on_the_stack)
{
	static const int registers[] = { SP, FP, S1 };

	REGS.fp = AT(0x200);
	REGS.s1 = AT(0x300);
	WORD(0x10) = AT(0x1000);
	WORD(0x210) = AT(0x2000);
	WORD(0x310) = AT(0x12000);
	WORD(0xff8) = RETURN(1);
	WORD(0x1ff8) = RETURN(1) + 1;
	WORD(0x11ff8) = RETURN(1) + 2;
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		NO_RULES();
		RULE(FLEXIBLE(AT_REG(registers[i]), 0x10));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1) + i);
	}
}

/* --- The return address --- */

/* Also all distances of what is read together. */
TEST_F(synth, return_address_on_the_stack)
{
	for (int offset = -0x300; offset <= HIGHEST_RA; offset += 8) {
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 0x400, AT_CFA, offset));
		RULE(BY_SP(0x100));
		RULE(OUTERMOST);
		WORD(0x400 + offset) = RETURN(1);
		WORD(0x4f8) = RETURN(2);
		EXPECT_CALLERS(RETURN(1), RETURN(2));
		WORD(0x400 + offset) = 0;
	}
}

TEST_F(synth, return_address_far_away)
{
	static const int offsets[] = { -0x12008, -0x10000, -0x1000, 0x1000, 0xdff0 };

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 0x12008, AT_CFA, offsets[i]));
		RULE(OUTERMOST);
		WORD(0x12008 + offsets[i]) = RETURN(1);
		EXPECT_CALLERS(RETURN(1));
		WORD(0x12008 + offsets[i]) = 0;
	}
}

TEST_F(synth, return_address_in_a_register)
{
	RULE(FLEXIBLE(REG(SP), 0x10, REG(S1), -3));
	RULE(BY_SP(0x10));
	RULE(OUTERMOST);
	REGS.s1 = RETURN(1) + 3;
	WORD(0x08) = RETURN(5);
	WORD(0x18) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

TEST_F(synth, return_address_where_a_register_points_to)
{
	static const int registers[] = { SP, FP, S3 };

	REGS.sp = AT(0x20);
	REGS.fp = AT(0x2000);
	REGS.s3 = AT(0x3000);
	WORD(0x00) = RETURN(1);
	WORD(0x1fe0) = RETURN(1) + 1;
	WORD(0x2fe0) = RETURN(1) + 2;
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 0x10, AT_REG(registers[i]), -0x20));
		RULE(OUTERMOST);
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
		WORD(0x3f8) = RETURN(1);
		WORD(0x400 + offset) = AT(0x1000);
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
	WORD(0x10) = 0;
	WORD(0x1ff8) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, AT_REG(FP), -8));
	WORD(0x1ff8) = 0;
	WORD(0x3008) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(SP), 0x20, NO_RULE, AT_REG(S2), 8));
}

/* --- All of it --- */

/* A rule never sees what it restores. */
TEST_F(synth, operands_are_the_current_frames)
{
	REGS.sp = AT(0x100);
	REGS.fp = AT(0x200);
	/* CFA 0x400, by the old frame pointer, which the return address is at, too. */
	WORD(0x200) = AT(0x1000);
	WORD(0x208) = RETURN(1);
	WORD(0x210) = AT(0x400);
	/* What is found by the new one, and by the new stack pointer. */
	WORD(0x1008) = RETURN(8);
	WORD(0x408) = RETURN(9);
	RULE(FLEXIBLE(AT_REG(FP), 0x10, AT_REG(FP), 8, AT_REG(FP), 0));
	/* The stack pointer is 0x400; its offsets are not from the new one, 0x500. */
	RULE(FLEXIBLE(REG(SP), 0x100, AT_REG(SP), 0x20, AT_REG(SP), 0x28));
	WORD(0x420) = RETURN(2);
	WORD(0x428) = AT(0x2000);
	WORD(0x520) = RETURN(8);
	WORD(0x528) = AT(0x600);
	/* The return address from the old frame pointer, 0x2000, itself. */
	RULE(FLEXIBLE(REG(FP), 0x10, AT_REG(FP), 8, AT_CFA, -0x10));
	WORD(0x2000) = AT(0x3000);
	WORD(0x2008) = RETURN(3);
	WORD(0x3008) = RETURN(4);
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
	WORD(0x00) = RETURN(1);
	WORD(0x10) = RETURN(2);
	WORD(0x108) = RETURN(2);
	WORD(0x118) = AT(0x110);
	WORD(0x208) = RETURN(2);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		NO_RULES();
		RULE(BY_SP(8));
		RULE(others[i]);
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
		/* On top it holds. */
		NO_RULES();
		RULE(others[i]);
		RULE(OUTERMOST);
		RULE(OUTERMOST);
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
	RULE(BY_SP(8));
	RULE(FLEXIBLE(REG(S1), 0x10, AT_REG(S0), 8, REG(T1), 0x20));
	RULE(BY_FP(0x10));
	RULE(FLEXIBLE(REG(S1), 0x1010));
	RULE(OUTERMOST);
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
	WORD(0x308) = RETURN(2);
	WORD(0x428) = RETURN(3);
	WORD(0x1208) = RETURN(4);
	EXPECT_CALLERS((unsigned long)restorer, ip, RETURN(2), RETURN(3));
}

TEST_F(synth, outermost)
{
	static const struct rule ends[] = { OUTERMOST, { .flexible = true } };

	/* There would be more, by the next rule and by frame pointer. */
	REGS.fp = AT(0x100);
	WORD(0x00) = RETURN(1);
	WORD(0x08) = RETURN(2);
	WORD(0x108) = RETURN(2);
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		NO_RULES();
		RULE(ends[i]);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(BY_SP(8));
		RULE(ends[i]);
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
	}
}

/* --- Blocks that repeat --- */

#define ENTRIES		4
#define ENTRY_SIZE	16

/* ... and what they have in common: lea 8(%rsp), %rsp; ret */
static const unsigned char common_code[] = { 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3 };

static unsigned char *plt;
static unsigned long *plt_slots;

/* A PLT behind the first functions of a synthetic stack, and its table. */
static void make_plt(struct synth *synth)
{
	static const unsigned char rows[] = {
		2, 0, 0x10, 0, ENTRY_SIZE,	/* MASK */
		0, ROW_BY_SP(8), 11, ROW_BY_SP(16),
	};
	static const unsigned char common_rows[] = {
		2, 0, 0, 0, 0, 0, ROW_BY_SP(16), 5, ROW_BY_SP(8),
	};
	unsigned char *common;

	plt = synth->text + 8 * FUNCTION_SIZE;
	plt_slots = (unsigned long *)(synth->text + 4 * PAGE);
	common = plt + ENTRIES * ENTRY_SIZE;
	for (int i = 0; i < ENTRIES; i++) {
		unsigned char *at = plt + i * ENTRY_SIZE;
		unsigned char entry[ENTRY_SIZE] = { 0xff, 0x25, [6] = 0x68, i, [11] = 0xe9 };
		int slot = (unsigned char *)&plt_slots[i] - (at + 6);
		int jump = common - (at + ENTRY_SIZE);

		memcpy(entry + 2, &slot, sizeof(slot));
		memcpy(entry + 12, &jump, sizeof(jump));
		memcpy(at, entry, sizeof(entry));
		plt_slots[i] = (unsigned long)at + 6;
	}
	memcpy(common, common_code, sizeof(common_code));
	synth_add(synth, plt - synth->text, ENTRIES * ENTRY_SIZE, rows, sizeof(rows));
	synth_add(synth, common - synth->text, sizeof(common_code), common_rows,
		  sizeof(common_rows));
}

/* On top, as a caller, and interrupted, at all offsets of all entries. */
TEST_F(synth, repeating_block)
{
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;

	memcpy(restorer, restorer_code, sizeof(restorer_code));
	RULE(BY_SP(8));
	RULE(OUTERMOST);
	make_plt(&self->synth);
	for (int offset = 0; offset < ENTRIES * ENTRY_SIZE; offset++) {
		unsigned long ip = (unsigned long)plt + offset;
		int size = offset % ENTRY_SIZE < 11 ? 8 : 16;

		/* The one before a return address is what counts. */
		WORD(0x00) = ip + 1;
		WORD(0x08) = size == 8 ? RETURN(1) : 0x1234;
		WORD(0x10) = size == 8 ? 0x1234 : RETURN(1);
		EXPECT_CALLERS(ip + 1, RETURN(1));

		WORD(0x00) = (unsigned long)restorer;
		synth_signal((void *)AT(0x08), ip, AT(0x400), 0);
		WORD(0x400) = size == 8 ? RETURN(1) : 0x1234;
		WORD(0x408) = size == 8 ? 0x1234 : RETURN(1);
		EXPECT_CALLERS((unsigned long)restorer, ip, RETURN(1));
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
	WORD(0x00) = RETURN(1);
	WORD(0x10) = RETURN(2);
	WORD(0x18) = RETURN(2);
	WORD(0x500) = RETURN(2);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		/* On the stack, near and far. */
		WORD(0x08) = none[i];
		NO_RULES();
		RULE(BY_SP(8));
		RULE(BY_SP(8));
		EXPECT_CALLERS(RETURN(1));
		NO_RULES();
		RULE(BY_SP(8));
		RULE(FLEXIBLE(REG(SP), 0x800, AT_CFA, -0x800));
		EXPECT_CALLERS(RETURN(1));
		/* By frame pointer. */
		NO_RULES();
		RULE(BY_SP(8));
		REGS.fp = AT(0x100);
		WORD(0x100) = AT(0x200);
		WORD(0x108) = none[i];
		WORD(0x208) = RETURN(2);
		EXPECT_CALLERS(RETURN(1));
		/* In a register. */
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 8, REG(S1), 0));
		REGS.s1 = none[i];
		EXPECT_NO_CALLERS();
		/* Where a signal interrupted. */
		NO_RULES();
		RULE(BY_SP(8));
		WORD(0x00) = (unsigned long)restorer;
		synth_signal((void *)AT(0x08), none[i], AT(0x500), AT(0x4f8));
		EXPECT_CALLERS((unsigned long)restorer);
		WORD(0x00) = RETURN(1);
	}

	/* The highest user address may be one, but there is no code. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(BY_SP(8));
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

	RULE(BY_SP(8));
	RULE(OUTERMOST);
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

	RULE(BY_SP(8));
	RULE(OUTERMOST);
	for (int i = 0; i < 7; i++) {
		unsigned long restorer = (unsigned long)places[i];

		ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
		memcpy(places[i], restorer_code, len);
		ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_EXEC));
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
		NO_RULES();
		RULE(FLEXIBLE(REG(S0), 0, REG(S1), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(S0), 0, AT_REG(SP), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		/* By an offset that wraps around. */
		REGS.s0 = none[i] - 0x7ffffff8;
		NO_RULES();
		RULE(FLEXIBLE(REG(S0), 0x7ffffff8, REG(S1), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		/* On the stack. */
		WORD(0x90) = none[i];
		NO_RULES();
		RULE(FLEXIBLE(AT_REG(SP), 0x10, REG(S1), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
	}
	/* The last one is not wrong by itself. */
	NO_RULES();
	RULE(FLEXIBLE(REG(S0), 0x7ffffff8, REG(S1), 0));
	RULE(OUTERMOST);
	REGS.s0 = AT(0x88) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* The topmost frame may have nothing on the stack any more, */
	REGS.s0 = AT(0x80) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* but a caller has at least its return address there. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(FLEXIBLE(REG(SP), 0, AT_CFA, 8));
	RULE(OUTERMOST);
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
	WORD(0x88) = RETURN(2);
	WORD(0x109) = RETURN(2);
	WORD(0x113) = RETURN(2);
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
		NO_RULES();
		RULE(BY_SP(8 * words));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
		/* One word beyond: there the return address is no more, or the CFA alone. */
		NO_RULES();
		RULE(BY_SP(8 * words + 8));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 8 * words + 8, AT_CFA, -16));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 8 * words, AT_CFA, 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
	}
}

/* Below where the stack starts there is other memory. */
TEST_F(synth, below_the_stack)
{
	ASSERT_EQ(0, mprotect(self->synth.stack, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	REGS.sp = AT(PAGE);
	for (unsigned long at = 0; at < 2 * PAGE; at += 8)
		WORD(at) = RETURN(1);
	for (int offset = 0; offset > -0x400; offset -= 8) {
		bool there = 0x10 + offset >= 0;

		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 0x10, AT_CFA, offset));
		RULE(OUTERMOST);
		EXPECT_TRUE(synth_has(&self->synth, &(unsigned long){ RETURN(1) }, there));
		/* The frame pointer alone is there. */
		NO_RULES();
		RULE(BY_SP(0x10, offset));
		RULE(OUTERMOST);
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
	RULE(BY_SP(FRAME));
	RULE(BY_SP(FRAME));
	RULE(OUTERMOST);
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
