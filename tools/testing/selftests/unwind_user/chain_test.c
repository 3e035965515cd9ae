// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks, compared with what is known to be on the stack.
 *
 * Built twice: with SFrame tables and without frame pointers, and the other
 * way round. Both are static programs that start in chain.S, so that a stack
 * is known from its topmost frame to its last.
 */
#include "nolibc.h"

#include <linux/elf.h>

#include "kselftest.h"
#include "scenario.h"
#include "tap.h"

#define DEPTH		120

/* What a program that was executed for a scenario finds as its first argument. */
#define CHILD		"child"

static const struct scenario scenarios[] = {
#ifdef SFRAME
	{ "frames found by the stack pointer", chain_sp, 0,
	  { leaf_bad_fp_ip, sp_inner_return, sp_middle_return, chain_sp_return } },
	{ "frame found by the frame pointer that a callee saved", chain_fp, 0,
	  { leaf_ip, fp_inner_return, chain_fp_return } },
	{ "call that never returns at the end of a function", chain_noreturn, 0,
	  { never_returns_ip, noreturn_inner_return, chain_noreturn_return } },
#else
	{ "frames found by the frame pointer", chain_frames, 0,
	  { leaf_ip, frame_inner_return, chain_frames_return } },
#endif
	{ "120 frames", chain_deep, DEPTH, { leaf_ip, chain_deep_last_return } },
};

/* Sample all scenarios; returns 0, or what the first to fail returns. */
static int sample_all(bool quiet)
{
	int ret = 0;

	ENTER();
	for (unsigned int i = 0; i < ARRAY_SIZE(scenarios); i++) {
		int one = sample(&scenarios[i], quiet);

		if (!ret)
			ret = one;
	}
	LEAVE();
	return ret;
}

/* The same in a child that opens its own event. */
static int sample_in_child(bool quiet)
{
	int ret;

	ENTER();
	ret = sampler_open(&sampler) ? NOT_SAMPLED : sample_all(quiet);
	LEAVE();
	return ret;
}

/* What a child exits with, or -1 if it was killed. */
static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Execute what is at a path as a child that samples itself. */
static int execute(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		char *argv[3] = { (char *)path, (char *)CHILD };

		execve(path, argv, argv + 2);
		_exit(127);
	}
	return wait_for(pid);
}

static int test_scenario(const void *scenario)
{
	int ret;

	ENTER();
	ret = sample(scenario, false);
	LEAVE();
	return ret == 0;
}

static int test_fork(const void *unused)
{
	pid_t pid;

	ENTER();
	pid = fork();
	if (!pid)
		_exit(sample_in_child(false));
	LEAVE();
	return wait_for(pid) == 0;
}

/* What the child did to its copy of the tables is not the parent's. */
static int test_after_fork(const void *unused)
{
	bool good;

	ENTER();
	good = test_fork(NULL) && sample_all(false) == 0;
	LEAVE();
	return good;
}

static int test_exec(const void *unused)
{
	return execute("/proc/self/exe") == 0;
}

#ifdef SFRAME

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

/* This program, read once. */
static struct image *the_image(void)
{
	static struct image image;
	int error = image.size ? 0 : image_read(&image);

	if (error)
		ksft_exit_fail_msg("cannot read this program's table: errno %d\n", -error);
	return &image;
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
static int test_without_table(const void *unused)
{
	struct image *image = the_image();
	unsigned int type = image->table->p_type;
	int with = image_execute(image), without;

	image->table->p_type = PT_NULL;
	without = image_execute(image);
	image->table->p_type = type;
	ksft_print_msg("exit status %d with the table, %d without\n", with, without);
	return with == 0 && without == OTHER_STACK;
}

/* The kernel's log from now on. */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Whether nothing in the log, up to now, is a complaint. */
static bool log_is_clean(int fd)
{
	static const char * const bad[] = { "BUG", "WARNING", "Oops", "rcu:", "blocked for" };
	static char line[8192];
	bool clean = fd >= 0;
	ssize_t len;

	if (fd < 0)
		ksft_print_msg("cannot read the kernel's log\n");
	/* EPIPE: some lines were overwritten. */
	while (fd >= 0 && ((len = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE)) {
		line[len < 0 ? 0 : len] = '\0';
		errno = 0;
		for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
			if (strstr(line, bad[i])) {
				ksft_print_msg("%s", line);
				clean = false;
			}
		}
	}
	if (fd >= 0)
		close(fd);
	return clean;
}

/* Programs with odd program headers start, and nothing happens to the kernel. */
static int test_odd_headers(const void *unused)
{
	struct image *image = the_image();
	int log = log_open();
	const struct elf64_phdr good = *image->table;
	const struct {
		const char *name;
		Elf64_Addr vaddr;
		Elf64_Xword size;
	} odd[] = {
		{ "no byte", good.p_vaddr, 0 },
		{ "one byte", good.p_vaddr, 1 },
		{ "header only", good.p_vaddr, 28 },
		{ "no mapping", 0x10000000, good.p_filesz },
		{ "beyond user space", 0xffffffff80000000, good.p_filesz },
		{ "around the end", -8UL, good.p_filesz },
		{ "all memory", 0, -1UL },
		{ "4 GiB", good.p_vaddr, 1UL << 32 },
		{ "the text", 0x401000, 0x1000 },
		{ "odd address", good.p_vaddr + 1, good.p_filesz - 1 },
	};
	bool started = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(odd); i++) {
		int ret;

		image->table->p_vaddr = odd[i].vaddr;
		image->table->p_filesz = odd[i].size;
		image->table->p_memsz = odd[i].size;
		ret = image_execute(image);
		if (ret != OTHER_STACK) {
			ksft_print_msg("%s: exit status %d\n", odd[i].name, ret);
			started = false;
		}
	}
	*image->table = good;
	return log_is_clean(log) && started;
}

/*
 * Damage each byte of the table in some ways, and sample with it. On a kernel
 * where that takes too long, DAMAGE_STEP=n takes every n-th byte.
 */
static int test_damage(const void *unused)
{
	struct image *image = the_image();
	const char *wish = getenv("DAMAGE_STEP");
	unsigned int step = wish && atoi(wish) > 0 ? atoi(wish) : 1;
	unsigned char *table = image->bytes + image->table->p_offset;
	/* What the header says it uses; the segment may be longer. */
	unsigned int used = 28 + *(unsigned int *)(table + 0x18) + *(unsigned int *)(table + 0x10);
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	unsigned int same = 0, other = 0, bad = 0;
	int log = log_open();

	for (unsigned int at = 0; at < used; at += step) {
		for (unsigned int i = 0; i < ARRAY_SIZE(flips); i++) {
			int ret;

			table[at] ^= flips[i];
			ret = image_execute(image);
			table[at] ^= flips[i];
			if (ret == 0) {
				same++;
			} else if (ret == OTHER_STACK) {
				other++;
			} else {
				ksft_print_msg("byte %u ^ 0x%x: exit status %d\n",
					       at, flips[i], ret);
				bad++;
			}
		}
	}
	ksft_print_msg("%u bytes, step %u: %u stacks the same, %u others\n",
		       used, step, same, other);
	return log_is_clean(log) && !bad && other && image_execute(image) == 0;
}

#endif /* SFRAME */

int main(int argc, char **argv)
{
	static const struct tap_test others[] = {
		{ "stacks of a forked child", test_fork },
		{ "stacks after a child has gone", test_after_fork },
		{ "stacks after exec", test_exec },
#ifdef SFRAME
		{ "the table is what makes stacks known", test_without_table },
		{ "odd tables in the program header", test_odd_headers },
		{ "a damaged table changes stacks and nothing else", test_damage },
#endif
	};
	static struct tap_test tests[ARRAY_SIZE(scenarios) + ARRAY_SIZE(others)];

	ENTER();
	if (argc > 1 && !strcmp(argv[1], CHILD))
		return sample_in_child(true);

	for (unsigned int i = 0; i < ARRAY_SIZE(scenarios); i++)
		tests[i] = (struct tap_test){ scenarios[i].name, test_scenario, &scenarios[i] };
	memcpy(&tests[ARRAY_SIZE(scenarios)], others, sizeof(others));
	tap_start(argc, argv);
	tap_need(sampler_open(&sampler), "getppid()");
	tap_run(tests, ARRAY_SIZE(tests));
}
