// SPDX-License-Identifier: GPL-2.0
/*
 * What the walker may read, and where it has to end: return addresses and CFAs
 * that cannot be, and stacks that end.
 */
#include "kselftest_harness.h"

#include <string.h>
#include <sys/mman.h>

#include "synth_fixture.h"

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
		RULE(FLEXIBLE(REG(RSP), 0x800, AT_CFA, -0x800));
		EXPECT_CALLERS(RETURN(1));
		/* By frame pointer. */
		NO_RULES();
		RULE(BY_SP(8));
		REGS.bp = AT(0x100);
		WORD(0x100) = AT(0x200);
		WORD(0x108) = none[i];
		WORD(0x208) = RETURN(2);
		EXPECT_CALLERS(RETURN(1));
		/* In a register. */
		NO_RULES();
		RULE(FLEXIBLE(REG(RSP), 8, REG(R12), 0));
		REGS.r12 = none[i];
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
	REGS.bp = 0;
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
	for (unsigned int cs = 0; cs < 0x40; cs++) {
		/* The selector is the lowest of four numbers. */
		context->uc_mcontext.gregs[REG_CSGSFS] = cs;
		if (cs == 0x33)
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
	REGS.r12 = RETURN(1);
	for (int at = 0; at < 0x100; at++)
		((unsigned long *)AT(0x200))[at] = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		REGS.bx = none[i];
		NO_RULES();
		RULE(FLEXIBLE(REG(RBX), 0, REG(R12), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(RBX), 0, AT_REG(RSP), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		/* By an offset that wraps around. */
		REGS.bx = none[i] - 0x7ffffff8;
		NO_RULES();
		RULE(FLEXIBLE(REG(RBX), 0x7ffffff8, REG(R12), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		/* On the stack. */
		WORD(0x90) = none[i];
		NO_RULES();
		RULE(FLEXIBLE(AT_REG(RSP), 0x10, REG(R12), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
	}
	/* The last one is not wrong by itself. */
	NO_RULES();
	RULE(FLEXIBLE(REG(RBX), 0x7ffffff8, REG(R12), 0));
	RULE(OUTERMOST);
	REGS.bx = AT(0x88) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* The topmost frame may have nothing on the stack any more, */
	REGS.bx = AT(0x80) - 0x7ffffff8;
	EXPECT_CALLERS(RETURN(1));
	/* but a caller has at least its return address there. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(FLEXIBLE(REG(RSP), 0, AT_CFA, 8));
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
		REGS.bp = none[i];
		EXPECT_CALLERS(RETURN(1));
	}
	/* The rest of its frame is still to come. */
	WORD(0x90) = RETURN(2);
	REGS.bp = AT(0x88);
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
		RULE(FLEXIBLE(REG(RSP), 8 * words + 8, AT_CFA, -16));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(RSP), 8 * words, AT_CFA, 0));
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
		RULE(FLEXIBLE(REG(RSP), 0x10, AT_CFA, offset));
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

/* A stack that is in many mappings is still one. */
TEST_F(synth, a_stack_in_pieces)
{
	unsigned char *stack = self->synth.stack;
	unsigned long callers[64];

	/* Frames of 0x500 bytes, some of which lie across. */
	RULE(BY_SP(0x500));
	RULE(BY_SP(0x500));
	RULE(OUTERMOST);
	write_frames(&self->synth, (unsigned long *)stack, 0x500, 64);
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
	EXPECT_TRUE(synth_has(&self->synth, callers, 10 * PAGE / 0x500));
	ASSERT_EQ(0, munmap(stack + 10 * PAGE, PAGE));
	EXPECT_TRUE(synth_has(&self->synth, callers, 10 * PAGE / 0x500));
}

TEST_HARNESS_MAIN
