// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks of samples in the vDSO, whose table the kernel finds as that of
 * any library.
 *
 * Built twice, like chain_test.c: as a program with a table and without frame
 * pointers, and the other way round.
 */
#include "nolibc.h"

#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/hw_breakpoint.h>

#include "kselftest_harness.h"
#include "scenario.h"
#include "sysctl.h"
#include "../vDSO/parse_vdso.h"

/* The vDSO answers for the first, and makes a system call for the second. */
#define FAST_CLOCK	1	/* CLOCK_MONOTONIC */
#define SLOW_CLOCK	2	/* CLOCK_PROCESS_CPUTIME_ID */

/* So many samples in the vDSO are looked at, or those of so many seconds. */
#define SAMPLES		2000
#define SECONDS		60

static unsigned long vdso, vdso_size, table, table_size;

static bool in_vdso(unsigned long ip)
{
	return ip - vdso < vdso_size;
}

/*
 * How many frames on top are in the vDSO: each of them but the first is right behind
 * a call of a function of the vDSO. Others do not count, and so are not expected.
 */
static unsigned int vdso_frames(const struct chain *chain)
{
	unsigned int nr = 0;

	while (nr < chain->nr && in_vdso(chain->ips[nr])) {
		if (nr && !in_vdso(call_target((const unsigned char *)chain->ips[nr])))
			break;
		nr++;
	}
	return nr;
}

static const char *call_once(struct chain *chain, struct chain *expected)
{
	vdso_clock = SLOW_CLOCK;
	chain_call(chain_vdso, 1);

	expected->nr = 0;
	expect(expected, chain_vdso_return);
	expect(expected, chain_call_return);
	return sampler_chain(&sampler, chain);
}

static int judge(const char *error, const struct chain *chain, unsigned int from,
		 const struct chain *expected)
{
	if (error) {
		ksft_print_msg("%s\n", error);
		return NOT_SAMPLED;
	}
	if (same_frames(chain, from, expected))
		return 0;
	print_difference(chain, from, expected);
	return OTHER_STACK;
}

/* The sampled instructions of the vDSO, then all callers. */
static int judge_vdso(const char *error, const struct chain *chain, const struct chain *expected)
{
	unsigned int from = error ? 0 : vdso_frames(chain);

	if (!error && !from)
		error = "not in the vDSO";
	else if (!error && !is_at_end(chain))
		error = "another end";
	return judge(error, chain, from, expected);
}

static int sample_syscall(void)
{
	static struct chain chain, expected;
	const char *error = "cannot sample clock_gettime()";

	if (!sampler_open_syscall(&sampler, "clock_gettime")) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	if (!error && !(in_vdso(chain.ips[0]) &&
			!memcmp((char *)chain.ips[0] - sizeof(syscall_code), syscall_code,
				sizeof(syscall_code))))
		error = "not behind a system call of the vDSO";
	return judge_vdso(error, &chain, &expected);
}

static int open_entry(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (unsigned long)vdso_clock_gettime,
		.bp_len = BREAKPOINT_LEN,
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	return sampler_open_stacks(&sampler, attr);
}

static int sample_entry(void)
{
	static struct chain chain, expected;
	const char *error = "cannot set a breakpoint";

	if (!open_entry()) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	if (!error && chain.ips[0] != (unsigned long)vdso_clock_gettime)
		error = "not at the entry";
	return judge_vdso(error, &chain, &expected);
}

/*
 * Sample the first instruction where no table says anything about it. The frame pointer
 * is that of the caller, so the caller is not seen; or it is none.
 */
static int sample_entry_without(void)
{
	static struct chain chain, expected;
	const char *error = "cannot set a breakpoint";

	if (!open_entry()) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	/* Nor is what chain_vdso() returns to. */
	expected.nr = 0;
	if (BY_FRAME_POINTER)
		expect(&expected, chain_call_return);
	return judge(error, &chain, 1, &expected);
}

static int sample_both(void)
{
	return sample_syscall() ?: sample_entry();
}

static struct {
	unsigned int in_vdso, in_caller, elsewhere;
} count;

static bool judge_any(const struct chain *chain, const void *unused)
{
	static struct chain expected;
	unsigned long ip = chain->ips[0];
	unsigned int from = 1;
	bool good;

	expected.nr = 0;
	if (in_vdso(ip)) {
		count.in_vdso++;
		from = vdso_frames(chain);
		expect(&expected, chain_vdso_return);
	} else if (ip >= (unsigned long)chain_vdso_start && ip < (unsigned long)chain_vdso_end) {
		count.in_caller++;
	} else {
		/* Around the loop, where frame pointers are set up, and in C. */
		count.elsewhere++;
		return BY_FRAME_POINTER || chain->end == PERF_CALLCHAIN_END_COMPLETE;
	}
	expect(&expected, chain_call_return);
	good = same_frames(chain, from, &expected) && is_at_end(chain);
	if (!good)
		print_difference(chain, from, &expected);
	return good;
}

static int find_vdso(void)
{
	const struct elf64_hdr *ehdr;
	const struct elf64_phdr *phdr;

	vdso = find_mapping("[vdso]\n", &vdso_size);
	if (!vdso)
		return -ENOENT;
	if (vdso != getauxval(AT_SYSINFO_EHDR))
		return -EINVAL;

	ehdr = (const struct elf64_hdr *)vdso;
	phdr = (const struct elf64_phdr *)(vdso + ehdr->e_phoff);
	for (unsigned int i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type != PT_GNU_EH_FRAME)
			continue;
		table = vdso + phdr[i].p_vaddr;
		table_size = phdr[i].p_filesz;
	}
	return 0;
}

/* What /proc/PID/unwind_tables says of the vDSO, behind the address of its table. */
static bool is_listed(const char *what)
{
	static char lines[64 * 1024];
	int fd = open("/proc/self/unwind_tables", O_RDONLY);
	size_t len = 0;
	char text[32];
	ssize_t got;
	char *line;

	if (fd < 0)
		return false;
	while ((got = read(fd, lines + len, sizeof(lines) - 1 - len)) > 0)
		len += got;
	close(fd);
	lines[len] = '\0';
	snprintf(text, sizeof(text), "%lx-%lx ", vdso, vdso + vdso_size);
	line = strstr(lines, text);
	if (!line)
		return false;
	len = strlen(what);
	line = strchr(line, '\n');
	return line && line - len >= lines && !memcmp(line - len, what, len);
}

/* What children do before they sample. Each returns whether it could. */

/* The kernel has found the table where the vDSO was first. */
static bool move(void)
{
	void *to = mmap(NULL, vdso_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long offset = (unsigned long)to - vdso;

	if (to == MAP_FAILED || sample_entry() ||
	    mremap((void *)vdso, vdso_size, vdso_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		return false;
	vdso += offset;
	vdso_clock_gettime = (void *)vdso_clock_gettime + offset;
	return true;
}

/* The process gets a copy of the pages that it writes to. */
static bool overwrite_table(void)
{
	if (syscall(__NR_mprotect, vdso, vdso_size, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memset((void *)table, 0, table_size);
	return true;
}

/* Other code where the vDSO was, and the kernel has found its table; the code is the same. */
static bool replace(void)
{
	static unsigned char code[64 * 1024];
	void *at = (void *)vdso;

	if (vdso_size > sizeof(code) || sample_entry())
		return false;
	memcpy(code, at, vdso_size);
	if (munmap(at, vdso_size) ||
	    mmap(at, vdso_size, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return false;
	memcpy(at, code, vdso_size);
	return true;
}

#include "vdso.h"

static int sample_vdso32(void)
{
	if (sample_entry_without())
		return OTHER_STACK;
	return is_listed(" none discovery absent:elf-class [vdso]") ? 0 : NOT_SAMPLED;
}

static bool child_is_right(bool (*before)(void), int (*sample)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(before() ? sample() : KSFT_FAIL);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void find_clock(void)
{
	vdso_init_from_sysinfo_ehdr(vdso);
	vdso_clock_gettime = vdso_sym(CLOCK_VERSION, CLOCK_NAME);
}

FIXTURE(vdso)
{
};

FIXTURE_SETUP(vdso)
{
	const char *missing = table_missing();
	int error;

	if (missing)
		SKIP(return, "%s", missing);
	if (access(SYSCTL_TABLES, F_OK))
		SKIP(return, "the kernel does not use tables");
	error = find_vdso();
	if (error == -ENOENT)
		SKIP(return, "there is no vDSO");
	ASSERT_EQ(0, error);
	if (!table_size)
		SKIP(return, "the vDSO has no table");
	find_clock();
	ASSERT_NE(NULL, vdso_clock_gettime);
	error = sampler_open_syscall(&sampler, "clock_gettime");
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "clock_gettime()", error);
	ASSERT_EQ(0, error);
	sampler_close(&sampler);
}

FIXTURE_TEARDOWN(vdso)
{
	sysctl_restore();
}

TEST_F(vdso, system_call)
{
	EXPECT_EQ(0, sample_syscall());
}

TEST_F(vdso, first_instruction)
{
	EXPECT_EQ(0, sample_entry());
}

TEST_F_TIMEOUT(vdso, anywhere_in_clock_gettime, 2 * SECONDS)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000,
		.exclude_kernel = 1,
		.disabled = 1,
	};
	time_t start = time(NULL);
	static struct chain chain;

	ASSERT_EQ(0, sampler_open_stacks(&sampler, attr));
	vdso_clock = FAST_CLOCK;
	while (count.in_vdso < SAMPLES && time(NULL) - start < SECONDS) {
		ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		chain_call(chain_vdso, 20000);
		ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		ASSERT_LE(0, sampler_each(&sampler, &chain, judge_any, NULL));
	}
	sampler_close(&sampler);
	TH_LOG("samples: %u in the vDSO, %u in its caller, %u elsewhere",
	       count.in_vdso, count.in_caller, count.elsewhere);
	EXPECT_LE(SAMPLES, count.in_vdso);
	EXPECT_LT(count.elsewhere, count.in_vdso);
}

TEST_F(vdso, moved)
{
	EXPECT_TRUE(child_is_right(move, sample_both));
}

/* A process changes its own stacks, and nobody else's. */
TEST_F(vdso, copy_of_the_table_overwritten)
{
	EXPECT_TRUE(child_is_right(overwrite_table, sample_entry_without));
	EXPECT_EQ(0, sample_both());
}

TEST_F(vdso, unmapped_with_other_code_in_its_place)
{
	EXPECT_TRUE(child_is_right(replace, sample_entry_without));
}

TEST_F(vdso, of_32_bit_programs)
{
	int status = -1, error;
	pid_t pid = fork();

	if (!pid) {
		error = map_vdso32();
		_exit(error ? -error : -sample_vdso32() & 0xff);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == EINVAL)
		SKIP(return, "no CONFIG_CHECKPOINT_RESTORE, or no other vDSO");
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(vdso, is_listed)
{
	EXPECT_EQ(0, sample_entry());
	EXPECT_TRUE(is_listed(" eh_frame discovery good [vdso]"));
}

TEST_HARNESS_MAIN
