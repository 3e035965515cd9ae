// SPDX-License-Identifier: GPL-2.0
/*
 * Generated code whose tables tools/unwind-jit writes: stacks of it are sampled
 * while functions come and go, and each is compared with the true one.
 *
 * RACE_SECONDS says how long that takes.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tables.h"
#include "jit.h"

/* The memory that functions are generated into. */
#define CODE_PAGES	12
#define CODE_SIZE	(CODE_PAGES * PAGE)

#define THREADS		8
/* Nanoseconds of a thread between two samples. */
#define PERIOD		1000000
/* Of so many stacks in the code at least there must be samples. */
#define MIN_STACKS	1000

/* Memory that is written and executed at any time. */
static unsigned char *map_code(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
}

/* On entry to a function, which is all there is to say of a leaf. */
static const struct unwind_jit_row leaf_row = { .base = UNWIND_JIT_SP, .cfa = 8 };

static unsigned char *leaf_at(unsigned char *code, unsigned int nth)
{
	unsigned char *leaf = code + 16 * nth;

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
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = sampler_open(&self->sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
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

/* The true chain of a stack that is interrupted in a level, in or under it, to the end. */
static struct chain true_chain(const struct jit_stack *stack, unsigned int level, bool work)
{
	struct chain chain = { .end = PERF_CALLCHAIN_END_COMPLETE };

	if (work) {
		chain.ips[chain.nr++] = (unsigned long)jit_work;
		chain.ips[chain.nr++] = stack->levels[level].work_back;
	} else {
		chain.ips[chain.nr++] = stack->levels[level].start;
	}
	while (level--)
		chain.ips[chain.nr++] = stack->levels[level].back;
	/* Who calls jit_run(). */
	chain.ips[chain.nr++] = 1;
	return chain;
}

/* What the next test relies on: a chain with a mistake is not taken for the true one. */
TEST(chains_are_judged)
{
	unsigned char *code = map_code(CODE_SIZE);
	static struct jit_stack stack;
	unsigned int seed = 1;

	ASSERT_NE(MAP_FAILED, code);
	jit_generate(&stack, code, &seed);
	for (unsigned int level = 0; level < stack.nr_levels; level++) {
		struct chain good = true_chain(&stack, level, stack.levels[level].work_back), bad;

		EXPECT_EQ(JIT_COMPLETE, jit_compare(&stack, &good));
		for (unsigned int i = 1; i + 1 < good.nr; i++) {
			/* Another address. */
			bad = good;
			bad.ips[i] += bad.ips[i] == stack.levels[level].work_back ? 1 : 1000000;
			EXPECT_EQ(JIT_WRONG, jit_compare(&stack, &bad));
			bad.guessed = true;
			EXPECT_EQ(JIT_INCOMPLETE, jit_compare(&stack, &bad));
			/* A frame is missing. */
			bad = good;
			bad.nr--;
			memmove(&bad.ips[i], &bad.ips[i + 1], (bad.nr - i) * sizeof(bad.ips[0]));
			EXPECT_EQ(JIT_WRONG, jit_compare(&stack, &bad));
			/* It ends there, and says so or not. */
			bad = good;
			bad.nr = i + 1;
			EXPECT_EQ(JIT_WRONG, jit_compare(&stack, &bad));
			bad.end = PERF_CALLCHAIN_END_FAULT;
			EXPECT_EQ(JIT_INCOMPLETE, jit_compare(&stack, &bad));
		}
	}
	EXPECT_EQ(0, munmap(code, CODE_SIZE));
}

struct worker {
	pthread_t thread;
	struct jit_stack stack;
	/* Where the stack's functions are. */
	unsigned char *start, *end;
	/* The thread may run them; else they may be replaced. */
	bool ready;
	struct sampler sampler;
	struct chain chain;
	unsigned long verdicts[JIT_WRONG + 1];
	unsigned long ends[32];
	unsigned long rounds;
	const char *error;
};

static struct worker workers[THREADS];
static bool stop;

static void print_wrong(const struct jit_stack *stack, const struct chain *chain)
{
	for (unsigned int i = 0; i < chain->nr; i++)
		ksft_print_msg("wrong: frame %u at %lx\n", i, chain->ips[i]);
	for (unsigned int i = 0; i < stack->nr_levels; i++)
		ksft_print_msg("true: level %u at %lx-%lx back %lx\n", i, stack->levels[i].start,
			       stack->levels[i].end, stack->levels[i].back);
}

static bool look(const struct chain *chain, const void *arg)
{
	struct worker *worker = (struct worker *)arg;
	enum jit_verdict verdict = jit_compare(&worker->stack, chain);

	if (verdict == JIT_WRONG && !worker->verdicts[JIT_WRONG])
		print_wrong(&worker->stack, chain);
	if (verdict != JIT_ELSEWHERE)
		worker->ends[chain->end]++;
	worker->verdicts[verdict]++;
	return true;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	if (sampler_open_clock(&worker->sampler, PERIOD) ||
	    ioctl(worker->sampler.fd, PERF_EVENT_IOC_ENABLE, 0)) {
		worker->error = "cannot sample";
		return NULL;
	}
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!__atomic_load_n(&worker->ready, __ATOMIC_ACQUIRE)) {
			usleep(1000);
			continue;
		}
		jit_run(&worker->stack);
		worker->rounds++;
		/* Stacks are compared before the functions go. */
		if (sampler_each(&worker->sampler, &worker->chain, look, worker) < 0) {
			worker->error = "a sample without its stack";
			break;
		}
		__atomic_store_n(&worker->ready, false, __ATOMIC_RELEASE);
	}
	sampler_close(&worker->sampler);
	return NULL;
}

/* What the one who compiles has done. */
struct compiler {
	struct unwind_jit *region;
	unsigned char *code;
	/* Where the next functions go, if they get new memory. */
	unsigned char *next;
	unsigned int seed;
	unsigned long appended, published, reused, flushed;
	const char *error;
};

static void publish(struct compiler *compiler)
{
	if (unwind_jit_publish(compiler->region))
		compiler->error = "publish";
	compiler->published++;
}

/* Replace the functions of a thread that runs none, in their place or in new memory. */
static void compile(struct compiler *compiler, struct worker *worker)
{
	struct jit_stack *stack = &worker->stack;
	bool reuse = worker->start && rand_r(&compiler->seed) % 2, needed = false;

	if (reuse) {
		if (unwind_jit_remove(compiler->region, worker->start,
				      worker->end - worker->start) != 1)
			compiler->error = "remove";
		publish(compiler);
		compiler->reused++;
	} else {
		worker->start = compiler->next;
		worker->end = compiler->next + 2 * JIT_MAX_DEPTH * JIT_MAX_BYTES;
		compiler->next = worker->end;
	}
	jit_generate(stack, worker->start, &compiler->seed);
	for (unsigned int i = 0; i < stack->nr_functions; i++) {
		const struct jit_function *function = &stack->functions[i];
		int ret = unwind_jit_add(compiler->region, function->start,
					 function->end - function->start, function->rows,
					 function->nr_rows);

		if (ret < 0)
			compiler->error = "add";
		needed |= ret == 1;
		compiler->appended += !ret;
	}
	if (needed)
		publish(compiler);
	stack->times = 100 + rand_r(&compiler->seed) % 400;
	__atomic_store_n(&worker->ready, true, __ATOMIC_RELEASE);
}

static bool is_ready(const struct worker *worker)
{
	return __atomic_load_n(&worker->ready, __ATOMIC_ACQUIRE);
}

/* All memory is used: forget everything, when nobody runs anything. */
static bool flush(struct compiler *compiler)
{
	for (int i = 0; i < THREADS; i++) {
		if (is_ready(&workers[i]))
			return false;
		workers[i].start = NULL;
	}
	unwind_jit_remove(compiler->region, compiler->code, CODE_SIZE);
	publish(compiler);
	compiler->next = compiler->code;
	compiler->flushed++;
	return true;
}

static void compile_until(struct compiler *compiler, time_t end)
{
	const unsigned char *last = compiler->code + CODE_SIZE - 2 * JIT_MAX_DEPTH * JIT_MAX_BYTES;

	/* However slow this is, all memory must have been used once. */
	while (!compiler->error && (time(NULL) < end || !compiler->flushed)) {
		bool idle = true;

		for (int i = 0; i < THREADS && !compiler->error; i++) {
			if (workers[i].error)
				compiler->error = workers[i].error;
			if (is_ready(&workers[i]))
				continue;
			if (compiler->next > last && !flush(compiler))
				break;
			compile(compiler, &workers[i]);
			idle = false;
		}
		if (idle)
			usleep(1000);
	}
}

TEST_F_TIMEOUT(jit, functions_come_and_go, 600)
{
	struct compiler compiler = {
		.region = self->region, .code = self->code, .next = self->code, .seed = 1,
	};
	unsigned long verdicts[JIT_WRONG + 1] = {}, ends[32] = {}, stacks;

	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	compile_until(&compiler, time(NULL) + wanted("RACE_SECONDS", 5));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++) {
		EXPECT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(NULL, workers[i].error) TH_LOG("%s", workers[i].error);
		EXPECT_NE(0, workers[i].rounds);
		for (unsigned int j = 0; j < ARRAY_SIZE(verdicts); j++)
			verdicts[j] += workers[i].verdicts[j];
		for (unsigned int j = 0; j < ARRAY_SIZE(ends); j++)
			ends[j] += workers[i].ends[j];
	}
	EXPECT_EQ(NULL, compiler.error) TH_LOG("%s", compiler.error);

	stacks = verdicts[JIT_COMPLETE] + verdicts[JIT_INCOMPLETE] + verdicts[JIT_WRONG];
	ksft_print_msg("stacks: %lu, complete %lu, incomplete %lu, wrong %lu, of other code %lu\n",
		       stacks, verdicts[JIT_COMPLETE], verdicts[JIT_INCOMPLETE],
		       verdicts[JIT_WRONG], verdicts[JIT_ELSEWHERE]);
	ksft_print_msg("functions appended: %lu, tables: %lu, places reused: %lu, flushes: %lu\n",
		       compiler.appended, compiler.published, compiler.reused, compiler.flushed);
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends[i])
			ksft_print_msg("end %u: %lu\n", i, ends[i]);
	}
	EXPECT_GE(stacks, MIN_STACKS);
	EXPECT_EQ(0, verdicts[JIT_WRONG]);
	EXPECT_GE(verdicts[JIT_COMPLETE] * 1000, stacks * 995);
	EXPECT_LT(0, compiler.reused);
	EXPECT_LT(0, compiler.flushed);
	EXPECT_LT(compiler.published, compiler.appended);
}

/* --- What a call of the library does --- */

/* Counts prctl() of this thread; returns a file or a negative errno. */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = tracepoint_id("prctl"),
	};

	return perf_open(&attr, 0, -1);
}

static unsigned long count_of(int counter)
{
	__u64 count;

	return read(counter, &count, sizeof(count)) == sizeof(count) ? count : -1UL;
}

TEST_F(jit, functions_in_order_take_few_calls)
{
	int counter = open_counter();
	unsigned long before, published = 0;

	ASSERT_LE(0, counter);
	before = count_of(counter);
	for (unsigned int i = 0; i < 1000; i++) {
		unsigned char *leaf = leaf_at(self->code, i);
		int ret = add_leaf(self->region, leaf);

		ASSERT_LE(0, ret);
		if (ret) {
			ASSERT_EQ(0, unwind_jit_publish(self->region));
			published++;
		}
		ASSERT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf)) TH_LOG("function %u", i);
	}
	EXPECT_EQ(published, count_of(counter) - before);
	EXPECT_GE(5, published);
	close(counter);
}

TEST_F(jit, functions_in_any_order_are_found_when_published)
{
	for (unsigned int i = 0; i < 64; i++) {
		unsigned char *leaf = leaf_at(self->code, i * 37 % 64);
		int ret = add_leaf(self->region, leaf);

		ASSERT_LE(0, ret);
		if (ret)
			ASSERT_EQ(0, unwind_jit_publish(self->region));
		ASSERT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf)) TH_LOG("function %u", i);
	}
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

TEST_F(jit, downwards)
{
	struct unwind_jit *region;

	/* The other one is not registered. */
	region = unwind_jit_open(self->code, CODE_SIZE, UNWIND_JIT_DOWNWARDS);
	ASSERT_NE(NULL, region);
	for (int i = 500; i >= 0; i--) {
		unsigned char *leaf = leaf_at(self->code, i);
		int ret = add_leaf(region, leaf);

		EXPECT_EQ(ret, i == 500 || i == 500 - 128 || i == 500 - 2 * 129);
		if (ret)
			ASSERT_EQ(0, unwind_jit_publish(region));
		ASSERT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf)) TH_LOG("function %d", i);
	}
	unwind_jit_close(region);
	EXPECT_EQ(LEAF_LOST, call_leaf(&self->sampler, self->code));
}

TEST_F(jit, memory_that_cannot_be_executed)
{
	unsigned char *leaf = leaf_at(self->code, 0);

	ASSERT_EQ(1, add_leaf(self->region, leaf));
	ASSERT_EQ(0, mprotect(self->code, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, unwind_jit_publish(self->region));
	ASSERT_EQ(0, mprotect(self->code, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(0, unwind_jit_publish(self->region));
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf));
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

	table = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

	/* The last registration replaces the others that it overlaps, whole. */
	ASSERT_EQ(0, unwind_jit_eh_frame_register(self->code, PAGE, table, PAGE, index));
	EXPECT_EQ(-ENOENT, unwind_jit_eh_frame_unregister(self->code, CODE_SIZE));
	ASSERT_EQ(0, unwind_jit_eh_frame_register(self->code, CODE_SIZE, table, PAGE, index));
	EXPECT_EQ(-ENOENT, unwind_jit_eh_frame_unregister(self->code, PAGE));
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

/* --- Kernels that do nothing with it --- */

TEST_F(jit, tables_are_switched_off)
{
	unsigned char *leaf = leaf_at(self->code, 0);
	enum leaf_stack off;
	int added, published;

	ASSERT_EQ(0, sysctl_set(SYSCTL_TABLES, 0));
	added = add_leaf(self->region, leaf);
	published = unwind_jit_publish(self->region);
	off = call_leaf(&self->sampler, leaf);
	sysctl_restore();
	EXPECT_EQ(1, added);
	EXPECT_EQ(0, published);
	EXPECT_EQ(LEAF_LOST, off);
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, leaf));
}

/* From now on prctl(PR_UNWIND_TABLES) is what it is on other kernels. */
static int no_prctl(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_UNWIND_TABLES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Whether all calls succeed and do nothing. */
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
	pid_t pid;

	ASSERT_NE(MAP_FAILED, code);
	pid = fork();
	if (!pid)
		_exit(no_prctl() || !nothing_works(code));
	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(tables_missing(), nothing_works(code));
	/* What is wrong is no question of the kernel. */
	EXPECT_EQ(NULL, unwind_jit_open(code, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, unwind_jit_open(code, PAGE, 0x80));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, munmap(code, PAGE));
}

TEST_HARNESS_MAIN
