// SPDX-License-Identifier: GPL-2.0
/*
 * What the walker may read, and where it has to end: return addresses and CFAs
 * that cannot be, stacks that end, other stacks and other memory, and guesses.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

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

	/* A user address may be wrong, and is what it is. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(BY_SP(8));
	REGS.bp = 0;
	WORD(0x08) = 0x7fffffffefffUL;
	EXPECT_CALLERS(RETURN(1), 0x7fffffffefffUL);
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

/* --- Other memory --- */

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
	REGS.bp = (unsigned long)&other[32];
	EXPECT_NO_CALLERS();
	/* The CFA. */
	RULE(BY_FP(0x10));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The CFA by what is there. */
	NO_RULES();
	REGS.r13 = RETURN(1);
	other[32] = (unsigned long)&own[2];
	RULE(FLEXIBLE(AT_REG(RBP), 0, REG(R13), 0));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The return address. */
	NO_RULES();
	RULE(FLEXIBLE(REG(RSP), 8, AT_REG(RBP), 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* The frame pointer. */
	NO_RULES();
	own[0] = RETURN(1);
	RULE(FLEXIBLE(REG(RSP), 8, NO_RULE, AT_REG(RBP), 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	/* Were it the stack, all would be well. */
	REGS.sp = (unsigned long)&other[40];
	EXPECT_CALLERS(RETURN(1));
}

/* Kernel addresses and none at all are no stack either. */
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
	REGS.bp = (unsigned long)&own[4];
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
	RULE(FLEXIBLE(AT_REG(RSP), 0x10));
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
	REGS.bp = (unsigned long)&own[4];
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
	REGS.bp = (unsigned long)&own[4];
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

TEST_F(synth, bad_stack_pointer)
{
	static const unsigned long none[] = { 0, 8, 0x1000, -8UL, -0x1000UL, 1UL << 63, 1UL << 47 };

	REGS.r12 = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		REGS.sp = none[i];
		REGS.bp = AT(0x100);
		WORD(0x108) = RETURN(1);
		NO_RULES();
		RULE(FLEXIBLE(REG(RSP), 8, REG(R12), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		RULE(FLEXIBLE(REG(RBP), 0, REG(R12), 0));
		RULE(OUTERMOST);
		EXPECT_NO_CALLERS();
		NO_RULES();
		EXPECT_NO_CALLERS();
	}
}

/* Whether smaps says a flag of the mapping that holds an address. */
static bool has_vm_flag(const void *addr, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "re");
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
	ASSERT_EQ(stack + PAGE, mmap(stack + PAGE, RING_SIZE + PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED, other.fd, 0));
	REGS.sp = (unsigned long)stack + FREE_WORD;
	REGS.r12 = RETURN(1);
	NO_RULES();
	RULE(FLEXIBLE(REG(RSP), PAGE, REG(R12), 0));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(BY_SP(PAGE + 8));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
}

TEST_F(synth, stack_in_the_vvar)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);

	/* The kernel's data for the vDSO stands below it. */
	if (!vdso || !has_vm_flag((void *)(vdso - PAGE), " pf "))
		SKIP(return, "no vvar");
	REGS.r12 = RETURN(1);
	RULE(FLEXIBLE(REG(RSP), 8, REG(R12), 0));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
	REGS.sp = vdso - PAGE;
	EXPECT_NO_CALLERS();
}

/* Whether a page is mapped. */
static bool is_mapped(const void *page)
{
	unsigned char there;

	return !mincore((void *)page, PAGE, &there);
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
	ASSERT_FALSE(is_mapped(low - PAGE));

	/* A stack that has yet to grow, as by a function that was just entered. */
	REGS.sp = (unsigned long)low - 0x100;
	RULE(BY_SP(0x108));
	RULE(OUTERMOST);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_FALSE(is_mapped(low - PAGE));
	/* A rule that would read where there is nothing yet. */
	NO_RULES();
	RULE(BY_SP(0x20));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(FLEXIBLE(REG(RSP), 0x108, AT_CFA, -0x80));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	NO_RULES();
	RULE(BY_SP(0x108, -0x80));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	EXPECT_FALSE(is_mapped(low - PAGE));
	/* A frame pointer from elsewhere. */
	NO_RULES();
	REGS.sp = AT(0);
	REGS.bp = (unsigned long)low - 0x40;
	EXPECT_NO_CALLERS();
	RULE(BY_FP(0x10));
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	EXPECT_FALSE(is_mapped(low - PAGE));
	/* The same from a stack below, as that of a coroutine; half of a frame is there. */
	NO_RULES();
	REGS.sp = (unsigned long)mmap(area, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ((unsigned long)area, REGS.sp);
	for (long at = -0x40; at < 0; at += 8) {
		REGS.bp = (unsigned long)low + at;
		EXPECT_NO_CALLERS();
	}
	EXPECT_FALSE(is_mapped(low - PAGE));
	/* It would if it were touched. */
	*(unsigned long *)(low - 0x40) = 1;
	EXPECT_TRUE(is_mapped(low - PAGE));
}

/* --- Guesses --- */

/* In a program with tables a frame pointer is only believed if it leads to code. */
TEST_F(synth, guesses_must_be_code)
{
	struct table_header *header = (struct table_header *)self->synth.table;

	REGS.bp = AT(0x100);
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
	ASSERT_EQ(0, do_update(&self->synth.ranges));
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_NONE));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &self->synth.chain));
	EXPECT_EQ(2, self->synth.chain.nr);
	EXPECT_EQ(RETURN(2), self->synth.chain.ips[1]);
}

TEST_HARNESS_MAIN
