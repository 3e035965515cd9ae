// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks of samples in the vDSO, which has a table of its own.
 *
 * Built twice, like chain_test.c: as a program with a table and without frame
 * pointers, and the other way round.
 */
#include "nolibc.h"

#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/hw_breakpoint.h>
#include <linux/prctl.h>
#include <linux/unwind_tables.h>

#include "kselftest.h"
#include "callers.h"
#include "tap.h"
#include "../vDSO/parse_vdso.h"

#define USED_SYSCTL	"/proc/sys/kernel/unwind_tables"
/* What a program is told that is to be sampled and nothing else. */
#define ANEW		"anew"

/* The vDSO answers for the first, and makes a system call for the second. */
#define FAST_CLOCK	1	/* CLOCK_MONOTONIC */
#define SLOW_CLOCK	2	/* CLOCK_PROCESS_CPUTIME_ID */

/* So many samples in the vDSO are looked at, or those of so many seconds. */
#define SAMPLES		2000
#define SECONDS		60

/* Exit status of a child whose stack was another than expected. */
#define OTHER_STACK	3
/* Exit status of a child that could not be sampled. */
#define NOT_SAMPLED	5

static struct sampler sampler;

/* The vDSO's mapping, and its table. */
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
		const unsigned char *code = (const unsigned char *)chain->ips[nr];
		int offset;

		if (nr) {
			memcpy(&offset, code - sizeof(offset), sizeof(offset));
			if (code[-5] != 0xe8 || !in_vdso(chain->ips[nr] + offset))
				break;
		}
		nr++;
	}
	return nr;
}

/* Call the vDSO once, and take the stack of the one sample. */
static const char *call_once(struct chain *chain, struct chain *expected)
{
	ENTER();
	vdso_clock = SLOW_CLOCK;
	chain_call(chain_vdso, 1);

	expected->nr = 0;
	expect_callers(expected);
	LEAVE();
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

/* The sampled instructions of the vDSO, then all callers. Adds @expected's first. */
static int judge_vdso(const char *error, const struct chain *chain, struct chain *expected)
{
	unsigned int from = vdso_frames(chain);

	memmove(expected->ips + 1, expected->ips, expected->nr * sizeof(expected->ips[0]));
	expected->ips[0] = (unsigned long)chain_vdso_return;
	expected->nr++;
	if (!error && !from)
		error = "not in the vDSO";
	return judge(error, chain, from, expected);
}

/* Sample the system call that the vDSO makes. */
static int sample_syscall(void)
{
	static struct chain chain, expected;
	const char *error = "cannot sample clock_gettime()";
	const unsigned char *code;

	ENTER();
	if (!sampler_open_syscall(&sampler, "clock_gettime")) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	LEAVE();
	code = (const unsigned char *)chain.ips[0];
	if (!error && !(in_vdso(chain.ips[0]) && code[-2] == 0x0f && code[-1] == 0x05))
		error = "not behind a system call of the vDSO";
	return judge_vdso(error, &chain, &expected);
}

static int open_entry(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (unsigned long)vdso_clock_gettime,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	return sampler_open_stacks(&sampler, attr);
}

/* Sample the first instruction of a function of the vDSO. */
static int sample_entry(void)
{
	static struct chain chain, expected;
	const char *error = "cannot set a breakpoint";

	ENTER();
	if (!open_entry()) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	LEAVE();
	if (!error && chain.ips[0] != (unsigned long)vdso_clock_gettime)
		error = "not at the entry";
	return judge_vdso(error, &chain, &expected);
}

/*
 * The same where no table may be used. The frame pointer is that of the caller,
 * so the caller is not seen; or it is none.
 */
static int sample_entry_without(void)
{
	static struct chain chain, expected;
	const char *error = "cannot set a breakpoint";

	ENTER();
	if (!open_entry()) {
		error = call_once(&chain, &expected);
		sampler_close(&sampler);
	}
	LEAVE();
#ifdef SFRAME
	expected.nr = 0;
#endif
	return judge(error, &chain, 1, &expected);
}

static int sample_both(void)
{
	int ret;

	ENTER();
	ret = sample_syscall();
	if (!ret)
		ret = sample_entry();
	LEAVE();
	return ret;
}

/* Samples at any instruction. */
struct count {
	unsigned int in_vdso;
	unsigned int in_caller;
	unsigned int elsewhere;
	unsigned int wrong;
};

static void judge_any(const struct chain *chain, const struct chain *expected,
		      struct count *count)
{
	unsigned long ip = chain->ips[0];
	unsigned int from = 0;
	bool good;

	if (in_vdso(ip)) {
		count->in_vdso++;
		from = vdso_frames(chain);
		good = from < chain->nr && chain->ips[from] == (unsigned long)chain_vdso_return &&
		       same_frames(chain, from + 1, expected);
	} else if (ip >= (unsigned long)chain_vdso_start && ip < (unsigned long)chain_vdso_end) {
		count->in_caller++;
		good = same_frames(chain, 1, expected);
	} else {
		count->elsewhere++;
		/* Around the loop, where frame pointers are set up. */
#ifdef SFRAME
		good = chain->ips[chain->nr - 1] == (unsigned long)start_return;
#else
		good = true;
#endif
	}
	if (good)
		return;
	if (!count->wrong++)
		print_difference(chain, 1, expected);
}

/* Judge all stacks that are in the ring. */
static const char *judge_ring(const struct chain *expected, struct count *count)
{
	static struct chain chain;
	unsigned long head = __atomic_load_n(&sampler.page->data_head, __ATOMIC_ACQUIRE);
	unsigned long tail = sampler.page->data_tail;
	unsigned long *words = sampler.words;
	const char *error = NULL;

	while (tail < head && !error) {
		struct perf_event_header header;

		ring_copy(&sampler, tail, &header, sizeof(header));
		if (header.size > sizeof(sampler.words))
			return "record too long";
		ring_copy(&sampler, tail + sizeof(header), words, header.size - sizeof(header));
		tail += header.size;

		switch (header.type) {
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			/* cookie, nr, entries */
			chain.nr = words[1];
			memcpy(chain.ips, words + 2, chain.nr * sizeof(chain.ips[0]));
			if (chain.nr)
				judge_any(&chain, expected, count);
			else
				error = "no stack";
			break;
		case PERF_RECORD_LOST:
			error = "lost records";
			break;
		}
	}
	__atomic_store_n(&sampler.page->data_tail, head, __ATOMIC_RELEASE);
	return error;
}

static int test_anywhere(const void *unused)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000,
		.exclude_kernel = 1,
		.disabled = 1,
	};
	static struct chain expected;
	struct count count = {};
	const char *error = NULL;
	time_t start = time(NULL);

	ENTER();
	if (sampler_open_stacks(&sampler, attr))
		ksft_exit_fail_msg("cannot sample the processor's clock\n");

	vdso_clock = FAST_CLOCK;
	while (!error && count.in_vdso < SAMPLES && time(NULL) - start < SECONDS) {
		ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		chain_call(chain_vdso, 20000);
		ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		expected.nr = 0;
		expect_callers(&expected);
		error = judge_ring(&expected, &count);
	}
	sampler_close(&sampler);
	LEAVE();

	if (error)
		ksft_print_msg("%s\n", error);
	ksft_print_msg("samples: %u in the vDSO, %u in its caller, %u elsewhere; %u wrong\n",
		       count.in_vdso, count.in_caller, count.elsewhere, count.wrong);
	return !error && count.in_vdso >= SAMPLES && !count.wrong &&
	       count.elsewhere < count.in_vdso;
}

/* Find the mapping of the vDSO, and its table; returns 0 or a negative errno. */
static int find_vdso(void)
{
	static char maps[64 * 1024];
	const struct elf64_hdr *ehdr;
	const struct elf64_phdr *phdr;
	int fd = open("/proc/self/maps", O_RDONLY);
	ssize_t len, done = 0;
	char *line;

	if (fd < 0)
		return -errno;
	while ((len = read(fd, maps + done, sizeof(maps) - 1 - done)) > 0)
		done += len;
	close(fd);
	line = strstr(maps, "[vdso]\n");
	if (!line)
		return -ENOENT;
	while (line > maps && line[-1] != '\n')
		line--;
	vdso = strtoul(line, &line, 16);
	vdso_size = strtoul(line + 1, NULL, 16) - vdso;
	if (vdso != getauxval(AT_SYSINFO_EHDR))
		return -EINVAL;

	ehdr = (const struct elf64_hdr *)vdso;
	phdr = (const struct elf64_phdr *)(vdso + ehdr->e_phoff);
	for (unsigned int i = 0; i < ehdr->e_phnum; i++) {
		/* Of SFrame, if the assembler had it. */
		if (phdr[i].p_type != PT_GNU_SFRAME &&
		    (phdr[i].p_type != PT_GNU_EH_FRAME || table_size))
			continue;
		table = vdso + phdr[i].p_vaddr;
		table_size = phdr[i].p_filesz;
	}
	return 0;
}

/* What children do before they sample. Each returns whether it could. */

static bool do_nothing(void)
{
	return true;
}

static bool move(void)
{
	void *to = mmap(NULL, vdso_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long offset = (unsigned long)to - vdso;

	if (to == MAP_FAILED ||
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

/* The process says itself what the vDSO's functions are: such that nobody calls. */
static bool register_other_table(void)
{
	static struct {
		unsigned short magic;
		unsigned char version, flags, abi;
		signed char fixed_fp, fixed_ra;
		unsigned char aux_len;
		unsigned int functions, rows, rows_len, index_at, rows_at;
		unsigned int start[2], size, row_at;
		unsigned char row[7];
	} other;
	const long start = vdso - (unsigned long)&other;
	struct unwind_table ranges = {
		.text_start = vdso,
		.text_end = vdso + vdso_size,
		.table_start = (unsigned long)&other,
		.table_end = (unsigned long)&other + sizeof(other),
		.format = UNWIND_TABLE_SFRAME,
	};

	other.magic = 0xdee2;
	other.version = 3;
	other.flags = 1;	/* sorted */
	other.abi = 3;		/* AMD64 */
	other.fixed_ra = -8;
	other.functions = 1;
	other.rows = 1;
	other.rows_len = sizeof(other.row);
	other.rows_at = 16;
	memcpy(other.start, &start, sizeof(start));
	other.size = vdso_size;
	/* One row, which has no words. */
	other.row[0] = 1;
	return syscall(__NR_prctl, PR_UNWIND_TABLES, PR_UNWIND_TABLES_REGISTER, &ranges, 1,
		       sizeof(ranges)) == 1;
}

/* Other code where the vDSO was, which happens to be the same. */
static bool replace(void)
{
	static unsigned char code[64 * 1024];
	void *at = (void *)vdso;

	if (vdso_size > sizeof(code))
		return false;
	memcpy(code, at, vdso_size);
	if (munmap(at, vdso_size) ||
	    mmap(at, vdso_size, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return false;
	memcpy(at, code, vdso_size);
	return true;
}

/* What a child does, and how it samples then. */
struct child {
	bool (*before)(void);
	int (*sample)(void);
};

static int test_child(const void *arg)
{
	const struct child *child = arg;
	int status = -1;
	pid_t pid;

	ENTER();
	pid = fork();
	if (!pid)
		_exit(child->before() ? child->sample() : KSFT_FAIL);
	LEAVE();
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return !status;
}

static int test_syscall(const void *unused)
{
	int ret;

	ENTER();
	ret = sample_syscall();
	LEAVE();
	return !ret;
}

static int test_entry(const void *unused)
{
	int ret;

	ENTER();
	ret = sample_entry();
	LEAVE();
	return !ret;
}

static bool use_tables(const char *value)
{
	int fd = open(USED_SYSCTL, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, 1) == 1;

	close(fd);
	return done;
}

static int test_switch(const void *unused)
{
	bool good;

	ENTER();
	good = use_tables("0") && !sample_entry_without();
	good = use_tables("7") && good && !sample_entry();
	LEAVE();
	return good;
}

/* The program anew, which has no registry, for nothing is looked for. */
static bool start_anew(void)
{
	char *const argv[] = { "vdso_test", ANEW, NULL }, *const envp[] = { NULL };

	return use_tables("5") && !execve("/proc/self/exe", argv, envp);
}

static int test_anew(const void *unused)
{
	static const struct child child = { start_anew, sample_both };
	int result;

	ENTER();
	result = test_child(&child);
	LEAVE();
	if (!use_tables("7"))
		ksft_exit_fail_msg("cannot write " USED_SYSCTL "\n");
	return result;
}

static void find_clock(void)
{
	vdso_init_from_sysinfo_ehdr(vdso);
	vdso_clock_gettime = vdso_sym("LINUX_2.6", "__vdso_clock_gettime");
}

int main(int argc, char **argv)
{
	static const struct child forked = { do_nothing, sample_both };
	static const struct child moved = { move, sample_both };
	static const struct child overwritten = { overwrite_table, sample_both };
	static const struct child other_table = { register_other_table, sample_both };
	static const struct child replaced = { replace, sample_entry_without };
	static const struct tap_test tests[] = {
		{ "a system call of the vDSO's", test_syscall },
		{ "the first instruction of a function", test_entry },
		{ "all stacks of samples anywhere in clock_gettime()", test_anywhere },
		{ "stacks of a forked child", test_child, &forked },
		{ "stacks after the vDSO was moved", test_child, &moved },
		{ "stacks with the process's copy of the table overwritten", test_child,
		  &overwritten },
		{ "stacks with a table of the process's own for the vDSO", test_child,
		  &other_table },
		{ "stacks with other code where the vDSO was", test_child, &replaced },
		{ "the table is not used if tables are switched off", test_switch },
		{ "stacks of a program for which nothing is looked for", test_anew },
	};
	int error;

	ENTER();
	if (argc > 1 && !strcmp(argv[1], ANEW)) {
		if (find_vdso())
			return NOT_SAMPLED;
		find_clock();
		return sample_both();
	}
	tap_start(argc, argv);
	if (access(USED_SYSCTL, F_OK))
		ksft_exit_skip("the kernel does not use tables\n");
	error = find_vdso();
	if (error == -ENOENT)
		ksft_exit_skip("there is no vDSO\n");
	if (error)
		ksft_exit_fail_msg("cannot find the vDSO: errno %d\n", -error);
	if (!table_size)
		ksft_exit_skip("the vDSO has no table\n");
	find_clock();
	if (!vdso_clock_gettime)
		ksft_exit_fail_msg("the vDSO has no clock_gettime()\n");
	error = sampler_open_syscall(&sampler, "clock_gettime");
	tap_need(error, "clock_gettime()");
	if (!error)
		sampler_close(&sampler);
	tap_run(tests, ARRAY_SIZE(tests));
}
