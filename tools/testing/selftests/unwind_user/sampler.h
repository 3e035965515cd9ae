/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of one's own system calls, with deferred user stacks.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <linux/perf_event.h>

#define RING_PAGES	64
#define RING_SIZE	(RING_PAGES * 4096UL)
#define MAX_CHAIN	600

struct sampler {
	int fd;
	struct perf_event_mmap_page *page;
	const unsigned char *ring;
	/* The record that is looked at, less its header. */
	unsigned long words[MAX_CHAIN + 8];
};

/* A user stack as a sample has it: topmost first. */
struct chain {
	unsigned int nr;
	unsigned long ips[MAX_CHAIN];
};

/* The number in a small file, or a negative errno. */
static inline long read_number(const char *path)
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

static inline long tracepoint_id(void)
{
	static const char * const at[] = {
		"/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id",
		"/sys/kernel/debug/tracing/events/syscalls/sys_enter_getppid/id",
	};
	long id = -ENOENT;

	for (unsigned int i = 0; i < 2 && id < 0; i++)
		id = read_number(at[i]);
	return id;
}

/* Sample each getppid() of this thread from now on; returns 0 or an errno. */
static inline int sampler_open(struct sampler *sampler)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
		.defer_callchain = 1,
		.defer_output = 1,
	};
	long id = tracepoint_id();

	if (id < 0)
		return -id;
	attr.config = id;
	sampler->fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
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

/* Copy out of the ring, around its end. */
static inline void ring_copy(const struct sampler *sampler, unsigned long from,
			     void *to, unsigned long len)
{
	unsigned char *bytes = to;

	while (len--)
		*bytes++ = sampler->ring[from++ % RING_SIZE];
}

/*
 * Take all records out of the ring, which must be those of one sample.
 *
 * The sample says PERF_CONTEXT_USER_DEFERRED and a cookie; the record with
 * that cookie has the stack. Returns NULL, or a string that says what is wrong.
 */
static inline const char *sampler_chain(struct sampler *sampler, struct chain *chain)
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

#endif /* SAMPLER_H */
