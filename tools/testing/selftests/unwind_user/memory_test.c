// SPDX-License-Identifier: GPL-2.0
/*
 * Which memory the walker may read: other stacks, files and devices, and what a guess
 * leads to; and how stacks end, as a perf record says it, and a trace event.
 */
#include "harness.h"

#include "hostile.h"
#include "synth_fixture.h"
#include "uffd.h"

static int map_file(void *at, int flags)
{
	int fd = memfd_create("page", MFD_CLOEXEC);
	void *page;

	if (fd < 0 || ftruncate(fd, PAGE))
		return -errno;
	page = mmap(at, PAGE, RW, flags | MAP_FIXED, fd, 0);
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
	EXPECT_NONE_BY(BY_FP(0x10), OUTERMOST);
	/* The CFA by what is there. */
	NO_RULES();
	REGS.s2 = RETURN(1);
	other[32] = (unsigned long)&own[2];
	RULE(FLEXIBLE(AT_REG(FP), 0, REG(S2), 0));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The return address. */
	EXPECT_NONE_BY(FLEXIBLE(REG(SP), 8, AT_REG(FP), 8), OUTERMOST);
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

static bool use_two_stacks(struct synth *synth, unsigned long *own, unsigned long *other)
{
	if (!own || own >= other)
		return false;
	synth->frame.regs.sp = (unsigned long)own;
	synth->frame.regs.fp = (unsigned long)&own[4];
	write_other_frames(synth, own, other);
	return true;
}

/* What a coroutine was called from may be another stack above, for a guess. */
TEST_F(synth, another_stack_above)
{
	unsigned long *other = (unsigned long *)self->synth.stack, *own = synth_memory(PAGE);

	ASSERT_TRUE(use_two_stacks(&self->synth, own, other));
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_TRUE(self->synth.chain.guessed);

	/* By rules; the last one has its CFA on the stack that it is on. */
	RULES(BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), OUTERMOST);
	EXPECT_STACK(COMPLETE, true, RETURN(1), RETURN(2), RETURN(3));
	RULES(FLEXIBLE(AT_REG(SP), 0x10), BY_SP(0x40), OUTERMOST);
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

	ASSERT_TRUE(use_two_stacks(&self->synth, own, other));
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		other[9] = none[i];
		NO_RULES();
		EXPECT_CALLERS(RETURN(1));
		RULE(BY_FP(0x10, -0x10));
		RULE(BY_FP(0x10, -0x10));
		RULE(OUTERMOST);
		EXPECT_STACK(BAD_FRAME, false, RETURN(1));
	}
}

/* be above, and memory that nothing but this program writes to. */
TEST_F(synth, other_mapping_not_a_stack)
{
	unsigned long *other = synth_memory(PAGE), *own = synth_memory(PAGE);

	ASSERT_TRUE(use_two_stacks(&self->synth, own, other));
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
	ASSERT_EQ(other, mmap(other, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	OTHER_STACK(own, other);
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(other, mmap(other, PAGE, RW, ANON | MAP_FIXED, -1, 0));
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
	ASSERT_TRUE(use_two_stacks(&self->synth, own, other));
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
			ASSERT_EQ(own, mmap(own, 2 * PAGE, RW, MAP_PRIVATE | MAP_FIXED, fd, 0));
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
	/* As of a variable in .bss, of which the file's last page has the beginning. */
	ASSERT_EQ(above, mmap(above, PAGE, RW, ANON | MAP_FIXED, -1, 0));
	above[0] = 0;
	above[1] = RETURN(1);
	RULES(BY_FP(16, -16), OUTERMOST);
	EXPECT_STACK(COMPLETE, false, RETURN(1));
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
		EXPECT_NONE_BY(FLEXIBLE(REG(SP), 8, REG(S1), 0), OUTERMOST);
		EXPECT_NONE_BY(FLEXIBLE(REG(FP), 0, REG(S1), 0), OUTERMOST);
		NO_RULES();
		EXPECT_NO_CALLERS();
	}
}

#define SMAPS	"/proc/self/smaps"

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
	RULES(BY_SP(8), OUTERMOST);
	WORD(0x00) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	REGS.sp = (unsigned long)word;
	EXPECT_NO_CALLERS();

	/* Nor may a stack go on there. */
	stack = synth_memory(RING_SIZE + 2 * PAGE);
	ASSERT_NE(NULL, stack);
	ASSERT_EQ(stack + PAGE, mmap(stack + PAGE, RING_SIZE + getpagesize(),
				     RW, MAP_SHARED | MAP_FIXED, other.fd, 0));
	REGS.sp = (unsigned long)stack + FREE_WORD;
	REGS.s1 = RETURN(1);
	EXPECT_NONE_BY(FLEXIBLE(REG(SP), PAGE, REG(S1), 0), OUTERMOST);
	EXPECT_NONE_BY(BY_SP(PAGE + 8), OUTERMOST);
}

static bool is_mapped(const void *page)
{
	unsigned char there;

	return !mincore((void *)page, 1, &there);
}

/* What grows when it is touched does not for a guess. */
TEST_F(synth, stack_does_not_grow)
{
	unsigned long far = 1024 * PAGE;
	unsigned char *area = mmap(NULL, 2 * far, PROT_NONE, ANON, -1, 0);
	unsigned char *low = area + far;
	unsigned long *grows;

	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, munmap(area, 2 * far));
	grows = mmap(low, 4 * PAGE, RW, ANON | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	ASSERT_EQ(low, (unsigned char *)grows);
	grows[0] = RETURN(1);
	ASSERT_FALSE(is_mapped(low - getpagesize()));

	/* A stack that has yet to grow, as by a function that was just entered. */
	REGS.sp = (unsigned long)low - 0x100;
	RULES(BY_SP(0x108), OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_FALSE(is_mapped(low - getpagesize()));
	/* A rule that would read where there is nothing yet. */
	EXPECT_NONE_BY(BY_SP(0x20), OUTERMOST);
	EXPECT_NONE_BY(FLEXIBLE(REG(SP), 0x108, AT_CFA, -0x80), OUTERMOST);
	EXPECT_NONE_BY(BY_SP(0x108, -0x80), OUTERMOST);
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
	REGS.sp = (unsigned long)mmap(area, PAGE, RW, ANON | MAP_FIXED, -1, 0);
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
	WORDS({ 0x100, AT(0x200) }, { 0x108, AT(0x300) }, { 0x208, RETURN(3) });

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
	RULES(BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), OUTERMOST);
	EXPECT_STACK(COMPLETE, true, RETURN(1), RETURN(2));

	/* It must have code to return to, */
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		other[33] = none[i];
		EXPECT_STACK(BAD_FRAME, false);
	}
	/* and be memory that nothing but this program writes to. */
	ASSERT_EQ(0, map_file(other, MAP_PRIVATE));
	other[33] = RETURN(1);
	EXPECT_NO_CALLERS();
	ASSERT_EQ(other, mmap(other, PAGE, RW, ANON | MAP_FIXED, -1, 0));
	other[33] = RETURN(1);
	EXPECT_CALLERS(RETURN(1));

	/* Nothing leads down in the same mapping, */
	REGS.sp = (unsigned long)&other[64];
	EXPECT_NO_CALLERS();
	/* nor a stack pointer into another one. */
	REGS.sp = (unsigned long)own;
	EXPECT_NONE_BY(BY_SP((int)((char *)&other[34] - (char *)own)), OUTERMOST);
}

static bool is_present(const void *page)
{
	unsigned char there = 0;

	return !mincore((void *)page, 1, &there) && there & 1;
}

/* A guess waits for no memory of another stack: nobody knows where that is. */
TEST_F(synth, another_stack_not_in_memory)
{
	unsigned long *other = (unsigned long *)self->synth.stack, *own = synth_memory(PAGE);

	ASSERT_TRUE(use_two_stacks(&self->synth, own, other));
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_TRUE(is_present(other));

	ASSERT_EQ(0, madvise(other, PAGE, MADV_DONTNEED));
	ASSERT_FALSE(is_present(other));
	EXPECT_CALLERS(RETURN(1));
	EXPECT_FALSE(is_present(other));
	RULES(BY_FP(0x10, -0x10), BY_FP(0x10, -0x10), OUTERMOST);
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

	ASSERT_EQ(above, mmap(above, PAGE, RW, ANON | MAP_FIXED, -1, 0));
	above[0] = 0;
	above[1] = RETURN(1);
	EXPECT_EQ(NULL, synth_sample_again(&self->synth));
	EXPECT_EQ(2, chain->nr);
}

#ifdef __x86_64__

/* --- Callers of code without a table, by the call before a word of the stack --- */

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
	EXPECT_STACK(NO_INFO, true, RETURN(3));
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
		ASSERT_EQ(0, mprotect(other, PAGE, RX));
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
	ASSERT_EQ(0, mprotect(self->synth.text, SYNTH_TEXT, RX));
	EXPECT_CALLERS(RETURN(3));

	fd = uffd_open(0);
	if (fd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(0, uffd_missing(fd, self->synth.text, SYNTH_TEXT));
	EXPECT_NO_CALLERS();
	close(fd);
	EXPECT_CALLERS(RETURN(3));
}

#endif /* __x86_64__ */

/* --- How stacks end; code of another word size is in compat_test --- */

#define CHAIN	(self->synth.chain)

/* How the stack ends of which the callers were looked at last. */
#define EXPECT_END(how, by_frame_pointer) do {				\
	EXPECT_EQ(PERF_CALLCHAIN_END_##how, CHAIN.end);			\
	EXPECT_EQ(by_frame_pointer, CHAIN.guessed);			\
} while (0)

/* --- Complete --- */

TEST_F(synth, complete)
{
	RULE(OUTERMOST);
	EXPECT_STACK(COMPLETE, false);

	RULES(BY_SP(8), OUTERMOST);
	WORD(0x00) = RETURN(1);
	EXPECT_STACK(COMPLETE, false, RETURN(1));
}

/* Functions from the first without a rule on are known by frame pointers. */
static void chain_of_frame_pointers(struct synth *synth)
{
	unsigned long *stack = (unsigned long *)synth->stack;

	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth->frame.regs.fp = (unsigned long)&stack[0x10];
	stack[0] = synth_return(synth, 1);
	stack[0x10] = (unsigned long)&stack[0x20];
	stack[0x11] = synth_return(synth, 2);
	stack[0x20] = 0;
	stack[0x21] = synth_return(synth, 3);
}

/* Where a frame pointer has led, 0 is a number like any other. */
TEST_F(synth, no_end_by_frame_pointers)
{
	chain_of_frame_pointers(&self->synth);
	EXPECT_STACK(NO_INFO, true, RETURN(1), RETURN(2), RETURN(3));
}

/* Rules keep track of it: whoever starts a thread clears it. */
TEST_F(synth, complete_by_rules)
{
	RULES(BY_SP(8), BY_SP(16, -16));
	REGS.fp = 1;
	WORDS({ 0x00, RETURN(1) }, { 0x08, 0 }, { 0x10, RETURN(2) });
	EXPECT_STACK(COMPLETE, true, RETURN(1), RETURN(2));
	/* Another frame pointer says nothing, */
	WORD(0x08) = 1;
	EXPECT_STACK(NO_INFO, false, RETURN(1), RETURN(2));
	/* nor does any where there is no code. */
	WORDS({ 0x08, 0 }, { 0x10, AT(0x100) });
	EXPECT_STACK(BAD_FRAME, false, RETURN(1));
}

/* --- Incomplete --- */

TEST_F(synth, no_information)
{
	/* Nothing but registers, and they say nothing. */
	REGS.fp = 0;
	EXPECT_STACK(NO_INFO, false);
	REGS.fp = 0x1238;
	EXPECT_STACK(NO_INFO, false);

	/* A caller that no table describes. */
	RULE(BY_SP(8));
	WORD(0x00) = RETURN(1);
	EXPECT_STACK(NO_INFO, false, RETURN(1));

	/* A guess at its caller, and none at that one's. */
	REGS.fp = AT(0x80);
	WORDS({ 0x80, 0 }, { 0x88, RETURN(2) });
	EXPECT_STACK(NO_INFO, true, RETURN(1), RETURN(2));

	/* A guess that is no code. */
	WORD(0x88) = AT(0);
	EXPECT_STACK(NO_INFO, false, RETURN(1));

	/* A register that is not known in callers. */
	RULES(BY_SP(8), FLEXIBLE(REG(S1), 8));
	REGS.s1 = AT(0x100);
	WORD(0xf8 + 8) = RETURN(2);
	EXPECT_STACK(NO_INFO, false, RETURN(1));
}

TEST_F(synth, fault_of_the_table)
{
	RULE(OUTERMOST);
	REGS.fp = 0;
	/* As nothing is known of the table yet, it has to be read. */
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_NONE));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_EQ(1, CHAIN.nr);
	EXPECT_END(FAULT, false);
	/* It is not lost. */
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, RW));
	EXPECT_STACK(COMPLETE, false);
}

/* Nor does a stack that is taken at once go on by a frame pointer, before the table is read. */
TEST_F(synth, at_once_before_the_table_is_read)
{
	struct sampler at_once;
	static struct chain chain;

	RULES(BY_SP(8), OUTERMOST);
	REGS.fp = AT(0x80);
	WORDS({ 0x00, RETURN(1) }, { 0x80, 0 }, { 0x88, RETURN(2) });
	if (sysctl_set(SYSCTL_TABLES, 3))
		SKIP(return, "no stacks that are taken at once by tables");
	ASSERT_EQ(0, sampler_open_at_once(&at_once, "getppid"));
	ASSERT_EQ(0, do_register(&self->synth.ranges));
	/* The deferred stack of the same event reads it, */
	EXPECT_EQ(NULL, synth_sample_again(&self->synth));
	EXPECT_EQ(2, CHAIN.nr);
	EXPECT_EQ(NULL, sampler_chain_at_once(&at_once, &chain));
	EXPECT_EQ(1, chain.nr);
	/* so the next stack at once is as whole. */
	EXPECT_EQ(NULL, synth_sample_again(&self->synth));
	EXPECT_EQ(NULL, sampler_chain_at_once(&at_once, &chain));
	ASSERT_EQ(2, chain.nr);
	EXPECT_EQ(RETURN(1), chain.ips[1]);
	sampler_close(&at_once);
	sysctl_restore();
}

/* If deferred walks look for the table in vain, a frame pointer is followed. */
TEST_F(synth, at_once_without_the_table)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct sampler at_once;
	static struct chain chain;
	int tries = 0;

	RULES(BY_SP(8), OUTERMOST);
	REGS.fp = AT(0x80);
	WORDS({ 0x00, RETURN(1) }, { 0x80, 0 }, { 0x88, RETURN(2) });
	if (sysctl_set(SYSCTL_TABLES, 3))
		SKIP(return, "no stacks that are taken at once by tables");
	ASSERT_EQ(0, do_register(&self->synth.ranges));
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_NONE));
	ASSERT_EQ(0, sampler_open_at_once(&at_once, "getppid"));
	do {
		nanosleep(&pause, NULL);
		ASSERT_EQ(NULL, synth_sample_again(&self->synth));
		ASSERT_EQ(NULL, sampler_chain_at_once(&at_once, &chain));
	} while (chain.nr == 1 && ++tries < 200);
	EXPECT_LT(4, tries);
	ASSERT_EQ(2, chain.nr);
	EXPECT_EQ(RETURN(2), chain.ips[1]);
	/* It is not lost. */
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, RW));
	for (tries = 0; chain.ips[1] != RETURN(1) && tries < 400; tries++) {
		nanosleep(&pause, NULL);
		ASSERT_EQ(NULL, synth_sample_again(&self->synth));
		ASSERT_EQ(NULL, sampler_chain_at_once(&at_once, &chain));
	}
	ASSERT_EQ(2, chain.nr);
	EXPECT_EQ(RETURN(1), chain.ips[1]);
	sampler_close(&at_once);
	sysctl_restore();
}

/* A stack whose next page is beyond the end of its file. */
TEST_F(synth, fault_of_the_stack)
{
	int fd = syscall(__NR_memfd_create, "stack", 0);
	unsigned char *stack;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	stack = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, stack);

	RULES(BY_SP(PAGE + 0x100), OUTERMOST);
	REGS.sp = (unsigned long)stack;
	EXPECT_STACK(FAULT, false);

	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE));
	*(unsigned long *)(stack + PAGE + 0xf8) = RETURN(1);
	EXPECT_STACK(COMPLETE, false, RETURN(1));
}

TEST_F(synth, malformed)
{
	RULE(BY_SP(8));
	REGS.fp = 0;
	WORD(0x00) = RETURN(1);
	self->synth.table[2] = 9;	/* the version */
	EXPECT_STACK(MALFORMED, false);
	/* It is known by now. */
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_END(MALFORMED, false);

	/* A guess helps, as far as it goes. */
	REGS.fp = AT(0x80);
	WORDS({ 0x80, 0 }, { 0x88, RETURN(2) });
	EXPECT_STACK(MALFORMED, true, RETURN(2));
}

TEST_F(synth, bad_frame)
{
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;

	REGS.fp = AT(0x80);
	WORDS({ 0x80, 0 }, { 0x88, RETURN(2) });

	/* Where nothing is, or no stack. */
	RULE(BY_SP(8));
	WORD(0x00) = 0;
	EXPECT_STACK(BAD_FRAME, false);
	WORD(0x00) = 0xffffffff81000000UL;
	EXPECT_STACK(BAD_FRAME, false);
	RULES(BY_SP(9));
	EXPECT_STACK(BAD_FRAME, false);
	RULES(BY_SP(SYNTH_STACK + 8));
	EXPECT_STACK(BAD_FRAME, false);
	RULES(BY_SP(-8));
	EXPECT_STACK(BAD_FRAME, false);

	/* A signal that interrupted nothing. */
	RULES(BY_SP(8));
	memcpy(restorer, restorer_code, sizeof(restorer_code));
	WORD(0x00) = (unsigned long)restorer;
	synth_signal((void *)AT(0x08), 0, AT(0x500), 0);
	EXPECT_STACK(BAD_FRAME, false, (unsigned long)restorer);
}

/*
 * A thread that began by a system call of its own: the rule there is the parent's, and
 * what is above its first frame is no return address.
 */
TEST_F(synth, return_address_that_is_no_code)
{
	const unsigned long none[] = {
		2, AT(0x40), (unsigned long)self->synth.table,
		(unsigned long)self->synth.text + SYNTH_TEXT + 1,
	};
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;

	RULES(BY_SP(8), BY_SP(8));
	WORD(0x00) = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		WORD(0x08) = none[i];
		/* No frame pointer leads on from there. */
		for (int further = 0; further < 2; further++) {
			REGS.fp = further ? AT(0x80) : 0;
			WORDS({ 0x80, 0 }, { 0x88, RETURN(2) });
			EXPECT_STACK(BAD_FRAME, false, RETURN(1));
		}
	}

	/* The last instruction of the text is a call that never returns. */
	REGS.fp = 0;
	WORD(0x08) = (unsigned long)self->synth.text + SYNTH_TEXT;
	EXPECT_STACK(NO_INFO, false, RETURN(1), WORD(0x08));

	/* What a signal interrupted is where it is. */
	memcpy(restorer, restorer_code, sizeof(restorer_code));
	WORD(0x00) = (unsigned long)restorer;
	synth_signal((void *)AT(0x08), 2, AT(0x500), 0);
	EXPECT_STACK(NO_INFO, false, (unsigned long)restorer, 2);
}

TEST_F(synth, depth)
{
	/* A row without words, behind the function that all other frames are of. */
	static const unsigned char outermost[] = { 1, 0, 0, 0, 0, 0, 0 };
	const unsigned long behind = 1 + MAX_CHAIN / FUNCTION_SIZE + 1;
	unsigned long *stack = (unsigned long *)self->synth.stack;

	hostile_frames(&self->synth);
	synth_add(&self->synth, behind * FUNCTION_SIZE, FUNCTION_SIZE, outermost,
		  sizeof(outermost));
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_END(DEPTH, false);

	/* One that just fits is complete, */
	stack[MOST_FRAMES - 2] = RETURN(behind);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_EQ(RETURN(behind), CHAIN.ips[MOST_FRAMES - 1]);
	EXPECT_END(COMPLETE, false);

	/* and one frame more does not fit. */
	stack[MOST_FRAMES - 2] = RETURN(1);
	stack[MOST_FRAMES - 1] = RETURN(behind);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_END(DEPTH, false);
}

/* --- What administrators see --- */

#define END_EVENT	"unwind_user/unwind_user_end"

/* The event's fields. */
struct end_event {
	unsigned long frames, ip, end, last, guessed, lookups, caller_lookups;
};

/* A field of a record, where the event's format says that it is; returns whether it does. */
static bool get_field(const char *record, const char *name, unsigned long *value)
{
	char line[256], path[EVENT_PATH];
	unsigned int offset, size;
	bool found = false;
	FILE *file;

	*value = 0;
	event_path(path, END_EVENT, "format");
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *end = strstr(line, ";\toffset:");
		size_t len = strlen(name);

		/* field:TYPE NAME;	offset:NUMBER;	size:NUMBER; */
		if (!end || end - line <= (long)len || end[-len - 1] != ' ' ||
		    strncmp(end - len, name, len) ||
		    sscanf(end, ";\toffset:%u;\tsize:%u;", &offset, &size) != 2)
			continue;
		found = size <= sizeof(*value);
		if (found)
			memcpy(value, record + offset, size);
	}
	if (file)
		fclose(file);
	return found;
}

/* The last of the events in the ring; returns how many there were, or -1. */
static int events_in(struct sampler *sampler, struct end_event *event)
{
	int events = 0, type;

	while ((type = sampler_record(sampler))) {
		/* The size, of 32 bits, and the bytes. */
		const char *record = (char *)sampler->words + sizeof(int);

		if (type != PERF_RECORD_SAMPLE)
			continue;
		if (!get_field(record, "frames", &event->frames) ||
		    !get_field(record, "ip", &event->ip) ||
		    !get_field(record, "end", &event->end) ||
		    !get_field(record, "last", &event->last) ||
		    !get_field(record, "guessed", &event->guessed) ||
		    !get_field(record, "lookups", &event->lookups) ||
		    !get_field(record, "caller_lookups", &event->caller_lookups))
			return -1;
		events++;
	}
	return events;
}

TEST_F(synth, trace_event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1, .sample_type = PERF_SAMPLE_RAW,
	};
	struct end_event event = {};
	struct sampler sampler;
	long id = event_id(END_EVENT);

	ASSERT_LT(0, id);
	attr.config = id;

	RULES(BY_SP(8), OUTERMOST);
	WORD(0x00) = RETURN(1);
	/* The process remembers rules from its first caller on. */
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(0, sampler_open_event(&sampler, &attr));
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(2, event.frames);
	EXPECT_EQ(RETURN(1), event.ip);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, event.end);
	EXPECT_EQ(1, event.last);	/* by table */
	EXPECT_EQ(0, event.guessed);
	/* The second stack asks no table. */
	EXPECT_EQ(0, event.lookups);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	ASSERT_EQ(1, events_in(&sampler, &event));
	EXPECT_EQ(2, event.lookups);
	EXPECT_EQ(1, event.caller_lookups);

	/* Nor where a frame is larger than a slot of the cache has room for. */
	RULES(BY_SP(8), BY_SP(0x9000), OUTERMOST);
	WORD(0x9000) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(3, event.frames);
	EXPECT_EQ(0, event.lookups);

	chain_of_frame_pointers(&self->synth);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(4, event.frames);
	EXPECT_EQ(RETURN(3), event.ip);
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_INFO, event.end);
	EXPECT_EQ(2, event.last);	/* by frame pointer */
	EXPECT_EQ(1, event.guessed);
	sampler_close(&sampler);
}

/* A sample of that event asks for the stack that was just taken: it ends. */
TEST_F(synth, trace_event_with_stacks)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	struct sampler other = {};
	long id = event_id(END_EVENT);

	ASSERT_LT(0, id);
	attr.config = id;
	RULE(OUTERMOST);
	sampler_close(&self->synth.sampler);
	ASSERT_EQ(0, sampler_open_stacks(&self->synth.sampler, attr));
	/* There is one when a stack is taken for another. */
	ASSERT_EQ(0, sampler_open(&other));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_EQ(1, CHAIN.nr);
	EXPECT_END(COMPLETE, false);
	sampler_close(&other);
}

TEST_HARNESS_MAIN
