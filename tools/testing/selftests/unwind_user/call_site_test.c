// SPDX-License-Identifier: GPL-2.0
/*
 * Callers of code without a table, by the call before a word of the stack: which words are
 * looked at, and where the code of a call may be read.
 */
#include "kselftest_harness.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "synth_fixture.h"
#include "uffd.h"

/* Write a call that ends at @ra, and leads to @target. */
static void write_call(unsigned long ra, unsigned long target)
{
	unsigned char *call = (unsigned char *)ra - 5;
	const int distance = target - ra;

	call[0] = 0xe8;
	memcpy(&call[1], &distance, sizeof(distance));
}

/* So many words of the stack may be return addresses, in so many mappings. */
#define CALL_SITE_WORDS		32
#define CALL_SITE_MAPPINGS	4

/* A stack of words that are behind a call, or look so: none of another place is a caller. */
TEST_F(synth, words_that_look_like_callers)
{
	unsigned long *stack = (unsigned long *)REGS.sp;

	write_call(RETURN(3), REGS.ip);
	/* Calls of what is behind the topmost frame, and of another mapping. */
	write_call(RETURN(4), REGS.ip + FUNCTION_SIZE);
	write_call(RETURN(5), (unsigned long)self->synth.table);
	/* A call that ends a byte farther. */
	write_call(RETURN(6) + 1, REGS.ip);
	for (int i = 0; i < CALL_SITE_WORDS - 1; i++)
		stack[i] = RETURN(4 + i % 3);
	EXPECT_NO_CALLERS();
	stack[CALL_SITE_WORDS] = RETURN(3);
	EXPECT_NO_CALLERS();
	stack[CALL_SITE_WORDS] = 0;
	stack[CALL_SITE_WORDS - 1] = RETURN(3);
	EXPECT_CALLERS(RETURN(3));
	EXPECT_TRUE(self->synth.chain.guessed);
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_INFO, self->synth.chain.end);
}

/* Each mapping is looked up, and that may be done a few times. */
TEST_F(synth, words_in_many_mappings)
{
	unsigned long *stack = (unsigned long *)REGS.sp;

	write_call(RETURN(3), REGS.ip);
	for (int i = 0; i < CALL_SITE_MAPPINGS; i++) {
		char *other = synth_memory(PAGE);

		ASSERT_NE(NULL, other);
		memset(other, 0x90, PAGE);
		ASSERT_EQ(0, mprotect(other, PAGE, PROT_READ | PROT_EXEC));
		stack[i] = (unsigned long)other + 64;
		stack[i + 1] = RETURN(3);
		if (i < CALL_SITE_MAPPINGS - 1)
			EXPECT_CALLERS(RETURN(3));
		else
			EXPECT_NO_CALLERS();
	}
}

/* Code is read for a guess where it may be, and no task has to provide it. */
TEST_F(synth, calls_that_may_not_be_read)
{
	unsigned long *stack = (unsigned long *)REGS.sp;
	int fd;

	write_call(RETURN(3), REGS.ip);
	stack[0] = RETURN(3);
	EXPECT_CALLERS(RETURN(3));
	ASSERT_EQ(0, mprotect(self->synth.text, SYNTH_TEXT, PROT_EXEC));
	EXPECT_NO_CALLERS();
	ASSERT_EQ(0, mprotect(self->synth.text, SYNTH_TEXT, PROT_READ | PROT_EXEC));
	EXPECT_CALLERS(RETURN(3));

	fd = uffd_open(0);
	if (fd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, uffd_missing(fd, self->synth.text, SYNTH_TEXT));
	EXPECT_NO_CALLERS();
	close(fd);
	EXPECT_CALLERS(RETURN(3));
}

TEST_HARNESS_MAIN
