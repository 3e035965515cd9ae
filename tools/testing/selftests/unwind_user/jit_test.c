// SPDX-License-Identifier: GPL-2.0
/*
 * Generated code whose tables tools/unwind-jit writes: its stacks are sampled while functions
 * come and go, for RACE_SECONDS, and at each instruction of the documentation's example.
 */
#include "harness.h"

#include <linux/hw_breakpoint.h>

#include "example.h"

/* The memory that functions are generated into. */
#define CODE_SIZE	(4 * PAGE)
/* What a leaf takes of it. */
#define LEAF_PLACE	16

#define THREADS		8
/* So many stacks must be sampled, at least. */
#define MIN_STACKS	1000

/* Memory that is written and executed at any time. */
static unsigned char *map_code(size_t size)
{
	return mmap(NULL, size, RW | PROT_EXEC, ANON, -1, 0);
}

/* On entry to a function, which is all there is to say of a leaf. */
static const struct unwind_jit_row leaf_row = { .base = UNWIND_JIT_SP, .cfa = 8 };

static unsigned char *leaf_at(unsigned char *code, unsigned int nth)
{
	unsigned char *leaf = code + LEAF_PLACE * nth;

	memcpy(leaf, leaf_code, sizeof(leaf_code));
	return leaf;
}

static int add_leaf(struct unwind_jit *region, const unsigned char *leaf)
{
	return unwind_jit_add(region, leaf, sizeof(leaf_code), &leaf_row, 1);
}

FIXTURE(jit) {
	unsigned char *code;
	struct unwind_jit *region;
	struct sampler sampler;
};

FIXTURE_SETUP(jit)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	if (!open_sampler(_metadata, &self->sampler))
		return;
	self->code = map_code(CODE_SIZE);
	ASSERT_NE(MAP_FAILED, self->code);
	self->region = unwind_jit_open(self->code, CODE_SIZE, 0);
	ASSERT_NE(NULL, self->region);
}

FIXTURE_TEARDOWN(jit)
{
	unwind_jit_close(self->region);
	EXPECT_EQ(0, munmap(self->code, CODE_SIZE));
}

/* --- Functions come and go --- */

/* How often a thread calls a leaf before that may go. */
#define CALLS	20

struct worker {
	pthread_t thread;
	struct sampler sampler;
	unsigned char *leaf;
	/* The thread may call the leaf; else it may be replaced. */
	bool ready;
	/* The stacks that were sampled, by how they go on. */
	unsigned long stacks[LEAF_NONE + 1];
	const char *error;
};

static struct worker workers[THREADS];
static bool stop;

static void *call_leaves(void *arg)
{
	struct worker *worker = arg;

	if (sampler_open(&worker->sampler)) {
		worker->error = "cannot sample";
		return NULL;
	}
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!__atomic_load_n(&worker->ready, __ATOMIC_ACQUIRE)) {
			usleep(1000);
			continue;
		}
		for (int i = 0; i < CALLS; i++)
			worker->stacks[call_leaf(&worker->sampler, worker->leaf)]++;
		__atomic_store_n(&worker->ready, false, __ATOMIC_RELEASE);
	}
	sampler_close(&worker->sampler);
	return NULL;
}

/* What the thread that writes the functions has done. */
struct compiler {
	struct unwind_jit *region;
	unsigned char *code;
	/* The index of the next leaf that gets new memory. */
	unsigned int next;
	unsigned int seed;
	unsigned long appended, published, reused, flushed;
};

static bool publish(struct compiler *compiler)
{
	compiler->published++;
	return !unwind_jit_publish(compiler->region);
}

/* Replace the leaf of a thread that calls none. Returns NULL, or the call that failed. */
static const char *compile_leaf(struct compiler *compiler, struct worker *worker)
{
	int needed;

	if (worker->leaf && rand_r(&compiler->seed) % 2) {
		if (unwind_jit_remove(compiler->region, worker->leaf, 1) != 1)
			return "remove";
		if (!publish(compiler))
			return "publish";
		compiler->reused++;
	} else {
		worker->leaf = leaf_at(compiler->code, compiler->next++);
	}
	needed = add_leaf(compiler->region, worker->leaf);
	if (needed < 0)
		return "add";
	compiler->appended += !needed;
	if (needed && !publish(compiler))
		return "publish";
	__atomic_store_n(&worker->ready, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_ready(const struct worker *worker)
{
	return __atomic_load_n(&worker->ready, __ATOMIC_ACQUIRE);
}

/* Forget all functions when all memory is used. Returns whether no thread runs one. */
static bool flush(struct compiler *compiler)
{
	for (int i = 0; i < THREADS; i++) {
		if (is_ready(&workers[i]))
			return false;
		workers[i].leaf = NULL;
	}
	unwind_jit_remove(compiler->region, compiler->code, CODE_SIZE);
	publish(compiler);
	compiler->next = 0;
	compiler->flushed++;
	return true;
}

/* Replace leaves until a time, and until all memory was used once. Returns what failed. */
static const char *compile_until(struct compiler *compiler, time_t end)
{
	const char *error = NULL;

	while (!error && (time(NULL) < end || !compiler->flushed)) {
		bool idle = true;

		for (int i = 0; i < THREADS && !error; i++) {
			error = workers[i].error;
			if (error || is_ready(&workers[i]))
				continue;
			if (compiler->next == CODE_SIZE / LEAF_PLACE && !flush(compiler))
				break;
			error = compile_leaf(compiler, &workers[i]);
			idle = false;
		}
		if (idle)
			usleep(1000);
	}
	return error;
}

TEST_F_TIMEOUT(jit, functions_come_and_go, 600)
{
	struct compiler compiler = { .region = self->region, .code = self->code, .seed = 1 };
	unsigned long stacks[LEAF_NONE + 1] = {};
	const char *error;

	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, call_leaves, &workers[i]));
	error = compile_until(&compiler, time(NULL) + wanted("RACE_SECONDS", 5));
	EXPECT_EQ(NULL, error) TH_LOG("%s", error);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++) {
		EXPECT_EQ(0, pthread_join(workers[i].thread, NULL));
		for (unsigned int j = 0; j < ARRAY_SIZE(stacks); j++)
			stacks[j] += workers[i].stacks[j];
	}
	ksft_print_msg("stacks: %lu by the table, %lu by frame pointer\n", stacks[LEAF_FOUND],
		       stacks[LEAF_LOST]);
	ksft_print_msg("functions appended: %lu, tables: %lu, places reused: %lu, flushes: %lu\n",
		       compiler.appended, compiler.published, compiler.reused, compiler.flushed);
	EXPECT_LE(MIN_STACKS, stacks[LEAF_FOUND]);
	/* A table may go while a walk reads it, which then tries the frame pointer. */
	EXPECT_GE(stacks[LEAF_FOUND], 200 * stacks[LEAF_LOST]);
	EXPECT_EQ(0, stacks[LEAF_OUTERMOST] + stacks[LEAF_WRONG] + stacks[LEAF_NONE]);
	EXPECT_LT(0, compiler.reused);
	EXPECT_LT(0, compiler.flushed);
	EXPECT_LT(0, compiler.appended);
}

TEST_F(jit, functions_that_ran_before)
{
	unsigned char *first = leaf_at(self->code, 0), *second = leaf_at(self->code, 1);

	/* Nothing is registered. */
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, first));
	ASSERT_EQ(1, add_leaf(self->region, first));
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, first));
	ASSERT_EQ(0, unwind_jit_publish(self->region));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, first));

	/* There is a table, which says nothing of it. */
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, second));
	ASSERT_EQ(0, add_leaf(self->region, second));
	ASSERT_EQ(0, unwind_jit_publish(self->region));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, second));

	/* And taken away again. */
	ASSERT_EQ(1, unwind_jit_remove(self->region, first, 1));
	ASSERT_EQ(0, unwind_jit_publish(self->region));
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, first));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, second));
}

/* A CIE and an FDE, whose function is to be filled in, and nothing more. */
struct exception_frame {
	__u8 cie[24];
	__u32 length;
	__u32 cie_pointer;
	__s32 start;
	__u32 size;
	__u8 program[4];
	__u32 end;
};

TEST_F(jit, exception_frames)
{
	static const struct exception_frame records = {
		/* CFA at rsp + 8, return address at CFA - 8; starts are relative, of 4 bytes */
		.cie = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
			 0x0c, 7, 8, 0x90, 1 },
		.length = offsetof(struct exception_frame, end) -
			  offsetof(struct exception_frame, cie_pointer),
		.cie_pointer = offsetof(struct exception_frame, cie_pointer),
		.size = sizeof(leaf_code),
	};
	unsigned char *leaf = leaf_at(self->code, 0);
	struct exception_frame *eh_frame;
	unsigned char *table, *index;
	ssize_t len;

	table = mmap(NULL, PAGE, RW, ANON, -1, 0);
	ASSERT_NE(MAP_FAILED, table);
	eh_frame = (struct exception_frame *)table;
	index = table + PAGE / 2;
	*eh_frame = records;
	eh_frame->start = leaf - (unsigned char *)&eh_frame->start;

	len = unwind_jit_eh_frame_index(index, PAGE / 2, eh_frame, sizeof(*eh_frame));
	ASSERT_EQ(32, len);
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, leaf));
	ASSERT_EQ(0, unwind_jit_eh_frame_register(self->code, CODE_SIZE, table, PAGE, index));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf));

	/* The same code may have a region, too. */
	ASSERT_EQ(1, add_leaf(self->region, leaf_at(self->code, 1)));
	ASSERT_EQ(0, unwind_jit_publish(self->region));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->code + 16));
	ASSERT_EQ(0, unwind_jit_eh_frame_unregister(self->code, CODE_SIZE));
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, leaf));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->code + 16));
	ASSERT_EQ(0, munmap(table, PAGE));
}

/* --- Kernels without tables --- */

static bool nothing_works(unsigned char *code)
{
	struct unwind_jit *region;

	errno = 0;
	region = unwind_jit_open(code, PAGE, 0);
	if (region || errno != ENOTSUP)
		return false;
	unwind_jit_close(region);
	return !unwind_jit_add(region, code, sizeof(leaf_code), &leaf_row, 1) &&
	       !unwind_jit_publish(region) && !unwind_jit_remove(region, code, PAGE);
}

/* On all kernels. */
TEST(a_kernel_without_tables)
{
	unsigned char *code = map_code(PAGE);

	ASSERT_NE(MAP_FAILED, code);
	EXPECT_EQ(tables_missing(), nothing_works(code));
	/* What is wrong is no question of the kernel. */
	EXPECT_EQ(NULL, unwind_jit_open(code, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, unwind_jit_open(code, PAGE, 0x80));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, munmap(code, PAGE));
}

/* --- The example in the documentation --- */

/* The example's instructions, in bytes from the start of its code. */
static const struct instruction {
	__u32 at;
	/* How often it is executed in a call of add_two(). */
	int times;
} instructions[] = {
	{ 0, 2 }, { 3, 2 },
	{ 16 + 0, 1 }, { 16 + 1, 1 }, { 16 + 6, 1 }, { 16 + 8, 1 }, { 16 + 13, 1 },
	{ 16 + 14, 1 },
};

/* A call of the example, and where the function that makes it returns to. */
struct example_call {
	const __u8 *code;
	__u32 at;
	unsigned long back;
};

static int call_example(struct example_call *call)
{
	int (*function)(int i);

	function = (void *)(call->code + functions[1].place);
	call->back = (unsigned long)__builtin_return_address(0);
	return function(40) + 1;
}

/* Whether a stack has each frame, from the instruction to the caller of call_example(). */
static bool is_example_stack(const struct chain *chain, const void *arg)
{
	const struct example_call *call = arg;
	unsigned long code = (unsigned long)call->code, in_call_example;
	const unsigned long *ip = chain->ips;

	if (chain->nr < 4 || *ip++ != code + call->at)
		return false;
	/* add_one() has two callers in add_two(). */
	if (call->at < functions[1].place) {
		if (*ip != code + 16 + 6 && *ip != code + 16 + 13)
			return false;
		ip++;
	}
	in_call_example = *ip++ - (unsigned long)call_example;
	return in_call_example < 100 && *ip == call->back;
}

/* Sample an instruction of the example in a call; returns how many stacks were good, or -1. */
static int sample_example(struct example_call *call)
{
	static struct chain chain;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (unsigned long)call->code + call->at,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	int (*call_it)(struct example_call *call) = call_example;
	struct sampler sampler;
	int error = sampler_open_stacks(&sampler, attr), good = -1;

	if (error) {
		ksft_print_msg("no breakpoint: errno %d\n", error);
		return -1;
	}
	/* The compiler does not know what it calls, so that this has a frame. */
	asm volatile("" : "+r" (call_it));
	if (call_it(call) == 43)
		good = sampler_each(&sampler, &chain, is_example_stack, call);
	sampler_close(&sampler);
	return good;
}

TEST_F(jit, published_example)
{
	__u8 *code = mmap(NULL, PAGE, RW, ANON, -1, 0);
	struct unwind_jit *region = unwind_jit_open(code, PAGE, 0);
	struct example_call call = { .code = code };

	ASSERT_NE(MAP_FAILED, code);
	ASSERT_NE(NULL, region);
	/* The first one is published, and the second one appended. */
	ASSERT_EQ(1, compile(region, code, &functions[0]));
	ASSERT_EQ(0, unwind_jit_publish(region));
	ASSERT_EQ(0, compile(region, code, &functions[1]));
	for (unsigned int i = 0; i < ARRAY_SIZE(instructions); i++) {
		call.at = instructions[i].at;
		EXPECT_EQ(instructions[i].times, sample_example(&call)) TH_LOG("byte %u", call.at);
	}

	/* Without the table, no stack of these is good. */
	unwind_jit_close(region);
	for (unsigned int i = 0; i < ARRAY_SIZE(instructions); i++) {
		call.at = instructions[i].at;
		EXPECT_EQ(-1, sample_example(&call)) TH_LOG("byte %u", call.at);
	}
	/* All these stacks were said to the other event of this thread as well. */
	while (sampler_record(&self->sampler))
		;
}

TEST_HARNESS_MAIN
