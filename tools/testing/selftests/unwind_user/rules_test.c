// SPDX-License-Identifier: GPL-2.0
/*
 * All that a rule may say, each on a stack that fits that alone.
 */
#include "kselftest_harness.h"

#include <signal.h>
#include <string.h>

#include "synth_fixture.h"

#define MANY_ROWS	3000
/* All of them are below the budget of a stack. */
#define MANY_FRAMES	5

/* The tests can fail: what no rule says does not happen. */
TEST_F(synth, without_a_rule)
{
	REGS.bp = AT(0x100);
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
	static unsigned char rows[5 + 4 * MANY_ROWS] = { MANY_ROWS & 0xff, MANY_ROWS >> 8, 1 };
	static const unsigned char outermost[7] = { 1 };
	unsigned long function = synth_function(&self->synth, 1);

	for (unsigned int i = 0; i < MANY_ROWS; i++) {
		unsigned char *row = &rows[5 + 4 * i];

		row[0] = i;
		row[1] = i >> 8;
		row[2] = 0x03;	/* from SP, one word of a byte */
		row[3] = 8 + i % 9 * 8;
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
	REGS.bp = AT(0x40);
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
	/* In the order of struct scene_regs, behind ip. */
	static const int registers[] = {
		RSP, RBP, RBX, RDX, RSI, RDI, R8, R9, R10, R12, R13, R14,
	};
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
	static const int registers[] = { RSP, RBP, R12 };

	REGS.bp = AT(0x200);
	REGS.r12 = AT(0x300);
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
	for (int offset = -0x300; offset <= 0x40; offset += 8) {
		NO_RULES();
		RULE(FLEXIBLE(REG(RSP), 0x400, AT_CFA, offset));
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
		RULE(FLEXIBLE(REG(RSP), 0x12008, AT_CFA, offsets[i]));
		RULE(OUTERMOST);
		WORD(0x12008 + offsets[i]) = RETURN(1);
		EXPECT_CALLERS(RETURN(1));
		WORD(0x12008 + offsets[i]) = 0;
	}
}

TEST_F(synth, return_address_in_a_register)
{
	RULE(FLEXIBLE(REG(RSP), 0x10, REG(R12), -3));
	RULE(BY_SP(0x10));
	RULE(OUTERMOST);
	REGS.r12 = RETURN(1) + 3;
	WORD(0x08) = RETURN(5);
	WORD(0x18) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

TEST_F(synth, return_address_where_a_register_points_to)
{
	static const int registers[] = { RSP, RBP, R14 };

	REGS.sp = AT(0x20);
	REGS.bp = AT(0x2000);
	REGS.r14 = AT(0x3000);
	WORD(0x00) = RETURN(1);
	WORD(0x1fe0) = RETURN(1) + 1;
	WORD(0x2fe0) = RETURN(1) + 2;
	for (unsigned int i = 0; i < ARRAY_SIZE(registers); i++) {
		NO_RULES();
		RULE(FLEXIBLE(REG(RSP), 0x10, AT_REG(registers[i]), -0x20));
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
	REGS.bp = AT(0x1000);
	EXPECT_FP(BY_SP(0x20));
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20));
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, AT_CFA, -8));
}

TEST_F(synth, fp_on_the_stack)
{
	for (int offset = -0x300; offset <= 0x40; offset += 8) {
		if (offset == -8)
			continue;
		WORD(0x3f8) = RETURN(1);
		WORD(0x400 + offset) = AT(0x1000);
		EXPECT_FP(BY_SP(0x400, offset));
		EXPECT_FP(FLEXIBLE(REG(RSP), 0x400, NO_RULE, AT_CFA, offset));
		WORD(0x400 + offset) = 0;
	}
}

TEST_F(synth, fp_far_away)
{
	WORD(0x12000) = AT(0x1d000);
	WORD(0x13000 - 0x900) = RETURN(1);
	WORD(0x1d008) = RETURN(2);
	RULE(FLEXIBLE(REG(RSP), 0x13000, AT_CFA, -0x900, AT_CFA, -0x1000));
	RULE(BY_FP(0x10));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

TEST_F(synth, fp_in_a_register)
{
	WORD(0x18) = RETURN(1);
	REGS.bp = AT(0x2000);
	REGS.r13 = AT(0x0f00);
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, NO_RULE, REG(R13), 0x100));
	REGS.sp = AT(0);
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, NO_RULE, REG(RSP), 0x1000));
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, AT_CFA, -8, REG(RBP), -0x1000));
}

TEST_F(synth, fp_where_a_register_points_to)
{
	WORD(0x18) = RETURN(1);
	REGS.bp = AT(0x2000);
	REGS.r13 = AT(0x3000);
	WORD(0x10) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, NO_RULE, AT_REG(RSP), 0x10));
	WORD(0x10) = 0;
	WORD(0x1ff8) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, NO_RULE, AT_REG(RBP), -8));
	WORD(0x1ff8) = 0;
	WORD(0x3008) = AT(0x1000);
	EXPECT_FP(FLEXIBLE(REG(RSP), 0x20, NO_RULE, AT_REG(R13), 8));
}

/* --- All of it --- */

/* A rule never sees what it restores. */
TEST_F(synth, operands_are_the_current_frames)
{
	REGS.sp = AT(0x100);
	REGS.bp = AT(0x200);
	/* CFA 0x400, by the old frame pointer, which the return address is at, too. */
	WORD(0x200) = AT(0x1000);
	WORD(0x208) = RETURN(1);
	WORD(0x210) = AT(0x400);
	/* What is found by the new one, and by the new stack pointer. */
	WORD(0x1008) = RETURN(8);
	WORD(0x408) = RETURN(9);
	RULE(FLEXIBLE(AT_REG(RBP), 0x10, AT_REG(RBP), 8, AT_REG(RBP), 0));
	/* The stack pointer is 0x400; its offsets are not from the new one, 0x500. */
	RULE(FLEXIBLE(REG(RSP), 0x100, AT_REG(RSP), 0x20, AT_REG(RSP), 0x28));
	WORD(0x420) = RETURN(2);
	WORD(0x428) = AT(0x2000);
	WORD(0x520) = RETURN(8);
	WORD(0x528) = AT(0x600);
	/* The return address from the old frame pointer, 0x2000, itself. */
	RULE(FLEXIBLE(REG(RBP), 0x10, AT_REG(RBP), 8, AT_CFA, -0x10));
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
		FLEXIBLE(REG(R12), 0x10),
		FLEXIBLE(AT_REG(R12), 0x18),
		FLEXIBLE(REG(RSP), 0x10, REG(R13), 0),
		FLEXIBLE(REG(RSP), 0x10, AT_REG(R12), 8),
	};

	REGS.r12 = AT(0x100);
	REGS.r13 = RETURN(2);
	/* By frame pointer it would go on as well. */
	REGS.bp = AT(0x200);
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

/* A frame pointer in one of them is not known to a caller. A rule that needs it ends the stack. */
TEST_F(synth, fp_in_another_register_in_a_callers_frame)
{
	static const struct rule others[] = {
		FLEXIBLE(REG(RSP), 0x10, NO_RULE, REG(R12), 0),
		FLEXIBLE(REG(RSP), 0x10, NO_RULE, AT_REG(R12), 0x18),
	};

	REGS.r12 = AT(0x100);
	REGS.bp = AT(0x200);
	WORD(0x00) = RETURN(1);
	WORD(0x10) = RETURN(2);
	WORD(0x20) = RETURN(3);
	WORD(0x118) = AT(0x110);
	WORD(0x208) = RETURN(3);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		NO_RULES();
		RULE(BY_SP(8));
		RULE(others[i]);
		RULE(BY_SP(16));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
		NO_RULES();
		RULE(BY_SP(8));
		RULE(others[i]);
		RULE(BY_FP(16));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1), RETURN(2));
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
	RULE(FLEXIBLE(REG(R12), 0x10, AT_REG(RBX), 8, REG(RDX), 0x20));
	RULE(BY_FP(0x10));
	RULE(FLEXIBLE(REG(R12), 0x1010));
	RULE(OUTERMOST);
	/* What is interrupted has its stack below the handler's. */
	REGS.sp = AT(0x8000);
	WORD(0x8000) = (unsigned long)restorer;
	context = synth_signal((void *)AT(0x8008), ip, AT(0x100), 0);
	context->uc_mcontext.gregs[REG_R12] = AT(0x200);
	context->uc_mcontext.gregs[REG_RBX] = AT(0x300);
	context->uc_mcontext.gregs[REG_RDX] = AT(0x400);
	/* Those on top are others. */
	REGS.r12 = AT(0x8100);
	REGS.bx = AT(0x8200);
	REGS.dx = AT(0x8300);
	WORD(0x308) = RETURN(2);
	WORD(0x428) = RETURN(3);
	WORD(0x1208) = RETURN(4);
	EXPECT_CALLERS((unsigned long)restorer, ip, RETURN(2), RETURN(3));
}

TEST_F(synth, outermost)
{
	static const struct rule ends[] = { OUTERMOST, { .flexible = true } };

	/* There would be more, by the next rule and by frame pointer. */
	REGS.bp = AT(0x100);
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

/* Where the frame starts with its mapping, words below the CFA cannot all be read. */
TEST_F(synth, at_the_start_of_a_stack)
{
	for (int size = 8; size <= 0x108; size += 0x10) {
		NO_RULES();
		RULE(BY_SP(size));
		RULE(OUTERMOST);
		WORD(size - 8) = RETURN(1);
		EXPECT_CALLERS(RETURN(1));
	}
}

/* --- Blocks that repeat --- */

#define ENTRIES		4
#define ENTRY_SIZE	16

/*
 * A PLT: entries that were not bound yet.
 *
 *	jmp	*slot(%rip), which is the next instruction
 *	push	$nth
 *	jmp	common
 */
static const int plt_offsets[] = { 0, 6, 11 };

/* ... and what they have in common: lea 8(%rsp), %rsp; ret */
static const unsigned char common_code[] = { 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3 };

static unsigned char *plt;
static unsigned long *plt_slots;

/* A PLT behind the first functions of a synthetic stack, and its table. */
static void make_plt(struct synth *synth)
{
	static const unsigned char rows[] = {
		2, 0, 0x10, 0, ENTRY_SIZE,	/* MASK */
		0, 0x03, 8, 11, 0x03, 16,
	};
	static const unsigned char common_rows[] = {
		2, 0, 0, 0, 0, 0, 0x03, 16, 5, 0x03, 8,
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

static struct synth *stepped;
static unsigned int steps, wrong_steps;

static void on_step(int number, siginfo_t *info, void *data)
{
	unsigned long ip = ((ucontext_t *)data)->uc_mcontext.gregs[REG_RIP];
	struct chain *chain = &stepped->chain;
	const char *error;
	unsigned int i;

	if (ip < (unsigned long)plt || ip >= (unsigned long)plt + PAGE)
		return;
	getppid_in_frame();
	error = sampler_chain(&stepped->sampler, chain);
	/* What samples, the handler, the restorer, the stub and its caller, and no more. */
	for (i = 0; !error && i < chain->nr && chain->ips[i] != ip; i++)
		;
	if (error || i != 3 || i + 1 >= chain->nr ||
	    chain->ips[i + 1] != (unsigned long)call_in_steps_return) {
		ksft_print_msg("plt + 0x%lx: %s\n", ip - (unsigned long)plt, error ?: "wrong");
		wrong_steps++;
	}
	steps++;
}

TEST_F(synth, signal_in_a_plt)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	make_plt(&self->synth);
	stepped = &self->synth;
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	for (int i = 0; i < ENTRIES; i++) {
		steps = 0;
		call_in_steps((unsigned long)plt + i * ENTRY_SIZE);
		/* Those of the entry, and two in what is common. */
		EXPECT_EQ(ARRAY_SIZE(plt_offsets) + 2, steps);
	}
	EXPECT_EQ(0, wrong_steps);
}

TEST_HARNESS_MAIN
