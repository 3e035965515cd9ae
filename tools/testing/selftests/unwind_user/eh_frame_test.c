// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks by .eh_frame: what a table may say.
 */
#include "kselftest_harness.h"

#include <string.h>
#include <sys/mman.h>

#include "tables.h"
#include "synth.h"
#include "eh_frame.h"
#include "synth_fixture.h"

/* What perf shows of a stack at most is not more than this. */

#define EXPECT_END(expected)	EXPECT_EQ(PERF_CALLCHAIN_END_##expected, self->synth.chain.end)

/* --- Rules --- */

/* The tests can fail: what no rule says does not happen. */
TEST_F(synth, without_a_rule)
{
	WORD(0x00) = RETURN(1);
	EXPECT_NO_CALLERS();
	EXPECT_END(NO_INFO);
	EH_CFI(NOP);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(COMPLETE);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
}

TEST_F(synth, rows)
{
	/* The call is the instruction before the address that it returns to. */
	EH_CFI(DEF_CFA_OFFSET, 16, ADVANCE(3), DEF_CFA_OFFSET, 24);
	EH_CFI(ADVANCE(RETURN_OFFSET - 1), DEF_CFA_OFFSET, 32, ADVANCE(1), DEF_CFA_OFFSET, 48);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x08) = RETURN(1);
	WORD(0x28) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(COMPLETE);
}

TEST_F(synth, frame_pointers)
{
	/* Saved, and then used; twice. */
	EH_CFI(DEF_CFA_OFFSET, 16, SAVED(RBP), 2, ADVANCE(1), DEF_CFA, RBP, 16);
	EH_CFI(DEF_CFA, RBP, 16, SAVED(RBP), 2);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = AT(0x40);
	WORD(0x40) = AT(0x13000);
	WORD(0x48) = RETURN(1);
	WORD(0x13000) = AT(0x13100);
	WORD(0x13008) = RETURN(2);
	WORD(0x13108) = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
}

/* Nobody knows the frame pointer of a caller, if its rule does not need that. */
TEST_F(synth, a_frame_pointer_that_is_lost)
{
	/* In r12, which only the topmost frame is known to have; or nowhere. */
	EH_CFI(NOP);
	EH_CFI(IN_REGISTER, RBP, R12);
	EH_CFI(UNDEFINED, RBP, DEF_CFA_OFFSET, 16);
	EH_CFI(DEF_CFA_OFFSET, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = AT(0x80);
	REGS.r12 = AT(0x80);
	WORD(0x00) = RETURN(1);
	WORD(0x08) = RETURN(2);
	WORD(0x18) = RETURN(3);
	WORD(0x28) = RETURN(4);
	WORD(0x88) = RETURN(4);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3), RETURN(4));
	EXPECT_END(COMPLETE);
	EXPECT_FALSE(self->synth.chain.guessed);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));

	/* A rule needs it, which is not wrong; and so does code without a rule. */
	EH_NO_RULES();
	EH_CFI(NOP);
	EH_CFI(IN_REGISTER, RBP, R12);
	EH_CFI(NOP);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x10) = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_END(NO_INFO);
	EXPECT_FALSE(self->synth.chain.guessed);
	WORD(0x10) = RETURN(5);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(5));
	EXPECT_END(NO_INFO);

	/* A frame in between has saved its own. */
	EH_NO_RULES();
	EH_CFI(UNDEFINED, RBP);
	EH_CFI(DEF_CFA_OFFSET, 24, SAVED(RBP), 2);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x10) = AT(0x100);
	WORD(0x18) = RETURN(2);
	WORD(0x108) = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_END(COMPLETE);

	/* The topmost frame has it in a register. */
	EH_NO_RULES();
	EH_CFI(IN_REGISTER, RBP, R12);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = 0;
	WORD(0x88) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(COMPLETE);
}

/* What is below the stack pointer is still there in a leaf, at the very start, too. */
TEST_F(synth, red_zone)
{
	EH_CFI(SAVED(RBP), 3);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.sp = AT(0x10);
	WORD(0x00) = AT(0x80);
	WORD(0x10) = RETURN(1);
	WORD(0x88) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	/* Nothing is below the mapping. */
	REGS.sp = AT(0x10 - SYNTH_BELOW);
	WORD(0x00 - SYNTH_BELOW) = AT(0x80);
	WORD(0x10 - SYNTH_BELOW) = RETURN(1);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	REGS.sp = AT(0x08 - SYNTH_BELOW);
	WORD(0x08 - SYNTH_BELOW) = RETURN(1);
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME);
}

TEST_F(synth, other_registers)
{
	/* A function that aligns its stack: the CFA is in a register, then on the stack. */
	EH_CFI(DEF_CFA, R10, 0);
	/* breg6 -8, deref */
	EH_CFI(DEF_CFA_EXPRESSION, 3, 0x76, 0x78, 0x06);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.r10 = AT(0x100);
	REGS.bp = AT(0x1000);
	WORD(0xf8) = RETURN(1);
	WORD(0xff8) = AT(0x2000);
	WORD(0x1ff8) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
}

/*
 * An outer frame's CFA is in a register, as the dynamic linker's where it resolves a
 * function. Frames in between keep it, or save it.
 */
TEST_F(synth, a_register_of_an_outer_frame)
{
	EH_CFI(NOP);
	EH_CFI(DEF_CFA_OFFSET, 24, SAVED(RBX), 2);
	EH_CFI(DEF_CFA_OFFSET, 16);
	EH_CFI(DEF_CFA, RBX, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bx = AT(0x1000);
	WORD(0x00) = RETURN(1);
	WORD(0x10) = AT(0x100);
	WORD(0x18) = RETURN(2);
	WORD(0x28) = RETURN(3);
	WORD(0x108) = RETURN(4);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3), RETURN(4));
	EXPECT_END(COMPLETE);
	EXPECT_FALSE(self->synth.chain.guessed);
	/* Nobody has saved it: it is what the topmost frame has. */
	WORD(0x00) = RETURN(2);
	WORD(0x10) = RETURN(3);
	WORD(0x1008) = RETURN(4);
	EXPECT_CALLERS(RETURN(2), RETURN(3), RETURN(4));
	EXPECT_END(COMPLETE);
}

/* Nobody knows it where a frame loses it, or was found by something else than rules. */
TEST_F(synth, a_register_that_is_lost)
{
	EH_CFI(UNDEFINED, RBX);
	EH_CFI(DEF_CFA, RBX, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bx = AT(0x100);
	WORD(0x00) = RETURN(1);
	WORD(0x108) = RETURN(2);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO);

	/* The second function is not in the table. */
	EH_NO_RULES();
	EH_CFI(NOP);
	EH_CFI(NOP);
	EH_CFI(DEF_CFA, RBX, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	eh_header(&self->synth)->index[1].fde = 0;
	REGS.bp = AT(0x10);
	WORD(0x00) = RETURN(1);
	WORD(0x10) = AT(0x80);
	WORD(0x18) = RETURN(2);
	WORD(0x108) = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(NO_INFO);
	EXPECT_TRUE(self->synth.chain.guessed);

	/* Calls destroy it. */
	EH_NO_RULES();
	EH_CFI(NOP);
	EH_CFI(DEF_CFA, R10, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.r10 = AT(0x100);
	WORD(0x00) = RETURN(1);
	WORD(0x108) = RETURN(2);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO);
}

/* A signal's frame has all of them, whatever was before. */
TEST_F(synth, a_register_below_a_signal)
{
	ucontext_t *context;

	EH_CFI(NOP);
	EH_CFI(DEF_CFA_OFFSET, 24);
	EH_CFI(DEF_CFA, RBX, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	memcpy((void *)synth_function(&self->synth, 20), restorer_code, sizeof(restorer_code));
	WORD(0x00) = synth_function(&self->synth, 20);
	REGS.bx = AT(0x3000);
	context = synth_signal(&WORD(0x08), RETURN(1), AT(0x1000), 0);
	context->uc_mcontext.gregs[REG_RBX] = AT(0x2000);
	WORD(0x1010) = RETURN(2);
	WORD(0x2008) = RETURN(3);
	WORD(0x3008) = RETURN(2);
	EXPECT_CALLERS(synth_function(&self->synth, 20), RETURN(1), RETURN(2), RETURN(3));
	EXPECT_END(COMPLETE);
}

/* Where the caller's stack pointer was stored by hand. */
TEST_F(synth, cfa_above)
{
	/* breg7 16, deref, plus_uconst 8 */
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 16, 0x06, 0x23, 8);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x10) = AT(0x200);
	WORD(0x200) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(COMPLETE);
}

/* It is stored in a frame that has more above that. */
TEST_F(synth, cfa_far_above)
{
	/* breg7 16, deref, plus_uconst 80; the frame pointer at CFA - 24 */
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 16, 0x06, 0x23, 80, SAVED(RBP), 3);
	EH_CFI(DEF_CFA, RBP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x10) = AT(0x200);
	WORD(0x248) = RETURN(1);
	WORD(0x238) = AT(0x300);
	WORD(0x308) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(COMPLETE);
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
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 8, 0x06, 0x23, 8);
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 16, 0x06, 0x23, 80);
	EH_CFI(DEF_CFA, RBX, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x08) = (unsigned long)&below[0];
	below[0] = RETURN(1);
	below[3] = AT(0x100);
	WORD(0x148) = RETURN(2);
	REGS.bx = (unsigned long)&below[16];
	below[17] = RETURN(3);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_END(COMPLETE);
	EXPECT_FALSE(self->synth.chain.guessed);

	/* Below, on the same stack, nobody called. */
	WORD(0x08) = AT(-0x80);
	WORD(-0x80) = RETURN(1);
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME);
	/* Nor where there is no code to return to, or no stack. */
	WORD(0x08) = (unsigned long)&below[0];
	below[0] = AT(0);
	EXPECT_NO_CALLERS();
	below[0] = RETURN(1);
	ASSERT_EQ(0, mprotect(below, PAGE, PROT_READ));
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME);
	ASSERT_EQ(0, munmap(below, PAGE));
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME);
}

/* Such a stack ends, if only where the kernel has no more room. */
TEST_F(synth, stacks_in_a_circle)
{
	unsigned long *below = synth_memory(PAGE);

	ASSERT_NE(NULL, below);
	ASSERT_LT((unsigned long)below, AT(0));
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 8, 0x06, 0x23, 8);
	EH_CFI(DEF_CFA_EXPRESSION, 5, 0x77, 16, 0x06, 0x23, 80);
	WORD(0x08) = (unsigned long)&below[0];
	below[0] = RETURN(1);
	below[3] = AT(-0x50);
	WORD(-0x08) = RETURN(0);
	EXPECT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, self->synth.chain.nr);
	EXPECT_END(DEPTH);
}

/* Where an empty function starts as well, in front of another in the index or behind it. */
TEST_F(synth, an_empty_function)
{
	struct eh_header *header = eh_header(&self->synth);
	struct eh_fde *fde;

	EH_CFI(NOP);
	for (int i = 0; i < 3; i++)
		EH_CFI(DEF_CFA_OFFSET, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = 1;
	WORD(0x00) = RETURN(1);
	WORD(0x10) = RETURN(4);
	EXPECT_CALLERS(RETURN(1), RETURN(4));
	/* The last two become empty, and are where the first of the three is. */
	for (int i = 2; i < 4; i++) {
		fde = (struct eh_fde *)((unsigned char *)header + header->index[i].fde);
		fde->start -= header->index[i].start - header->index[1].start;
		fde->size = 0;
		header->index[i].start = header->index[1].start;
	}
	EXPECT_CALLERS(RETURN(1), RETURN(4));
	EXPECT_END(COMPLETE);
	/* The first of them is the last, and then is not there. */
	fde = (struct eh_fde *)((unsigned char *)header + header->index[1].fde);
	header->index[1].fde = header->index[3].fde;
	header->index[3].fde = (unsigned char *)fde - (unsigned char *)header;
	EXPECT_CALLERS(RETURN(1), RETURN(4));
	EXPECT_END(COMPLETE);
	header->index[3].fde = header->index[2].fde;
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
}

/* A CIE of version 4 has two bytes more. */
TEST_F(synth, version_4)
{
	static const unsigned char cie[] = {
		4, 'z', 'R', 0, 8, 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		DEF_CFA, RSP, 8, SAVED(RETURN_ADDRESS), 1,
	};

	EH_CFI(DEF_CFA_OFFSET, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	memcpy(self->synth.table + 8, cie, sizeof(cie));
	WORD(0x08) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(COMPLETE);
	/* Addresses of four bytes. */
	self->synth.table[12] = 4;
	EXPECT_NO_CALLERS();
	EXPECT_END(RULE);
}

/* S without the kernel's frame: the caller's address is exact. */
TEST_F(synth, signal_without_a_frame)
{
	EH_SIGNAL(NOP);
	EH_CFI(DEF_CFA_OFFSET, 24);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	/* One byte before begins another function. */
	WORD(0x00) = synth_function(&self->synth, 1);
	WORD(0x18) = RETURN(2);
	EXPECT_CALLERS(synth_function(&self->synth, 1), RETURN(2));
}

/* --- What is not supported --- */

TEST_F(synth, unsupported)
{
	EH_CFI(DEF_CFA_EXPRESSION, 2, 0x77, 8);		/* an expression that adds only */
	EH_CFI(DEF_CFA_EXPRESSION, 3, 0x77, 8, 0x94);		/* or reads less than a word */
	EH_CFI(DEF_CFA, RSP, 16);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	WORD(0x08) = RETURN(3);
	REGS.ip = synth_function(&self->synth, 1);
	memcpy((void *)REGS.ip, synth_code, sizeof(synth_code));
	EXPECT_NO_CALLERS();
	EXPECT_END(RULE);
	EXPECT_STREQ("good", state_of(&self->synth.ranges));
	/* Others are as good as before. */
	REGS.ip = synth_function(&self->synth, 2);
	memcpy((void *)REGS.ip, synth_code, sizeof(synth_code));
	EXPECT_CALLERS(RETURN(3));
	EXPECT_END(COMPLETE);
}

/* A frame pointer may still lead on. */
TEST_F(synth, unsupported_and_a_frame_pointer)
{
	EH_CFI(DEF_CFA_EXPRESSION, 3, 0x77, 8, 0x94);
	EH_CFI(UNDEFINED, RETURN_ADDRESS);
	REGS.bp = AT(0x100);
	WORD(0x108) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_TRUE(self->synth.chain.guessed);
}

TEST_HARNESS_MAIN
