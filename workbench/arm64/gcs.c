// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the kernel's stacks with a Guarded Control Stack: `gcs STACKS`.
 *
 * A child enables it, and works. It is stopped at random times, and stepped from there. Each step
 * ends in a trap, which perf samples: no stack has been changed since. The processor has written
 * the return addresses of all calls there, so the two must be equal. Of the code that a signal has
 * interrupted, the Guarded Control Stack has only a mark: the tracer has seen the signal.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler.h"

#ifndef PR_SET_SHADOW_STACK_STATUS
#define PR_SET_SHADOW_STACK_STATUS	75
#define PR_SHADOW_STACK_ENABLE		1
#endif

#define STEPS		15	/* from each random place */
#define BELOW		8	/* the most frames of main() and its callers */
#define MAX_SIGNALS	8

/* gcs_code.S */
unsigned long code_only_lr(unsigned long (*call)(unsigned long), unsigned long n);
unsigned long code_apart(unsigned long (*call)(unsigned long), unsigned long n);
unsigned long code_high_record(unsigned long (*call)(unsigned long), unsigned long n);
unsigned long code_in_x9(unsigned long n);

static unsigned int random_state = 1;

static unsigned int next_random(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 16;
}

/* --- What the child does --- */

#define PART	__attribute__((noinline, noclone))

static volatile unsigned long sink;
static volatile unsigned int part;
static char text[4096];

static PART unsigned long leaf(unsigned long n)
{
	return n * n ^ n >> 3;
}

static PART unsigned long deep(unsigned long n)
{
	return n ? deep(n - 1) * 3 + leaf(n) : 1;
}

static PART void recursion(void)
{
	sink = deep(next_random() % 60);
}

static PART int compare(const void *a, const void *b)
{
	return memcmp(a, b, 4) ?: (int)leaf(*(const unsigned char *)a) & 1;
}

static PART void sort(void)
{
	for (int i = 0; i < 64; i++)
		text[i * 16] = next_random();
	qsort(text, 64, 16, compare);
}

static PART unsigned long with_alloca(unsigned long n)
{
	char *room = alloca(n % 200 + 16);

	memset(room, n, n % 200 + 16);
	sink += room[n % 16];
	return n > 4 ? with_alloca(n / 2) + leaf(n) : room[3];
}

static PART void allocas(void)
{
	sink = with_alloca(next_random());
}

static PART int format(char *to, size_t len, const char *how, ...)
{
	va_list args;
	int ret;

	va_start(args, how);
	ret = vsnprintf(to, len, how, args);
	va_end(args);
	return ret;
}

static PART void print(void)
{
	format(text, sizeof(text), "%s %*d %.9g %lx %c", "text", next_random() % 30, 77,
	       next_random() / 7.0, sink, 'x');
	sink += strtod(text + 5, NULL) + strlen(text);
}

static PART void strings(void)
{
	size_t len = next_random() % 2000;

	memset(text, 'a', len);
	memmove(text + 1, text, len);
	memcpy(text + 2100, text, len % 1000);
	text[len] = 0;
	sink += strlen(text) + (unsigned long)strchr(text, 'b') + strncmp(text, text + 1, 99);
}

static PART void memory(void)
{
	void *some[8];

	for (int i = 0; i < 8; i++)
		some[i] = malloc(next_random() % 3000);
	for (int i = 0; i < 8; i++)
		some[i] = realloc(some[i], next_random() % 5000 + 1);
	for (int i = 0; i < 8; i++)
		free(some[i]);
}

static jmp_buf back;

static PART unsigned long jump(unsigned long n)
{
	if (n == sink % 2)
		longjmp(back, 1);
	return n ? jump(n - 1) + leaf(n) : 0;
}

static PART void jumps(void)
{
	if (!setjmp(back))
		sink = jump(next_random() % 9);
}

static PART void code(void)
{
	sink = code_only_lr(deep, 3) + code_apart(leaf, 7) + code_high_record(with_alloca, 77) +
	       code_in_x9(9);
}

static PART void on_signal(int signal, siginfo_t *info, void *context)
{
	sink += leaf(signal);
	if (signal == SIGUSR1)
		raise(SIGUSR2);
}

static PART void plain(int signal)
{
	allocas();
}

static PART void signals(void)
{
	raise(SIGUSR1);
	raise(SIGHUP);
}

/* Each is done a number of times, or some would hardly be seen. */
static const struct {
	void (*run)(void);
	const char *name;
	int times;
} parts[] = {
	{ recursion, "recursion", 40 },
	{ sort, "sort", 1 },
	{ allocas, "alloca", 50 },
	{ print, "print", 6 },
	{ strings, "strings", 25 },
	{ memory, "malloc", 4 },
	{ jumps, "longjmp", 150 },
	{ code, "assembly", 60 },
	{ signals, "signals", 1 },
};

#define PARTS	(sizeof(parts) / sizeof(parts[0]))

static __always_inline long call(long nr, long a, long b)
{
	register long x8 asm("x8") = nr, x0 asm("x0") = a, x1 asm("x1") = b;
	register long x2 asm("x2") = 0, x3 asm("x3") = 0, x4 asm("x4") = 0;

	asm volatile("svc #0" : "+r" (x0) : "r" (x8), "r" (x1), "r" (x2), "r" (x3), "r" (x4)
		     : "memory");
	return x0;
}

/* No function that has been called before may return. */
static PART void child(void)
{
	static char other_stack[64 * 1024];
	const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	const pid_t self = getpid();

	sigaction(SIGUSR1, &action, NULL);
	sigaltstack(&stack, NULL);
	action.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	action = (struct sigaction){ .sa_handler = plain };
	sigaction(SIGHUP, &action, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);

	if (call(__NR_prctl, PR_SET_SHADOW_STACK_STATUS, PR_SHADOW_STACK_ENABLE))
		call(__NR_exit, 9, 0);
	call(__NR_kill, self, SIGSTOP);
	for (;;) {
		/* Signals take much longer than the others: the tracer is asked. */
		part = next_random() % 150 ? next_random() % (PARTS - 1) : PARTS - 1;
		for (int i = 0; i < parts[part].times; i++)
			parts[part].run();
	}
}

/* --- What its tracer does --- */

static pid_t pid;
static struct sampler sampler;
static struct chain chain;
/* The Guarded Control Stack begins below this. */
static unsigned long base;
/* The frames of child() and its callers, which had been called before. */
static unsigned long below[BELOW];
static unsigned int nr_below;
/* Where signals' marks are, and what these have interrupted. */
static struct {
	unsigned long at, pc;
} interrupted[MAX_SIGNALS];
static unsigned int stacks, equal, wrong, linker, guessed, incomplete, deepest;
static unsigned int of_part[PARTS], of_signals[MAX_SIGNALS];

static void fail(const char *what)
{
	fprintf(stderr, "error: %s\n", what);
	if (pid)
		kill(pid, SIGKILL);
	exit(1);
}

static unsigned long peek(unsigned long address)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, pid, address, 0);
	if (errno)
		fail("the child's memory cannot be read");
	return word;
}

static void registers(unsigned long *pc, unsigned long *gcspr)
{
	struct user_regs_struct regs;
	uint64_t gcs[3];	/* enabled features, locked ones, and the pointer */
	struct iovec regs_iov = { &regs, sizeof(regs) }, gcs_iov = { gcs, sizeof(gcs) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &regs_iov) ||
	    ptrace(PTRACE_GETREGSET, pid, NT_ARM_GCS, &gcs_iov))
		fail("there are no registers");
	*pc = regs.pc;
	*gcspr = gcs[2];
}

static void print_frames(const char *whose, const unsigned long *ips, unsigned int nr)
{
	printf("# %s:", whose);
	for (unsigned int i = 0; i < nr; i++)
		printf(" %lx", ips[i]);
	printf("\n");
}

/*
 * What calls the dynamic linker pushes a word more than its rules say at its first instruction, and
 * has popped one that they have at its last.
 */
static bool is_linker(unsigned long pc)
{
	return peek(pc) == 0xa9b327e8d503245f /* bti c; stp x8, x9, [sp, #-208]! */ ||
	       peek(pc - 4) == 0xd61f0200a8c17bf1 /* ldp x17, x30, [sp], #16; br x16 */;
}

static void look(void)
{
	unsigned long expected[MAX_CHAIN], pc, gcspr;
	unsigned int nr = 0, nr_expected, now, signals_there = 0;
	const char *error = sampler_chain(&sampler, &chain);

	if (error)
		fail(error);
	registers(&pc, &gcspr);
	expected[nr++] = pc;
	for (; gcspr < base; gcspr += sizeof(gcspr)) {
		unsigned long word = peek(gcspr);

		if (nr + BELOW >= MAX_CHAIN)
			fail("too many frames");
		/* A signal's mark has its own place in it, less the lowest bits. */
		if (word == (gcspr & ~0xfffUL)) {
			word = 0;
			for (unsigned int i = 0; i < MAX_SIGNALS; i++) {
				if (interrupted[i].at == gcspr)
					word = interrupted[i].pc;
			}
			signals_there++;
		}
		expected[nr++] = word;
	}
	/* The first stack is that of child(). */
	if (!stacks) {
		if (nr != 1 || chain.nr < 2 || chain.nr > BELOW || chain.ips[0] != pc)
			fail("the first stack is not right");
		nr_below = chain.nr - 1;
		memcpy(below, chain.ips + 1, nr_below * sizeof(below[0]));
	}
	memcpy(expected + nr, below, nr_below * sizeof(below[0]));
	nr += nr_below;
	nr_expected = nr;

	stacks++;
	deepest = nr > deepest ? nr : deepest;
	now = peek((unsigned long)&part);
	of_part[now]++;
	of_signals[signals_there]++;
	guessed += chain.guessed;
	/* libc's rules for setjmp() and longjmp() are not of use. No stack may end elsewhere. */
	if (chain.end != PERF_CALLCHAIN_END_COMPLETE && chain.nr < nr && parts[now].run == jumps) {
		incomplete++;
		nr = chain.nr;
	} else if (chain.end != PERF_CALLCHAIN_END_COMPLETE) {
		nr = 0;
	}
	if (nr == chain.nr && !memcmp(expected, chain.ips, nr * sizeof(expected[0]))) {
		equal++;
	} else if (is_linker(pc)) {
		linker++;
	} else if (wrong++ < 20) {
		printf("# %s, end %u%s\n", parts[now].name, chain.end,
		       chain.guessed ? ", guessed" : "");
		print_frames("the kernel's", chain.ips, chain.nr);
		print_frames("the processor's", expected, nr_expected);
	}
}

static void note_signal(void)
{
	static unsigned int next;
	unsigned long pc, gcspr;

	registers(&pc, &gcspr);
	for (unsigned int i = 0; i < MAX_SIGNALS; i++) {
		if (interrupted[i].at == gcspr - sizeof(gcspr)) {
			interrupted[i].pc = pc;
			return;
		}
	}
	interrupted[next % MAX_SIGNALS].at = gcspr - sizeof(gcspr);
	interrupted[next++ % MAX_SIGNALS].pc = pc;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	unsigned int wanted_stacks = argc > 1 ? atoi(argv[1]) : 300, steps = 1, few = 0;
	bool stopping = false;
	unsigned long pc;
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	attr.config = event_id("signal/signal_generate");
	pid = fork();
	if (!pid)
		child();
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		fail("no Guarded Control Stack");
	registers(&pc, &base);
	if (sampler_open_stacks_of(&sampler, attr, pid) ||
	    ioctl(sampler.fd, PERF_EVENT_IOC_SET_FILTER, "sig == 5"))
		fail("no samples");

	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status);
		siginfo_t info;

		if (signal == SIGTRAP) {
			/* The kernel also stops it before a handler, and sends no signal. */
			if (!ptrace(PTRACE_GETSIGINFO, pid, 0, &info) && info.si_code != SIGTRAP)
				look();
			steps -= steps > 0;
			signal = 0;
		} else if (signal == SIGSTOP) {
			steps = STEPS;
			stopping = false;
			signal = 0;
		} else {
			note_signal();
		}
		if (stacks >= wanted_stacks)
			break;
		ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, 0, signal);
		if (!steps && !stopping) {
			usleep(next_random() % 3000);
			kill(pid, SIGSTOP);
			stopping = true;
		}
	}
	kill(pid, SIGKILL);

	for (unsigned int i = 0; i < PARTS; i++) {
		printf("%s %u, ", parts[i].name, of_part[i]);
		few += of_part[i] < wanted_stacks / PARTS / 10;
	}
	printf("through a signal %u, through two %u\n", of_signals[1], of_signals[2]);
	printf("%u of %u stacks equal the Guarded Control Stack: %u guessed, %u end in setjmp() or "
	       "longjmp(), and the longest has %u frames\n",
	       equal, stacks, guessed, incomplete, deepest);
	printf("%u are wrong, and %u begin where the dynamic linker's rules are\n", wrong, linker);
	return wrong || linker > stacks / 100 || incomplete > stacks / 20 || few ||
	       !of_signals[2] || stacks < wanted_stacks;
}
