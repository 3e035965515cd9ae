// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks, compared with what is known to be on the stack.
 *
 * Built twice: with SFrame tables and without frame pointers, and the other way round.
 * Both are static programs without a C library: all code on the stack is of one kind,
 * down to the entry point in chain.S.
 */
#include "nolibc.h"

#include <linux/elf.h>

#include "kselftest_harness.h"
#include "scenario.h"

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
	static const struct scenario leaf = { chain_leaf, 0, FRAMELESS_LABELS };

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

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], CHILD))
		return sample_in_child();
	return test_harness_run(argc, argv);
}

#else /* !SFRAME */

TEST_HARNESS_MAIN

#endif /* !SFRAME */
