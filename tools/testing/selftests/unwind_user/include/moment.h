/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of other tasks' system calls, with a stack that is known.
 *
 * For programs with a C library, after kselftest_harness.h.
 */
#ifndef MOMENT_H
#define MOMENT_H

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler.h"

/*
 * long moment_call(long number, long a, long b, long c)
 *
 * A system call with a stack of three frames, linked by frame pointers: the
 * caller is not seen.
 */
long moment_call(long number, ...);
extern const char moment_ip[], moment_behind[], moment_inner_return[], moment_outer_return[];

asm("	.text\n"
	"	.type	moment_call, @function\n"
	"moment_call:\n"
	"	pushq	%rbp\n"
	"	xorl	%ebp, %ebp\n"
	"	call	1f\n"
	"moment_outer_return:\n"
	"	popq	%rbp\n"
	"	ret\n"
	"1:	pushq	%rbp\n"
	"	movq	%rsp, %rbp\n"
	"	call	2f\n"
	"moment_inner_return:\n"
	"	popq	%rbp\n"
	"	ret\n"
	"2:	pushq	%rbp\n"
	"	movq	%rsp, %rbp\n"
	"	movq	%rdi, %rax\n"
	"	movq	%rsi, %rdi\n"
	"	movq	%rdx, %rsi\n"
	"	movq	%rcx, %rdx\n"
	"	syscall\n"
	"moment_ip:\n"
	"	nop\n"
	"moment_behind:\n"
	"	popq	%rbp\n"
	"	ret\n"
	"	.size	moment_call, . - moment_call\n");

/* Whether a stack is that of moment_call(), at an address of it. */
static inline bool is_moment_at(const unsigned long *ips, unsigned long nr, const char *ip)
{
	return nr == 3 && ips[0] == (unsigned long)ip &&
	       ips[1] == (unsigned long)moment_inner_return &&
	       ips[2] == (unsigned long)moment_outer_return;
}

static inline bool is_moment(const unsigned long *ips, unsigned long nr)
{
	return is_moment_at(ips, nr, moment_ip);
}

/*
 * void probed_exit(void *sp, void *bp)
 *
 * What is probed comes with another stack; then the program ends.
 */
void probed_exit(void *sp, void *bp);
extern const char probed_exit_at[], other_probe_at[];

asm("	.text\n"
	"	.type	probed_exit, @function\n"
	"probed_exit:\n"
	"	movq	%rdi, %rsp\n"
	"	movq	%rsi, %rbp\n"
	"probed_exit_at:\n"
	"	nop\n"
	"	xorl	%edi, %edi\n"
	"	movl	$231, %eax\n"	/* __NR_exit_group */
	"	syscall\n"
	"other_probe_at:\n"
	"	ud2\n"
	"	.size	probed_exit, . - probed_exit\n");

/* Of the linker: the program's file. */
extern const char __ehdr_start[];

/* PERF_REG_X86_IP of <asm/perf_regs.h> */
#define REG_IP		8

/* Sample an event in a task; returns 0 or an errno. */
static inline int event_open_attr(struct sampler *sampler, struct perf_event_attr attr, pid_t pid,
				  int cpu)
{
	attr.size = sizeof(attr);
	if (!attr.sample_period)
		attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1UL << REG_IP;
	attr.sample_id_all = 1;
	attr.inherit = cpu >= 0;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;

	sampler->fd = syscall(__NR_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (sampler->fd < 0)
		return errno;
	sampler->page = mmap(NULL, RING_SIZE + 4096, PROT_READ | PROT_WRITE,
			     MAP_SHARED, sampler->fd, 0);
	if (sampler->page == MAP_FAILED)
		return errno;
	sampler->ring = (const unsigned char *)sampler->page + 4096;
	return 0;
}

/*
 * Sample a tracepoint in a task, or what it does in the kernel at any time;
 * returns 0 or an errno. With a CPU, its children are sampled, too.
 */
static inline int event_open(struct sampler *sampler, const char *event, pid_t pid, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	static const char * const at[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[128];
	long id = -ENOENT;

	if (!event) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.sample_period = 1000000;
		attr.exclude_user = 1;
		id = PERF_COUNT_SW_CPU_CLOCK;
	}
	for (unsigned int i = 0; i < 2 && id < 0; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", at[i], event);
		id = read_number(path);
	}
	if (id < 0)
		return -id;
	attr.config = id;
	return event_open_attr(sampler, attr, pid, cpu);
}

/* So many frames of a stack are kept. */
#define MAX_FRAMES	8

/* What was recorded, in order: a sample, or a stack. */
struct record {
	unsigned int type;
	pid_t tid;
	unsigned long cookie;
	/* Where the user part is: in a sample's registers, on top of a stack. */
	unsigned long ip;
	/* Of a sample: it has a user stack, or the promise of one. */
	bool promised;
	/* Of a stack: it is that of moment_call(). */
	bool right;
	unsigned int frames;
	unsigned long ips[MAX_FRAMES];
};

#define MAX_RECORDS	16

/* Take all records out of the ring; returns their number, or -1. */
static inline int records(struct sampler *sampler, struct record *all, int max)
{
	unsigned long *words = sampler->words;
	unsigned long head = __atomic_load_n(&sampler->page->data_head, __ATOMIC_ACQUIRE);
	unsigned long tail = sampler->page->data_tail;
	int n = 0;

	while (tail < head) {
		struct perf_event_header header;
		struct record *record = &all[n];
		unsigned long len, *ips;

		ring_copy(sampler, tail, &header, sizeof(header));
		len = header.size - sizeof(header);
		if (n++ == max || len > sizeof(sampler->words))
			return -1;
		ring_copy(sampler, tail + sizeof(header), words, len);
		tail += header.size;

		*record = (struct record) { .type = header.type };
		/* entries, after their number and what stands before it */
		ips = &words[2];
		switch (header.type) {
		case PERF_RECORD_SAMPLE:
			record->tid = words[0] >> 32;
			record->promised = words[1];
			if (words[1] == 2 && ips[0] == (unsigned long)PERF_CONTEXT_USER_DEFERRED)
				record->cookie = ips[1];
			/* the ABI, and the register that was asked for */
			record->ip = ips[words[1]] ? ips[words[1] + 1] : 0;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			record->cookie = words[0];
			record->ip = words[1] ? ips[0] : 0;
			record->right = is_moment(ips, words[1]);
			record->frames = words[1];
			for (unsigned long i = 0; i < words[1] && i < MAX_FRAMES; i++)
				record->ips[i] = ips[i];
			record->tid = words[len / sizeof(*words) - 1] >> 32;
			break;
		default:
			return -1;
		}
	}
	__atomic_store_n(&sampler->page->data_tail, head, __ATOMIC_RELEASE);
	return n;
}

/*
 * The number of samples that have the stack of moment_call(): the only one with
 * their cookie, later, and of the same thread. Another sample makes it negative.
 */
static inline int samples_with_stack(struct sampler *sampler)
{
	struct record all[MAX_RECORDS];
	int n = records(sampler, all, MAX_RECORDS), samples = 0, bad = n < 0;

	for (int i = 0; i < n; i++) {
		int stacks = 0, right = 0;

		if (all[i].type != PERF_RECORD_SAMPLE)
			continue;
		for (int j = 0; j < n; j++) {
			if (all[j].type != PERF_RECORD_CALLCHAIN_DEFERRED ||
			    all[j].cookie != all[i].cookie)
				continue;
			stacks++;
			right += j > i && all[j].right && all[j].tid == all[i].tid;
		}
		if (!all[i].cookie || stacks != 1 || right != 1) {
			ksft_print_msg("sample: cookie 0x%lx, %d stacks, %d right\n",
				       all[i].cookie, stacks, right);
			bad++;
		}
		samples++;
	}
	return bad ? -bad : samples;
}

/* The number of samples that have no user stack. Another sample makes it negative. */
static inline int samples_without_stack(struct sampler *sampler)
{
	struct record all[MAX_RECORDS];
	int n = records(sampler, all, MAX_RECORDS), samples = 0, bad = n < 0;

	for (int i = 0; i < n; i++) {
		if (all[i].type != PERF_RECORD_SAMPLE)
			continue;
		bad += all[i].promised;
		samples++;
	}
	return bad ? -bad : samples;
}

#endif /* MOMENT_H */
