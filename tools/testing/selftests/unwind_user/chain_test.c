// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks, compared with what is known to be on the stack.
 *
 * Built twice: with SFrame tables and without frame pointers, and the other way round.
 * Both are static programs without a C library: all code on the stack is of one kind,
 * down to the entry point in chain.S. The one with tables has stacks of more shapes, and
 * samples them at each instruction.
 */
#include "nolibc.h"

#include <linux/elf.h>
#include <linux/hw_breakpoint.h>

#include "kselftest_harness.h"
#include "scenario.h"
#ifdef SFRAME
#include "walk.h"
#endif

#define DEPTH		120

static const struct scenario scenarios[] = {
#ifdef SFRAME
	{ chain_sp, 0, { leaf_bad_fp_ip, sp_inner_return, sp_middle_return, chain_sp_return } },
	/* By the frame pointer that a callee saved. */
	{ chain_fp, 0, { leaf_ip, fp_inner_return, chain_fp_return } },
	/* A call that never returns, at the end of a function. */
	{ chain_noreturn, 0, { never_returns_ip, noreturn_inner_return, chain_noreturn_return } },
#else
	{ chain_frames, 0, { leaf_ip, frame_inner_return, chain_frames_return } },
#endif
	{ chain_deep, DEPTH, { leaf_ip, chain_deep_last_return } },
};

FIXTURE(chain) {
};

FIXTURE_SETUP(chain)
{
	int error;

	if (!HAS_TABLE)
		SKIP(return, OLD_ASSEMBLER);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
}

FIXTURE_TEARDOWN(chain)
{
}

#ifdef SFRAME

TEST_F(chain, by_stack_pointer)
{
	EXPECT_EQ(0, sample(&scenarios[0], false));
}

TEST_F(chain, by_frame_pointer_that_a_callee_saved)
{
	EXPECT_EQ(0, sample(&scenarios[1], false));
}

TEST_F(chain, call_that_never_returns_at_the_end_of_a_function)
{
	EXPECT_EQ(0, sample(&scenarios[2], false));
}

#else

TEST_F(chain, by_frame_pointer)
{
	EXPECT_EQ(0, sample(&scenarios[0], false));
}

TEST_F(chain, by_its_call_in_a_function_without_a_frame)
{
	static const struct scenario leaf = { chain_leaf, 0, { frameless_ip, chain_leaf_return } };

	EXPECT_EQ(0, sample(&leaf, false));
}

/* The stack goes on in another mapping, and at a lower address of the same one. */
TEST_F(chain, by_frame_pointer_from_another_stack)
{
	static const struct scenario scenarios[] = {
		{ chain_switch, 0, { leaf_ip, frame_inner_return, switch_return } },
		{ chain_switch_twice, 0,
		  { leaf_ip, frame_inner_return, switch_return, switch_twice_return } },
	};
	const size_t size = 0x10000;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	switch_to[0] = (unsigned long)memory + size;
	switch_to[1] = (unsigned long)memory + size / 2;
	EXPECT_EQ(0, sample(&scenarios[0], false));
	EXPECT_EQ(0, sample(&scenarios[1], false));
	EXPECT_EQ(0, munmap(memory, size));
}

#endif

TEST_F(chain, of_120_frames)
{
	EXPECT_EQ(0, sample(&scenarios[ARRAY_SIZE(scenarios) - 1], false));
}

/* The stacks of two scenarios go on through functions in C: the harness's, and main(). */
TEST_F(chain, down_to_the_program_s_start)
{
	static struct chain chain;

	for (unsigned int i = 0; i < ARRAY_SIZE(scenarios); i += ARRAY_SIZE(scenarios) - 1) {
		const struct scenario *scenario = &scenarios[i];
		const char *error;
		unsigned int at = 0;

		chain_call_on(scenario->chain, scenario->depth);
		error = sampler_chain(&sampler, &chain);
		ASSERT_EQ(NULL, error) TH_LOG("%s", error);
		while (scenario->labels[at]) {
			EXPECT_EQ((unsigned long)scenario->labels[at], chain.ips[at]);
			at++;
		}
		for (int depth = 1; depth < scenario->depth; depth++)
			EXPECT_EQ((unsigned long)chain_deep_return, chain.ips[at++]);
		EXPECT_EQ((unsigned long)chain_call_on_return, chain.ips[at]);
		/* This, the harness's for a test and for all, main() and _start at least. */
		EXPECT_LE(at + 6, chain.nr);
		EXPECT_TRUE(is_from_start(&chain));
	}
}

#ifdef SFRAME

/* --- Copies of this program with another table --- */

/* The argument with which this program samples itself and exits. */
#define CHILD		"child"

/* Open an event and sample all scenarios. Returns 0, or what the first to fail returns. */
static int sample_in_child(void)
{
	int ret = sampler_open(&sampler) ? NOT_SAMPLED : 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(scenarios) && ret != NOT_SAMPLED; i++) {
		int one = sample(&scenarios[i], true);

		ret = ret ?: one;
	}
	return ret;
}

/* Execute a program as such a child. Returns what it exits with, or -1 if it was killed. */
static int execute(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		char *argv[3] = { (char *)path, (char *)CHILD };

		execve(path, argv, argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* A copy of this program that can be changed and executed. */
struct image {
	unsigned char *bytes;
	size_t size;
	struct elf64_phdr *table;	/* PT_GNU_SFRAME */
};

/* Read this program; returns 0 or a negative errno. */
static int image_read(struct image *image)
{
	static unsigned char bytes[1 << 20];
	struct elf64_hdr *ehdr = (struct elf64_hdr *)bytes;
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	image->bytes = bytes;
	image->size = 0;
	while ((len = read(fd, bytes + image->size, sizeof(bytes) - image->size)) > 0)
		image->size += len;
	close(fd);
	if (len < 0 || image->size == sizeof(bytes))
		return -EFBIG;

	for (int i = 0; i < ehdr->e_phnum; i++) {
		image->table = (struct elf64_phdr *)(bytes + ehdr->e_phoff) + i;
		if (image->table->p_type == PT_GNU_SFRAME)
			return 0;
	}
	return -ENOENT;
}

/* Execute the image as it is now; returns the child's status or -1. */
static int image_execute(const struct image *image)
{
	char path[] = "/proc/self/fd/xxx";
	int fd = syscall(__NR_memfd_create, "image", 0);
	size_t done = 0;
	int ret = -1, readable;

	if (fd < 0)
		return -1;
	while (done < image->size) {
		ssize_t len = write(fd, image->bytes + done, image->size - done);

		if (len <= 0)
			goto out;
		done += len;
	}
	/* What is open for writing cannot be executed. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY);
	if (readable < 0)
		goto out;
	close(fd);
	fd = readable;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = execute(path);
out:
	close(fd);
	return ret;
}

/* The tests can fail: without its table, the same program's stacks are not known. */
TEST_F(chain, without_table)
{
	struct image image;

	ASSERT_EQ(0, image_read(&image));
	EXPECT_EQ(0, image_execute(&image));
	image.table->p_type = PT_NULL;
	EXPECT_EQ(OTHER_STACK, image_execute(&image));
}

/* Programs with odd program headers start. */
TEST_F(chain, odd_tables_in_the_program_header)
{
	struct image image;
	Elf64_Addr vaddr;
	Elf64_Xword size;

	ASSERT_EQ(0, image_read(&image));
	vaddr = image.table->p_vaddr;
	size = image.table->p_filesz;

	const struct {
		const char *name;
		Elf64_Addr vaddr;
		Elf64_Xword size;
	} odd[] = {
		{ "no byte", vaddr, 0 },
		{ "one byte", vaddr, 1 },
		{ "header only", vaddr, 28 },
		{ "no mapping", 0x10000000, size },
		{ "beyond user space", 0xffffffff80000000, size },
		{ "around the end", -8UL, size },
		{ "all memory", 0, -1UL },
		{ "4 GiB", vaddr, 1UL << 32 },
		{ "the text", 0x401000, 0x1000 },
		{ "odd address", vaddr + 1, size - 1 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(odd); i++) {
		image.table->p_vaddr = odd[i].vaddr;
		image.table->p_filesz = odd[i].size;
		image.table->p_memsz = odd[i].size;
		EXPECT_EQ(OTHER_STACK, image_execute(&image)) TH_LOG("%s", odd[i].name);
	}
}

/* The number of damaged bytes, unless DAMAGE_STEP=n asks for every n-th. */
#define DAMAGED		20

/* Damage bytes of the table in some ways, and sample with it. */
TEST_F_TIMEOUT(chain, damaged_table, 3600)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	unsigned int same = 0, other = 0, used, step;
	struct image image;
	unsigned char *table;

	ASSERT_EQ(0, image_read(&image));
	table = image.bytes + image.table->p_offset;
	/* What the header says it uses; the segment may be longer. */
	used = 28 + *(unsigned int *)(table + 0x18) + *(unsigned int *)(table + 0x10);
	step = wanted("DAMAGE_STEP", used / DAMAGED);

	for (unsigned int at = 0; at < used; at += step) {
		for (unsigned int i = 0; i < ARRAY_SIZE(flips); i++) {
			int ret;

			table[at] ^= flips[i];
			ret = image_execute(&image);
			table[at] ^= flips[i];
			same += !ret;
			other += ret == OTHER_STACK;
			ASSERT_TRUE(!ret || ret == OTHER_STACK)
				TH_LOG("byte %u ^ 0x%x: exit status %d", at, flips[i], ret);
		}
	}
	TH_LOG("%u bytes, step %u: %u stacks the same, %u others", used, step, same, other);
	/* A byte of the header was among them. */
	EXPECT_LT(0, other);
	EXPECT_EQ(0, image_execute(&image));
}

/* --- Stacks of all shapes --- */

/* The kernel's, not a library's. */
#define SA_RESTORER_FLAG	0x04000000
#define SA_SIGINFO_FLAG		0x00000004
#define SA_ONSTACK_FLAG		0x08000000
#define SA_NODEFER_FLAG		0x40000000
#define SIGNAL_ILL		4
#define SIGNAL_TRAP		5
/* Where a struct ucontext has the instruction pointer. */
#define UCONTEXT_IP		168
#define TRAP_FLAG		0x100UL

struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

struct kernel_stack {
	void *sp;
	int flags;
	size_t size;
};

/* How a scenario's signals are taken. */
enum how {
	ON_THIS_STACK,
	ON_A_LOWER_STACK,
	ON_A_HIGHER_STACK,
};

struct walk {
	struct scenario scenario;
	/* Not NULL if there is a signal. */
	const char *restorer;
	enum how how;
	/* A function that is on top at times, in place of the topmost one. */
	void (*instead)(void);
	/* Its stack goes on in another mapping at times, which is a guess. */
	bool crosses;
};

/* A table describes all code of these stacks, so each instruction can be sampled. */
FIXTURE(described)
{
	__int128 high[2048];
};

FIXTURE_VARIANT(described)
{
	struct walk walk;
};

FIXTURE(undescribed)
{
	__int128 high[2048];
};

FIXTURE_VARIANT(undescribed)
{
	struct walk walk;
};

FIXTURE_VARIANT_ADD(described, cfa_on_the_stack)
{
	{ { chain_aligned, 0, { leaf_bad_fp_ip, chain_aligned_return } } }
};

FIXTURE_VARIANT_ADD(described, tail_call)
{
	{ { chain_tail, 0, { leaf_bad_fp_ip, chain_tail_return } }, .instead = tail_inner }
};

FIXTURE_VARIANT_ADD(undescribed, assembly)
{
	{ { chain_undescribed, 0, { leaf_ip, undescribed_return, chain_undescribed_return },
	    .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, called_through_a_register)
{
	{ { asm_alone, 0, { asm_alone_ip }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, init_and_fini)
{
	{ { asm_init, 0, { asm_init_ip }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, entry_of_a_plt)
{
	{ { chain_asm_plt, 0, { asm_plt_ip, chain_asm_plt_return }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, thunk)
{
	{ { chain_asm_thunk, 0, { asm_thunk_ip, chain_asm_thunk_return }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, below_stale_return_addresses)
{
	{ { chain_asm_stale, 0, { asm_stale_ip, chain_asm_stale_return }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, assembly_below_assembly)
{
	{ { chain_asm_called, 0, { asm_called_ip, asm_caller_return, chain_asm_called_return },
	    .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, assembly_below_assembly_without_a_frame)
{
	{ { chain_asm_bare_called, 0, { asm_called_ip, asm_bare_caller_return,
	    chain_asm_bare_called_return }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, frame_pointer_behind_a_call)
{
	{ { chain_asm_behind, 0, { asm_behind_ip, chain_asm_behind_return }, .guessed = true } }
};

FIXTURE_VARIANT_ADD(undescribed, too_far_up)
{
	{ { chain_asm_far, 0, { asm_far_ip }, true, PERF_CALLCHAIN_END_NO_INFO } }
};

FIXTURE_VARIANT_ADD(described, signal)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	    restorer }
};

FIXTURE_VARIANT_ADD(described, short_restorer)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_short,
	    chain_signal_ud2 } }, restorer_short }
};

FIXTURE_VARIANT_ADD(undescribed, restorer_by_its_mark)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_marked,
	    chain_signal_ud2 } }, restorer_marked }
};

FIXTURE_VARIANT_ADD(described, signal_on_a_lower_stack)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	    restorer, ON_A_LOWER_STACK }
};

FIXTURE_VARIANT_ADD(described, signal_in_a_signal)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, handler_ud2, restorer,
	    chain_signal_ud2 } }, restorer }
};

FIXTURE_VARIANT_ADD(described, signal_at_the_first_instruction)
{
	{ { chain_signal_first, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    signal_first_ud2, chain_signal_first_return } }, restorer }
};

FIXTURE_VARIANT_ADD(described, signal_with_cfa_in_another_register)
{
	{ { chain_signal_r10, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    chain_signal_r10_ud2 } }, restorer }
};

FIXTURE_VARIANT_ADD(described, coroutine)
{
	{ { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 },
	    true }, restorer, .crosses = true }
};

FIXTURE_VARIANT_ADD(described, coroutine_with_signal_on_a_higher_stack)
{
	{ { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 },
	    true }, restorer, ON_A_HIGHER_STACK, .crosses = true }
};

static int take(int number, void *handler, unsigned long flags, const void *restorer)
{
	struct kernel_sigaction action = {
		.handler = handler,
		.flags = flags | SA_RESTORER_FLAG | SA_NODEFER_FLAG,
		.restorer = restorer,
	};

	return syscall(__NR_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

/* Take SIGILL as a walk wants it, with @high as the higher stack. */
static int take_signal(const struct walk *walk, void *high, size_t size)
{
	static __int128 low[2048];
	struct kernel_stack stack = { low, 0, sizeof(low) };
	unsigned long flags = SA_SIGINFO_FLAG;

	if (!walk->restorer)
		return 0;
	if (walk->how == ON_A_LOWER_STACK || walk->how == ON_A_HIGHER_STACK)
		flags |= SA_ONSTACK_FLAG;
	if (walk->how == ON_A_HIGHER_STACK) {
		stack.sp = high;
		stack.size = size;
	}
	return syscall(__NR_sigaltstack, &stack, NULL) ?:
	       take(SIGNAL_ILL, handler, flags, walk->restorer);
}

static void set_up(struct __test_metadata *_metadata, const struct walk *walk, void *high,
		   size_t size)
{
	int error;

	if (!HAS_TABLE)
		SKIP(return, OLD_ASSEMBLER);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, take_signal(walk, high, size));
	/* A handler is interrupted itself. */
	nest = walk->scenario.labels[3] == handler_ud2;
}

FIXTURE_SETUP(described)
{
	set_up(_metadata, &variant->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(described)
{
}

TEST_F(described, once)
{
	EXPECT_EQ(0, sample(&variant->walk.scenario, false));
}

FIXTURE_SETUP(undescribed)
{
	set_up(_metadata, &variant->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(undescribed)
{
}

TEST_F(undescribed, once)
{
	EXPECT_EQ(0, sample(&variant->walk.scenario, false));
}

/* The stacks that there may be. */
struct possible {
	const struct walk *walk;
	/* With all of the scenario's functions, and with none of them. */
	struct chain scenario, callers;
};

/* Once its handler is done, what a signal interrupted goes on behind the ud2. */
#define UD2_SIZE	2

static bool is_same(unsigned long ip, unsigned long expected)
{
	static const unsigned char ud2[UD2_SIZE] = { 0x0f, 0x0b };

	return ip == expected ||
	       (ip == expected + UD2_SIZE && !memcmp((void *)expected, ud2, UD2_SIZE));
}

/* Whether all below the topmost frame is what a whole stack has from @from on. */
static bool has_below(const struct chain *chain, const struct chain *whole, unsigned int from)
{
	unsigned int nr = chain->nr - 1;

	if (nr != whole->nr - from)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		if (!is_same(chain->ips[1 + i], whole->ips[from + i]))
			return false;
	}
	return true;
}

/* Whether a stack is a whole one from the topmost frame's function on. */
static bool is_part_of(const struct chain *chain, const struct chain *whole)
{
	const struct chain_function *top = chain_function_at(chain->ips[0]);

	for (unsigned int i = 0; i < whole->nr; i++) {
		if (chain_function_at(whole->ips[i]) == top && has_below(chain, whole, i + 1))
			return true;
	}
	return false;
}

static bool has_possible_callers(const struct chain *chain, const struct possible *possible)
{
	const struct chain_function *top = chain_function_at(chain->ips[0]);
	const struct walk *walk = possible->walk;

	/* A function in C, which is that of the test. */
	if (!top)
		return is_from_start(chain);
	if (top->start == (unsigned long)walk->scenario.chain &&
	    has_below(chain, &possible->callers, 0))
		return true;
	if (top->start == (unsigned long)walk->instead && has_below(chain, &possible->scenario, 1))
		return true;
	return is_part_of(chain, &possible->scenario) || is_part_of(chain, &possible->callers);
}

static bool is_possible(const struct chain *chain, const void *arg)
{
	const struct possible *possible = arg;

	if (chain->nr && chain->end == PERF_CALLCHAIN_END_COMPLETE &&
	    (!chain->guessed || possible->walk->crosses) && has_possible_callers(chain, possible))
		return true;
	ksft_print_msg("not a stack that there is, %u frames, end %u, guessed %d:\n",
		       chain->nr, chain->end, chain->guessed);
	for (unsigned int i = 0; i < chain->nr; i++)
		ksft_print_msg("%u: 0x%lx\n", i, chain->ips[i]);
	return false;
}

static void expect_possible(const struct walk *walk, struct possible *possible)
{
	possible->walk = walk;
	possible->scenario.nr = 0;
	for (unsigned int i = 0; walk->scenario.labels[i]; i++)
		expect(&possible->scenario, walk->scenario.labels[i]);
	if (!walk->scenario.ends)
		expect(&possible->scenario, chain_call_return);
	possible->callers.nr = 0;
	expect(&possible->callers, chain_call_return);
}

/* --- At each instruction --- */

#define MAX_STEPS	128

/* The instructions in assembly that a scenario executes, each once. */
static unsigned long steps[MAX_STEPS];
static unsigned int nr_steps;

static void add_step(unsigned long ip)
{
	if (!chain_function_at(ip))
		return;
	for (unsigned int i = 0; i < nr_steps; i++) {
		if (steps[i] == ip)
			return;
	}
	if (nr_steps < MAX_STEPS)
		steps[nr_steps++] = ip;
}

/* Handler of SIGTRAP, which comes before each instruction. */
static void note_step(int number, void *info, const char *context)
{
	/* Less what SIGILL's handler returns to: the next trap and breakpoints come behind it. */
	add_step(*(const unsigned long *)(context + UCONTEXT_IP));
}

TEST_F(described, at_each_instruction)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	const struct walk *walk = &variant->walk;
	static struct possible possible;
	static struct chain chain;
	bool nested = nest;

	sampler_close(&sampler);
	ASSERT_EQ(0, take(SIGNAL_TRAP, note_step, SA_SIGINFO_FLAG, restorer));
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	chain_call(walk->scenario.chain, walk->scenario.depth);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
	/* Those of chain_call(), of the scenario, and of what it calls. */
	ASSERT_LE(7 + 3, nr_steps);
	ASSERT_GT(MAX_STEPS, nr_steps);

	expect_possible(walk, &possible);
	for (unsigned int i = 0; i < nr_steps; i++) {
		int good = 0;

		attr.bp_addr = steps[i];
		ASSERT_EQ(0, sampler_open_stacks(&sampler, attr));
		/* Emulated processors miss a breakpoint, seldom. */
		for (int tries = 0; tries < 3 && !good; tries++) {
			nest = nested;
			chain_call(walk->scenario.chain, walk->scenario.depth);
			good = sampler_each(&sampler, &chain, is_possible, &possible);
		}
		EXPECT_LT(0, good) TH_LOG("at 0x%lx", steps[i]);
		sampler_close(&sampler);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], CHILD))
		return sample_in_child();
	return test_harness_run(argc, argv);
}

#else /* !SFRAME */

TEST_HARNESS_MAIN

#endif /* !SFRAME */
