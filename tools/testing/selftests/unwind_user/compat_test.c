// SPDX-License-Identifier: GPL-2.0
/*
 * Code, programs and system calls of 32 bits and of x32: of their stacks, only frame pointers
 * are known, and they have no tables.
 */
#include "harness.h"

#include <asm/unistd.h>

#include "synth_fixture.h"
#include "compat_calls.h"
#include "compat.h"

/* --- System calls of other word sizes --- */

#define INT80_GETPID	20
#define INT80_PRCTL	172

static int register_by_int80(void)
{
	return int80(INT80_PRCTL, PR_UNWIND_TABLES, PR_UNWIND_TABLES_REGISTER, 0, 0,
		     sizeof(struct unwind_table));
}

TEST(int80_call)
{
	pid_t pid;
	int status;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	pid = fork();
	if (!pid)
		_exit(int80(INT80_GETPID, 0, 0, 0, 0, 0) == getpid() ? -register_by_int80() : 255);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* Without them, int $0x80 is a general protection fault. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		SKIP(return, "this kernel has no calls of 32 bits");
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(EINVAL, WEXITSTATUS(status));
	/* It is a good one otherwise. */
	EXPECT_LE(0, tables_count());
}

TEST(x32_call)
{
	if (syscall(__X32_SYSCALL_BIT | __NR_getpid) != getpid())
		SKIP(return, "this kernel has no calls of x32");
	EXPECT_EQ(-1, syscall(__X32_SYSCALL_BIT | __NR_prctl, PR_UNWIND_TABLES,
			      PR_UNWIND_TABLES_REGISTER, NULL, 0, sizeof(struct unwind_table)));
	EXPECT_EQ(EINVAL, errno);
}

/* --- Code of 32 bits --- */

TEST_F(synth, unsupported)
{
	/* mov 16(%esi), %eax; mov (%eax), %eax; ljmp $0x33, $back */
	static const unsigned char code[] = {
		0x8b, 0x46, 0x10, 0x8b, 0x00, 0xea, 0x00, 0x00, 0x00, 0x00, 0x33, 0x00,
	};
	/* jmp *(%rsi), of 64 bits */
	static const unsigned char back[] = { 0xff, 0x26 };
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1, .exclude_kernel = 1, .disabled = 1,
	};
	unsigned char *low = mmap(NULL, 4 * PAGE, RW | PROT_EXEC, ANON | MAP_32BIT, -1, 0);
	unsigned long *stack = (unsigned long *)(low + 2 * PAGE - 64);
	unsigned int at;

	ASSERT_NE(MAP_FAILED, low);
	memcpy(low, code, sizeof(code));
	at = (unsigned long)low + 0x100;
	memcpy(low + 6, &at, sizeof(at));
	memcpy(low + 0x100, back, sizeof(back));
	stack[2] = (unsigned long)low + 3 * PAGE;

	sampler_close(&self->synth.sampler);
	ASSERT_EQ(0, sampler_open_stacks(&self->synth.sampler, attr));
	ASSERT_EQ(0, ioctl(self->synth.sampler.fd, PERF_EVENT_IOC_ENABLE, 0));
	touch_in_32_bits((unsigned long)low, (unsigned long)stack);
	ASSERT_EQ(0, ioctl(self->synth.sampler.fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(NULL, sampler_chain(&self->synth.sampler, &self->synth.chain));
	ASSERT_EQ(1, self->synth.chain.nr);
	EXPECT_EQ((unsigned long)low + 3, self->synth.chain.ips[0]);
	EXPECT_EQ(PERF_CALLCHAIN_END_UNSUPPORTED, self->synth.chain.end);
	EXPECT_FALSE(self->synth.chain.guessed);
}

/* --- Programs of other word sizes --- */

FIXTURE(compat) {
	char program[PATH_MAX];
	struct sampler sampler;
};

FIXTURE_VARIANT(compat) {
	const char *program;
};

FIXTURE_VARIANT_ADD(compat, of_32_bits) {
	.program = "compat_32",
};

FIXTURE_VARIANT_ADD(compat, of_x32) {
	.program = "compat_x32",
};

FIXTURE_SETUP(compat)
{
	ssize_t len = readlink("/proc/self/exe", self->program, sizeof(self->program) - 20);

	ASSERT_LT(0, len);
	self->program[len] = '\0';
	strcpy(strrchr(self->program, '/') + 1, variant->program);
	if (access(self->program, X_OK))
		SKIP(return, "the compiler that built this builds no %s", variant->program);
}

FIXTURE_TEARDOWN(compat)
{
}

/* Sample all page faults of the program; returns its wait status, or a negative errno. */
static int run(struct sampler *sampler, const char *program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1, .exclude_kernel = 1, .disabled = 1, .enable_on_exec = 1,
	};
	int go[2], error, status;
	pid_t pid;
	char byte = 0;

	if (pipe(go))
		return -errno;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			execl(program, program, NULL);
		_exit(errno);
	}
	close(go[0]);
	error = sampler_open_stacks_of(sampler, attr, pid);
	if (!error && write(go[1], &byte, 1) != 1)
		error = errno;
	close(go[1]);
	waitpid(pid, &status, 0);
	return error ? -error : status;
}

/* How often each of the stacks was seen. */
struct seen {
	int start, framed, vdso, lost, deep;
};

/* Whether a stack has that caller, or none, and that end. */
static bool is_stack(const struct chain *chain, unsigned long caller, unsigned int end,
		     bool guessed)
{
	return chain->end == end && chain->guessed == guessed &&
	       chain->nr == (caller ? 2 : 1) && (!caller || chain->ips[1] == caller);
}

/* All that is known comes from frame pointers, which guess. */
static bool is_complete(const struct chain *chain, unsigned long caller)
{
	return is_stack(chain, caller, PERF_CALLCHAIN_END_COMPLETE, true);
}

static bool look(const struct chain *chain, const void *arg)
{
	struct seen *seen = (void *)arg;

	switch (chain->ips[0]) {
	case COMPAT_FRAMED:
		seen->framed++;
		return is_complete(chain, COMPAT_RETURN);
	case COMPAT_LOST:
		seen->lost++;
		return is_stack(chain, 0, PERF_CALLCHAIN_END_UNSUPPORTED, false);
	case COMPAT_DEEP:
		/* There is room for the return address of who has no frame. */
		seen->deep++;
		return is_stack(chain, COMPAT_BARE_RETURN, PERF_CALLCHAIN_END_UNSUPPORTED, true);
	case COMPAT_START ... COMPAT_RETURN - 1:
		seen->start++;
		/* The number of arguments shows that, if it is a word: else it is a guess. */
		return chain->nr == 1 && chain->end == PERF_CALLCHAIN_END_COMPLETE;
	}
	/* The function in the vDSO has no frame, so its caller is not seen. */
	seen->vdso++;
	return is_complete(chain, COMPAT_RETURN);
}

TEST_F(compat, stacks)
{
	static struct chain chain;
	struct seen seen = {};
	int status = run(&self->sampler, self->program);

	if (stacks_missing(-status))
		SKIP(return, NO_STACKS, -status);
	ASSERT_LE(0, status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == ENOEXEC)
		SKIP(return, "this kernel does not execute %s", variant->program);
	ASSERT_EQ(0, status);

	EXPECT_LE(5, sampler_each(&self->sampler, &chain, look, &seen)) {
		for (unsigned int i = 0; i < chain.nr; i++)
			TH_LOG("%u: 0x%lx", i, chain.ips[i]);
		TH_LOG("end %u, guessed %d", chain.end, chain.guessed);
	}
	EXPECT_LE(1, seen.start);
	EXPECT_EQ(1, seen.framed);
	EXPECT_EQ(1, seen.vdso);
	EXPECT_EQ(1, seen.lost);
	EXPECT_EQ(1, seen.deep);
	sampler_close(&self->sampler);
}

TEST_HARNESS_MAIN
