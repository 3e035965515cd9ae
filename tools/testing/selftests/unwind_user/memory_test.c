// SPDX-License-Identifier: GPL-2.0
/*
 * Which memory the walker may read: other stacks, files and devices, and what a guess
 * leads to.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "synth_fixture.h"
#include "uffd.h"

/* Put a page of a file in the place of another one. */
static int map_file(void *at, int flags)
{
	int fd = memfd_create("page", MFD_CLOEXEC);
	void *page;

	if (fd < 0 || ftruncate(fd, PAGE))
		return -errno;
	page = mmap(at, PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	close(fd);
	return page == at ? 0 : -errno;
}

/* A guess, or a rule, does not get at memory that is not the stack. */
TEST_F(synth, other_memory)
{
	/* Above the stack, or it could not be taken for one. It is a file's. */
	unsigned long *other = (unsigned long *)self->synth.stack;
	unsigned long *own = synth_memory(PAGE);

	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	ASSERT_EQ(0, map_file(other, MAP_PRIVATE));
	REGS.sp = (unsigned long)own;
	for (unsigned int i = 0; i < PAGE / 8; i++)
		other[i] = RETURN(1);
	/* By frame pointer. */
	REGS.fp = (unsigned long)&other[32];
	EXPECT_NO_CALLERS();
	/* The CFA. */
	RULE(BY_FP(0x10));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The CFA by what is there. */
	NO_RULES();
	REGS.s2 = RETURN(1);
	other[32] = (unsigned long)&own[2];
	RULE(FLEXIBLE(AT_REG(FP), 0, REG(S2), 0));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The return address. */
	NO_RULES();
	RULE(FLEXIBLE(REG(SP), 8, AT_REG(FP), 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The frame pointer. */
	NO_RULES();
	own[0] = RETURN(1);
	RULE(FLEXIBLE(REG(SP), 8, NO_RULE, AT_REG(FP), 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* Were it the stack, all would be well. */
	REGS.sp = (unsigned long)&other[40];
	EXPECT_CALLERS(RETURN(1));
}

/* Two frames of a stack above, and another one of this. */
static void write_other_frames(struct synth *synth, unsigned long *own, unsigned long *other)
{
	own[4] = (unsigned long)&other[8];
	own[5] = synth_return(synth, 1);
	other[8] = (unsigned long)&other[16];
	other[9] = synth_return(synth, 2);
	other[16] = 0;
	other[17] = synth_return(synth, 3);
}

#define OTHER_STACK(own, other)	write_other_frames(&self->synth, own, other)

/* What a coroutine was called from may be another stack above, for a guess. */
TEST_F(synth, another_stack_above)
{
	unsigned long *other = (unsigned long *)self->synth.stack;
	unsigned long *own = synth_memory(PAGE);

	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&own[4];
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_TRUE(self->synth.chain.guessed);

	/* By rules; the last one has its CFA on the stack that it is on. */
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_TRUE(self->synth.chain.guessed);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, self->synth.chain.end);
	NO_RULES();
	RULE(FLEXIBLE(AT_REG(SP), 0x10));
	RULE(BY_SP(0x40));
	RULE(OUTERMOST);
	own[2] = (unsigned long)&other[10];
	other[17] = RETURN(2);
	other[9] = RETURN(1);
	/* A rule that names what was stored there is no guess. */
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_FALSE(self->synth.chain.guessed);
	REGS.sp = (unsigned long)other;
	other[2] = (unsigned long)&other[10];
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_FALSE(self->synth.chain.guessed);
}

/* It must have code to return to there, */
TEST_F(synth, another_stack_without_code)
{
	unsigned long *other = (unsigned long *)self->synth.stack;
	unsigned long *own = synth_memory(PAGE);
	const unsigned long none[] = { AT(0), 0x1234, 0, (unsigned long)self->synth.table };

	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&own[4];
	OTHER_STACK(own, other);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		other[9] = none[i];
		NO_RULES();
		EXPECT_CALLERS(RETURN(1));
		RULE(BY_FP(0x10, -0x10));
		RULE(BY_FP(0x10, -0x10));
		RULE(OUTERMOST);
		EXPECT_CALLERS(RETURN(1));
		EXPECT_FALSE(self->synth.chain.guessed);
		EXPECT_EQ(PERF_CALLCHAIN_END_BAD_FRAME, self->synth.chain.end);
	}
}

/* be above, and memory that nothing but this program writes to. */
TEST_F(synth, other_mapping_not_a_stack)
{
	unsigned long *other = synth_memory(PAGE), *own = synth_memory(PAGE);

	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&own[4];
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));

	/* The way back down ends. */
	other[16] = (unsigned long)&own[16];
	own[16] = 0;
	own[17] = RETURN(4);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_EQ(0, mprotect(other, PAGE, PROT_READ));
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(0, mprotect(other, PAGE, PROT_NONE));
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(0, munmap(other, PAGE));
	EXPECT_CALLERS(RETURN(1));
	for (int shared = 0; shared < 2; shared++) {
		ASSERT_EQ(0, map_file(other, shared ? MAP_SHARED : MAP_PRIVATE));
		OTHER_STACK(own, other);
		EXPECT_CALLERS(RETURN(1));
	}
	ASSERT_EQ(other, mmap(other, PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(other, mmap(other, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
}

/* Whoever is to provide that memory may be the task that is sampled. */
TEST_F(synth, other_stack_of_a_userfaultfd)
{
	unsigned long *other = synth_memory(PAGE), *own = synth_memory(PAGE);
	int fd = uffd_open(0);

	if (fd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&own[4];
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_EQ(0, uffd_missing(fd, other, PAGE));
	EXPECT_CALLERS(RETURN(1));
	close(fd);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
}

/* A stack may go on in the next mapping, but not in that of another file. */
TEST_F(synth, stack_in_two_mappings)
{
	unsigned long *own = synth_memory(2 * PAGE), *above;
	int fd = memfd_create("stack", MFD_CLOEXEC);

	ASSERT_NE(NULL, own);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE));
	above = (unsigned long *)((char *)own + PAGE);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)above;
	for (int file = 0; file < 2; file++) {
		if (file)
			ASSERT_EQ(own, mmap(own, 2 * PAGE, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_FIXED, fd, 0));
		above[0] = 0;
		above[1] = RETURN(1);
		EXPECT_CALLERS(RETURN(1));
		/* Now it is a mapping of its own. */
		ASSERT_EQ(0, madvise(above, PAGE, MADV_DONTDUMP));
		EXPECT_CALLERS(RETURN(1));
		ASSERT_EQ(0, map_file(above, MAP_PRIVATE));
		above[0] = 0;
		above[1] = RETURN(1);
		EXPECT_NO_CALLERS();
	}
	close(fd);
}

/* Kernel addresses and none at all are no stack either. */
TEST_F(synth, bad_stack_pointer)
{
	static const unsigned long none[] = { 0, 8, 0x1000, -8UL, -0x1000UL, 1UL << 63, 1UL << 47 };

	REGS.s1 = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		REGS.sp = none[i];
		REGS.fp = AT(0x100);
		WORD(0x108) = RETURN(1);
		NO_RULES();
		RULE(FLEXIBLE(REG(SP), 8, REG(S1), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(FP), 0, REG(S1), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		EXPECT_NO_CALLERS();
	}
}

#define SMAPS	"/proc/self/smaps"

/* Whether smaps says a flag of the mapping that holds an address. */
static bool has_vm_flag(const void *addr, const char *flag)
{
	FILE *file = fopen(SMAPS, "re");
	unsigned long start, end;
	bool found = false, in = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			in = (unsigned long)addr >= start && (unsigned long)addr < end;
		else if (in && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, flag);
	}
	if (file)
		fclose(file);
	return found;
}

/* A word of a ring buffer's first page that has no meaning. */
#define FREE_WORD	0x800

/*
 * A ring buffer is mapped as a device's memory would be, and programs can write to
 * its first page: a good stack, where none may be.
 */
TEST_F(synth, device_memory)
{
	struct sampler other = {};
	unsigned char *stack;
	unsigned long *word;

	ASSERT_EQ(0, sampler_open_clock(&other, 1000000));
	if (access(SMAPS, R_OK))
		SKIP(return, "no " SMAPS "; see config");
	if (!has_vm_flag(other.page, " io ") && !has_vm_flag(other.page, " pf "))
		SKIP(return, "ring buffers are ordinary memory here");
	word = (unsigned long *)((char *)other.page + FREE_WORD);
	*word = RETURN(1);
	RULE(BY_SP(8));
	RULE(OUTERMOST);
	WORD(0x00) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	REGS.sp = (unsigned long)word;
	EXPECT_NO_CALLERS();

	/* Nor may a stack go on there. */
	stack = synth_memory(RING_SIZE + 2 * PAGE);
	ASSERT_NE(NULL, stack);
	ASSERT_EQ(stack + PAGE, mmap(stack + PAGE, RING_SIZE + getpagesize(),
				     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, other.fd, 0));
	REGS.sp = (unsigned long)stack + FREE_WORD;
	REGS.s1 = RETURN(1);
	NO_RULES();
	RULE(FLEXIBLE(REG(SP), PAGE, REG(S1), 0));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(BY_SP(PAGE + 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
}

/* Whether a page is mapped. */
static bool is_mapped(const void *page)
{
	unsigned char there;

	return !mincore((void *)page, 1, &there);
}

/* What grows when it is touched does not for a guess. */
TEST_F(synth, stack_does_not_grow)
{
	unsigned long far = 1024 * PAGE;
	unsigned char *area = mmap(NULL, 2 * far, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *low = area + far;
	unsigned long *grows;

	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, munmap(area, 2 * far));
	grows = mmap(low, 4 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	ASSERT_EQ(low, (unsigned char *)grows);
	grows[0] = RETURN(1);
	ASSERT_FALSE(is_mapped(low - getpagesize()));

	/* A stack that has yet to grow, as by a function that was just entered. */
	REGS.sp = (unsigned long)low - 0x100;
	RULE(BY_SP(0x108));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_FALSE(is_mapped(low - getpagesize()));
	/* A rule that would read where there is nothing yet. */
	NO_RULES();
	RULE(BY_SP(0x20));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(FLEXIBLE(REG(SP), 0x108, AT_CFA, -0x80));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(BY_SP(0x108, -0x80));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	EXPECT_FALSE(is_mapped(low - getpagesize()));
	/* A frame pointer from elsewhere. */
	NO_RULES();
	REGS.sp = AT(0);
	REGS.fp = (unsigned long)low - 0x40;
	EXPECT_NO_CALLERS();
	RULE(BY_FP(0x10));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	EXPECT_FALSE(is_mapped(low - getpagesize()));
	/* The same from a stack below, as that of a coroutine; half of a frame is there. */
	NO_RULES();
	REGS.sp = (unsigned long)mmap(area, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ((unsigned long)area, REGS.sp);
	for (long at = -0x40; at < 0; at += 8) {
		REGS.fp = (unsigned long)low + at;
		EXPECT_NO_CALLERS();
	}
	EXPECT_FALSE(is_mapped(low - getpagesize()));
	/* It would if it were touched. */
	*(unsigned long *)(low - 0x40) = 1;
	EXPECT_TRUE(is_mapped(low - getpagesize()));
}

/* --- Guesses --- */

/* In a program with tables a frame pointer is only believed if it leads to code. */
TEST_F(synth, guesses_must_be_code)
{
	struct table_header *header = (struct table_header *)self->synth.table;

	REGS.fp = AT(0x100);
	WORD(0x100) = AT(0x200);
	WORD(0x108) = AT(0x300);
	WORD(0x208) = RETURN(3);

	/* A table that knows nothing of the functions. */
	EXPECT_NO_CALLERS();
	/* A table that is malformed. */
	header->version = 2;
	EXPECT_NO_CALLERS();
	WORD(0x108) = RETURN(2);
	EXPECT_CALLERS(RETURN(2), RETURN(3));
	WORD(0x208) = AT(0x300);
	EXPECT_CALLERS(RETURN(2));
	/* Nowhere is no code either. */
	WORD(0x208) = (unsigned long)self->synth.text - PAGE;
	EXPECT_CALLERS(RETURN(2));
	WORD(0x208) = 0x1234;
	EXPECT_CALLERS(RETURN(2));
	/* Data. */
	WORD(0x208) = (unsigned long)self->synth.table;
	EXPECT_CALLERS(RETURN(2));

	/* A table that cannot be read. */
	header->version = 3;
	EXPECT_CALLERS(RETURN(2));
	ASSERT_EQ(0, do_register(&self->synth.ranges));
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_NONE));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &self->synth.chain));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_EQ(RETURN(2), self->synth.chain.ips[1]);
}

/*
 * A function that changes to another stack keeps its own one in rbp: that may be below.
 * As above, this is a guess.
 */
TEST_F(synth, another_stack_below)
{
	unsigned long *other = synth_memory(PAGE), *own = (unsigned long *)self->synth.stack;
	const unsigned long none[] = { AT(0), 0x1234, 0, (unsigned long)self->synth.table };

	ASSERT_NE(NULL, other);
	ASSERT_LT((unsigned long)other, (unsigned long)own);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&other[32];
	other[32] = (unsigned long)&other[40];
	other[33] = RETURN(1);
	other[40] = 0;
	other[41] = RETURN(2);
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_TRUE(self->synth.chain.guessed);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, self->synth.chain.end);

	/* It must have code to return to, */
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		other[33] = none[i];
		EXPECT_NO_CALLERS();
		EXPECT_FALSE(self->synth.chain.guessed);
		EXPECT_EQ(PERF_CALLCHAIN_END_BAD_FRAME, self->synth.chain.end);
	}
	/* and be memory that nothing but this program writes to. */
	ASSERT_EQ(0, map_file(other, MAP_PRIVATE));
	other[33] = RETURN(1);
	EXPECT_NO_CALLERS();
	ASSERT_EQ(other, mmap(other, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	other[33] = RETURN(1);
	EXPECT_CALLERS(RETURN(1));

	/* Nothing leads down in the same mapping, */
	REGS.sp = (unsigned long)&other[64];
	EXPECT_NO_CALLERS();
	/* nor a stack pointer into another one. */
	REGS.sp = (unsigned long)own;
	NO_RULES();
	RULE(BY_SP((int)((char *)&other[34] - (char *)own)));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
}

/* Whether a page of a mapping is in memory. */
static bool is_present(const void *page)
{
	unsigned char there = 0;

	return !mincore((void *)page, 1, &there) && there & 1;
}

/* A guess waits for no memory of another stack: nobody knows where that is. */
TEST_F(synth, another_stack_not_in_memory)
{
	unsigned long *other = (unsigned long *)self->synth.stack;
	unsigned long *own = synth_memory(PAGE);

	ASSERT_NE(NULL, own);
	ASSERT_LT((unsigned long)own, (unsigned long)other);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)&own[4];
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_TRUE(is_present(other));

	ASSERT_EQ(0, madvise(other, PAGE, MADV_DONTNEED));
	ASSERT_FALSE(is_present(other));
	EXPECT_CALLERS(RETURN(1));
	EXPECT_FALSE(is_present(other));
	RULE(BY_FP(0x10, -0x10));
	RULE(BY_FP(0x10, -0x10));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_EQ(PERF_CALLCHAIN_END_FAULT, self->synth.chain.end);
	EXPECT_FALSE(is_present(other));
}

/* Where the last stack of a task was, there may be something else for the next one. */
TEST_F(synth, stack_that_is_replaced)
{
	unsigned long *own = synth_memory(2 * PAGE), *above;
	const struct chain *chain = &self->synth.chain;

	ASSERT_NE(NULL, own);
	above = (unsigned long *)((char *)own + PAGE);
	REGS.sp = (unsigned long)own;
	REGS.fp = (unsigned long)above;
	above[0] = 0;
	above[1] = RETURN(1);
	EXPECT_CALLERS(RETURN(1));

	/* The table is the same: nothing but the mapping says so. */
	ASSERT_EQ(0, map_file(above, MAP_PRIVATE));
	above[0] = 0;
	above[1] = RETURN(1);
	EXPECT_EQ(NULL, synth_sample_again(&self->synth));
	EXPECT_EQ(1, chain->nr);

	ASSERT_EQ(above, mmap(above, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	above[0] = 0;
	above[1] = RETURN(1);
	EXPECT_EQ(NULL, synth_sample_again(&self->synth));
	EXPECT_EQ(2, chain->nr);
}

TEST_HARNESS_MAIN
