// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "sampler.h"

long wanted(const char *name, long usual)
{
	const char *value = getenv(name);

	return value && atol(value) > 0 ? atol(value) : usual;
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

unsigned long find_mapping(const char *name, unsigned long *size)
{
	static char maps[64 * 1024];
	int fd = open("/proc/self/maps", O_RDONLY);
	unsigned long start;
	size_t len = 0;
	ssize_t got;
	char *line;

	if (fd < 0)
		return 0;
	while ((got = read(fd, maps + len, sizeof(maps) - 1 - len)) > 0)
		len += got;
	close(fd);
	maps[len] = '\0';
	line = strstr(maps, name);
	if (!line)
		return 0;
	while (line > maps && line[-1] != '\n')
		line--;
	start = strtoul(line, &line, 16);
	if (size)
		*size = strtoul(line + 1, NULL, 16) - start;
	return start;
}

void event_path(char path[EVENT_PATH], const char *event, const char *file)
{
	snprintf(path, EVENT_PATH, "/sys/kernel/tracing/events/%s/%s", event, file);
	if (access(path, F_OK))
		snprintf(path, EVENT_PATH, "/sys/kernel/debug/tracing/events/%s/%s", event, file);
}

long event_id(const char *event)
{
	char path[EVENT_PATH];

	event_path(path, event, "id");
	return read_number(path);
}

long tracepoint_id(const char *name)
{
	char event[64];

	snprintf(event, sizeof(event), "syscalls/sys_enter_%s", name);
	return event_id(event);
}

int perf_open(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(__NR_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sampler_open_on(struct sampler *sampler, struct perf_event_attr *attr, int pid, int cpu)
{
	sampler->fd = perf_open(attr, pid, cpu);
	if (sampler->fd < 0)
		return -sampler->fd;
	sampler->page = mmap(NULL, RING_SIZE + getpagesize(), PROT_READ | PROT_WRITE,
			     MAP_SHARED, sampler->fd, 0);
	if (sampler->page == MAP_FAILED) {
		int error = errno;

		close(sampler->fd);
		return error;
	}
	sampler->ring = (const unsigned char *)sampler->page + getpagesize();
	return 0;
}

int sampler_open_event(struct sampler *sampler, struct perf_event_attr *attr)
{
	return sampler_open_on(sampler, attr, 0, -1);
}

void sampler_close(struct sampler *sampler)
{
	munmap(sampler->page, RING_SIZE + getpagesize());
	close(sampler->fd);
}

int sampler_open_stacks_of(struct sampler *sampler, struct perf_event_attr attr, int pid)
{
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	return sampler_open_on(sampler, &attr, pid, -1);
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

int sampler_open_at_once(struct sampler *sampler, const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
	};
	long id = tracepoint_id(name);

	if (id < 0)
		return -id;
	attr.config = id;
	return sampler_open_event(sampler, &attr);
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

static void ring_copy(const struct sampler *sampler, unsigned long from, void *to, size_t len)
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
	bool fits;

	if (tail == head)
		return 0;
	ring_copy(sampler, tail, &header, sizeof(header));
	fits = header.size <= sizeof(sampler->words);
	if (fits)
		ring_copy(sampler, tail + sizeof(header), sampler->words,
			  header.size - sizeof(header));
	__atomic_store_n(&sampler->page->data_tail, fits ? tail + header.size : head,
			 __ATOMIC_RELEASE);
	sampler->misc = header.misc;
	sampler->nr = (header.size - sizeof(header)) / sizeof(sampler->words[0]);
	return fits ? header.type : -1;
}

unsigned long sampler_cookie(const struct sampler *sampler)
{
	/* A word, the number of entries, and those. */
	unsigned long nr = sampler->words[1];

	if (nr < 2 || sampler->words[nr] != (unsigned long)PERF_CONTEXT_USER_DEFERRED)
		return 0;
	return sampler->words[nr + 1];
}

void sampler_stack(const struct sampler *sampler, struct chain *chain)
{
	/* The cookie, the number of entries, and those. */
	chain->nr = sampler->words[1];
	memcpy(chain->ips, &sampler->words[2], chain->nr * sizeof(chain->ips[0]));
	chain->end = (sampler->misc & PERF_RECORD_MISC_CALLCHAIN_END_MASK) >>
		     PERF_RECORD_MISC_CALLCHAIN_END_SHIFT;
	chain->guessed = sampler->misc & PERF_RECORD_MISC_CALLCHAIN_GUESSED;
}

const char *sampler_chain(struct sampler *sampler, struct chain *chain)
{
	unsigned long cookie = 0, records = 0;
	const char *error = NULL;
	int type;

	chain->nr = 0;
	while ((type = sampler_record(sampler)) != 0) {
		switch (type) {
		case PERF_RECORD_SAMPLE:
			if (cookie)
				error = "two samples";
			cookie = sampler_cookie(sampler);
			if (!cookie)
				error = "sample is not deferred";
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			records++;
			if (!cookie || sampler->words[0] != cookie)
				error = "stack of another sample";
			else if (chain->nr)
				error = "two stacks";
			else if (!error)
				sampler_stack(sampler, chain);
			break;
		case PERF_RECORD_LOST:
			error = "lost records";
			break;
		case -1:
			error = "record too long";
			break;
		}
	}
	if (error || chain->nr)
		return error;
	return records ? "empty stack" : cookie ? "no stack" : "no sample";
}

const char *sampler_chain_at_once(struct sampler *sampler, struct chain *chain)
{
	int type = sampler_record(sampler);

	chain->nr = 0;
	if (type != PERF_RECORD_SAMPLE)
		return type ? "other record" : "no sample";
	/* A word, the number of entries, and those: the mark of the user's part, and frames. */
	if (sampler->words[1] > 1 && sampler->words[2] == (unsigned long)PERF_CONTEXT_USER) {
		chain->nr = sampler->words[1] - 1;
		memcpy(chain->ips, &sampler->words[3], chain->nr * sizeof(chain->ips[0]));
	}
	return sampler_record(sampler) ? "two records" : NULL;
}

int sampler_each(struct sampler *sampler, struct chain *chain,
		 bool (*look)(const struct chain *chain, const void *arg), const void *arg)
{
	unsigned long cookie = 0, taken = 0;
	int samples = 0, good = 0, type;

	while (good >= 0 && (type = sampler_record(sampler)) != 0) {
		unsigned long seen;

		switch (type) {
		case PERF_RECORD_SAMPLE:
			seen = sampler_cookie(sampler);
			/* One between two kernel entries has no stack. */
			if (!sampler->words[1])
				break;
			/* One on the way back, when the stack had been taken. */
			if (seen && seen == taken) {
				good++;
				break;
			}
			/* Several may share a stack: those before the task is back. */
			if (!seen || (samples && seen != cookie)) {
				ksft_print_msg("sample that is not deferred, or without a stack\n");
				good = -1;
				break;
			}
			cookie = seen;
			samples++;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			if (!samples || sampler->words[0] != cookie) {
				ksft_print_msg("stack without a sample\n");
				good = -1;
				break;
			}
			sampler_stack(sampler, chain);
			taken = cookie;
			good = look(chain, arg) ? good + samples : -1;
			samples = 0;
			break;
		case PERF_RECORD_LOST:
			/* id, number */
			ksft_print_msg("%lu records lost\n", sampler->words[1]);
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
