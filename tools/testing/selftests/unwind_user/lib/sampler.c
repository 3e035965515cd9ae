// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "sampler.h"

void chain_set_end(struct chain *chain, unsigned short misc)
{
	chain->end = (misc & PERF_RECORD_MISC_CALLCHAIN_END_MASK) >>
		     PERF_RECORD_MISC_CALLCHAIN_END_SHIFT;
	chain->guessed = misc & PERF_RECORD_MISC_CALLCHAIN_GUESSED;
}

long read_number(const char *path)
{
	char text[32];
	int fd = open(path, O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -EIO;
	text[len] = '\0';
	return atol(text);
}

long tracepoint_id(const char *name)
{
	static const char * const at[] = {
		"/sys/kernel/tracing/events/syscalls/sys_enter_%s/id",
		"/sys/kernel/debug/tracing/events/syscalls/sys_enter_%s/id",
	};
	char path[100];
	long id = -ENOENT;

	for (unsigned int i = 0; i < 2 && id < 0; i++) {
		snprintf(path, sizeof(path), at[i], name);
		id = read_number(path);
	}
	return id;
}

int sampler_open_event_of(struct sampler *sampler, struct perf_event_attr *attr, int pid)
{
	sampler->fd = syscall(__NR_perf_event_open, attr, pid, -1, -1, 0);
	if (sampler->fd < 0)
		return errno;
	sampler->page = mmap(NULL, RING_SIZE + 4096, PROT_READ | PROT_WRITE,
			     MAP_SHARED, sampler->fd, 0);
	if (sampler->page == MAP_FAILED) {
		int error = errno;

		close(sampler->fd);
		return error;
	}
	sampler->ring = (const unsigned char *)sampler->page + 4096;
	return 0;
}

int sampler_open_event(struct sampler *sampler, struct perf_event_attr *attr)
{
	return sampler_open_event_of(sampler, attr, 0);
}

void sampler_close(struct sampler *sampler)
{
	munmap(sampler->page, RING_SIZE + 4096);
	close(sampler->fd);
}

int sampler_open_stacks_of(struct sampler *sampler, struct perf_event_attr attr, int pid)
{
	attr.size = sizeof(attr);
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	return sampler_open_event_of(sampler, &attr, pid);
}

int sampler_open_stacks(struct sampler *sampler, struct perf_event_attr attr)
{
	return sampler_open_stacks_of(sampler, attr, 0);
}

int sampler_open_syscall(struct sampler *sampler, const char *name)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	long id = tracepoint_id(name);

	if (id < 0)
		return -id;
	attr.config = id;
	return sampler_open_stacks(sampler, attr);
}

bool stacks_missing(int error)
{
	return error == EINVAL || error == ENOENT || error == EACCES || error == EPERM;
}

int sampler_open(struct sampler *sampler)
{
	return sampler_open_syscall(sampler, "getppid");
}

int sampler_open_clock(struct sampler *sampler, unsigned long period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
		.disabled = 1,
	};

	return sampler_open_stacks(sampler, attr);
}

void ring_copy(const struct sampler *sampler, unsigned long from, void *to, unsigned long len)
{
	unsigned char *bytes = to;

	while (len--)
		*bytes++ = sampler->ring[from++ % RING_SIZE];
}

int sampler_record(struct sampler *sampler)
{
	unsigned long head = __atomic_load_n(&sampler->page->data_head, __ATOMIC_ACQUIRE);
	unsigned long tail = sampler->page->data_tail;
	struct perf_event_header header;

	if (tail == head)
		return 0;
	ring_copy(sampler, tail, &header, sizeof(header));
	if (header.size > sizeof(sampler->words))
		return -1;
	ring_copy(sampler, tail + sizeof(header), sampler->words, header.size - sizeof(header));
	__atomic_store_n(&sampler->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	sampler->misc = header.misc;
	return header.type;
}

const char *sampler_chain(struct sampler *sampler, struct chain *chain)
{
	unsigned long *words = sampler->words;
	unsigned long head = __atomic_load_n(&sampler->page->data_head, __ATOMIC_ACQUIRE);
	unsigned long tail = sampler->page->data_tail;
	unsigned long cookie = 0;
	const char *error = NULL;

	chain->nr = 0;
	while (tail < head) {
		struct perf_event_header header;
		unsigned long nr, *ips;

		ring_copy(sampler, tail, &header, sizeof(header));
		if (header.size > sizeof(sampler->words)) {
			error = "record too long";
			break;
		}
		ring_copy(sampler, tail + sizeof(header), words, header.size - sizeof(header));
		tail += header.size;

		switch (header.type) {
		case PERF_RECORD_SAMPLE:
			/* ip, nr, entries */
			nr = words[1];
			ips = &words[2];
			if (nr < 2 || ips[nr - 2] != (unsigned long)PERF_CONTEXT_USER_DEFERRED)
				error = "sample is not deferred";
			else if (cookie)
				error = "two samples";
			else
				cookie = ips[nr - 1];
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			/* cookie, nr, entries */
			nr = words[1];
			ips = &words[2];
			if (!cookie || words[0] != cookie)
				error = "stack of another sample";
			else if (chain->nr)
				error = "two stacks";
			if (error)
				break;
			for (unsigned long i = 0; i < nr; i++)
				chain->ips[chain->nr++] = ips[i];
			chain_set_end(chain, header.misc);
			break;
		case PERF_RECORD_LOST:
			error = "lost records";
			break;
		}
	}
	__atomic_store_n(&sampler->page->data_tail, head, __ATOMIC_RELEASE);
	if (!error && !chain->nr)
		error = "no stack";
	return error;
}

int sampler_each(struct sampler *sampler, struct chain *chain,
		 bool (*look)(const struct chain *chain, const void *arg), const void *arg)
{
	unsigned long *words = sampler->words;
	unsigned long cookie = 0, taken = 0;
	int samples = 0, good = 0, type;

	while (good >= 0 && (type = sampler_record(sampler)) != 0) {
		unsigned long nr = words[1];

		switch (type) {
		case PERF_RECORD_SAMPLE:
			if (!nr)
				break;
			if (nr < 2 || words[nr] != (unsigned long)PERF_CONTEXT_USER_DEFERRED) {
				ksft_print_msg("sample that is not deferred\n");
				good = -1;
				break;
			}
			/* One on the way back, when the stack had been taken. */
			if (words[nr + 1] == taken) {
				good++;
				break;
			}
			/* Several may share a stack: those before the task is back. */
			if (samples && words[nr + 1] != cookie) {
				ksft_print_msg("sample without a stack\n");
				good = -1;
				break;
			}
			cookie = words[nr + 1];
			samples++;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			chain->nr = nr;
			memcpy(chain->ips, &words[2], nr * sizeof(words[0]));
			chain_set_end(chain, sampler->misc);
			if (!samples || words[0] != cookie) {
				ksft_print_msg("stack without a sample\n");
				good = -1;
				break;
			}
			taken = cookie;
			good = look(chain, arg) ? good + samples : -1;
			samples = 0;
			break;
		case PERF_RECORD_LOST:
			/* id, number */
			ksft_print_msg("%lu records lost\n", words[1]);
			good = -1;
			break;
		case -1:
			ksft_print_msg("record too long\n");
			good = -1;
			break;
		}
	}
	return good;
}
