// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "moment.h"

bool is_known_stack_at(const unsigned long *ips, unsigned long nr, const char *ip)
{
	return nr == 3 && ips[0] == (unsigned long)ip &&
	       ips[1] == (unsigned long)known_inner_return &&
	       ips[2] == (unsigned long)known_outer_return;
}

bool is_known_stack(const unsigned long *ips, unsigned long nr)
{
	return is_known_stack_at(ips, nr, known_ip);
}

int event_open_attr(struct sampler *sampler, struct perf_event_attr attr, pid_t pid, int cpu)
{
	if (!attr.sample_period)
		attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1UL << PERF_REG_IP;
	attr.sample_id_all = 1;
	attr.inherit = cpu >= 0;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	return sampler_open_on(sampler, &attr, pid, cpu);
}

int event_open(struct sampler *sampler, const char *event, pid_t pid, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	long id = PERF_COUNT_SW_CPU_CLOCK;

	if (event) {
		id = event_id(event);
	} else {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.sample_period = 1000000;
		attr.exclude_user = 1;
	}
	if (id < 0)
		return -id;
	attr.config = id;
	return event_open_attr(sampler, attr, pid, cpu);
}

int records(struct sampler *sampler, struct record *all, int max)
{
	/* Entries, after their number and what stands before it. */
	const unsigned long *words = sampler->words, *ips = &words[2];
	int n = 0, type;

	while ((type = sampler_record(sampler)) != 0) {
		struct record *record = &all[n];

		if (type == PERF_RECORD_THROTTLE || type == PERF_RECORD_UNTHROTTLE)
			continue;
		if (n++ == max)
			return -1;
		*record = (struct record) { .type = type };
		switch (type) {
		case PERF_RECORD_SAMPLE:
			record->tid = words[0] >> 32;
			record->promised = words[1];
			record->cookie = sampler_cookie(sampler);
			/* the ABI, and the register that was asked for */
			record->ip = ips[words[1]] ? ips[words[1] + 1] : 0;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			record->cookie = words[0];
			record->ip = words[1] ? ips[0] : 0;
			record->right = is_known_stack(ips, words[1]);
			record->frames = words[1];
			for (unsigned long i = 0; i < words[1] && i < MAX_FRAMES; i++)
				record->ips[i] = ips[i];
			record->tid = words[sampler->nr - 1] >> 32;
			break;
		default:
			return -1;
		}
	}
	return n;
}

static void print_stack(const struct record *stack)
{
	ksft_print_msg("%u frames:", stack->frames);
	for (unsigned int i = 0; i < stack->frames && i < MAX_FRAMES; i++)
		printf(" 0x%lx", stack->ips[i]);
	printf("\n");
}

int samples_with(struct sampler *sampler, bool (*is_right)(const struct record *stack))
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
			if (!is_right(&all[j]))
				print_stack(&all[j]);
			right += j > i && is_right(&all[j]) && all[j].tid == all[i].tid;
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

static bool is_known(const struct record *stack)
{
	return stack->right;
}

int samples_with_stack(struct sampler *sampler)
{
	return samples_with(sampler, is_known);
}

static bool is_restart(const struct record *stack)
{
	const unsigned long ip = (unsigned long)known_ip - RESTART_BACK;

	return is_known_stack_at(stack->ips, stack->frames, (char *)ip);
}

int samples_with_restart(struct sampler *sampler)
{
	return samples_with(sampler, is_restart);
}

int samples_without_stack(struct sampler *sampler)
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

/* The test lets the child go by the first one, and is told a thread by the other. */
static int go[2], tell[2];

int child_pipes(void)
{
	return pipe2(go, O_CLOEXEC) || pipe2(tell, O_CLOEXEC) ? -errno : 0;
}

bool child_tid(pid_t *tid)
{
	return read(tell[0], tid, sizeof(*tid)) == sizeof(*tid);
}

bool child_tell(void)
{
	pid_t tid = syscall(__NR_gettid);

	return write(tell[1], &tid, sizeof(tid)) == sizeof(tid);
}

bool child_wait(void)
{
	char byte;

	return read(go[0], &byte, 1) == 1;
}

void child_ready(void)
{
	if (!child_tell() || !child_wait())
		_exit(1);
}

bool child_go(void)
{
	return write(go[1], "", 1) == 1;
}

static void *thread(void *run)
{
	((void (*)(void))run)();
	return NULL;
}

bool child_thread(pthread_t *id, void (*run)(void))
{
	return !pthread_create(id, NULL, thread, run);
}

void child_in_thread(void (*run)(void))
{
	pthread_t id;

	if (!child_thread(&id, run))
		_exit(1);
	pthread_join(id, NULL);
}

int frames_of_stack(struct sampler *sampler)
{
	struct record all[MAX_RECORDS];
	int n = records(sampler, all, MAX_RECORDS), frames = -1;

	for (int i = 0; i < n; i++) {
		if (all[i].type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		if (frames >= 0)
			return -1;
		frames = all[i].frames;
	}
	return frames;
}

bool waits_in(pid_t pid, pid_t tid, int number)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	for (int i = 0; i < 10000; i++) {
		if (read_number(path) == number)
			return true;
		usleep(1000);
	}
	return false;
}

void leave_by(long number, long a, long b, char *area)
{
	child_ready();
	last_syscall(number, a, b, area);
}
