// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "changing.h"

/* Write what may be a table, and what is none. */
static void *changing_write(void *data)
{
	struct changing *changing = data;
	unsigned int seed = 1;

	while (!__atomic_load_n(&changing->stop, __ATOMIC_RELAXED)) {
		int what = rand_r(&seed) % 64;
		size_t at = rand_r(&seed) % changing->len;

		if (what && at - changing->header < changing->header_len)
			continue;
		__atomic_store_n(&changing->synth->table[at], rand_r(&seed), __ATOMIC_RELAXED);
		/* Some stacks are whole. */
		if (++changing->writes % 64 == 0)
			usleep(1000);
	}
	return NULL;
}

/* Whether a stack can be one. */
static const char *changing_judge(const struct synth *synth, unsigned int frames)
{
	const struct chain *chain = &synth->chain;

	if (chain->nr > frames)
		return "too many frames";
	if (chain->ips[0] != synth->frame.regs.ip + SYNTH_SYSCALL)
		return "another topmost frame";
	for (unsigned int i = 1; i < chain->nr; i++) {
		if (chain->ips[i] >> 56)
			return "not an address";
	}
	return NULL;
}

const char *changing_sample(struct changing *changing)
{
	time_t end = time(NULL) + wanted("RACE_SECONDS", 3);
	const char *error = NULL;
	struct synth *synth = changing->synth;
	static unsigned char good[PAGE];
	pthread_t thread;

	memcpy(good, synth->table, sizeof(good));
	changing->stop = false;
	if (pthread_create(&thread, NULL, changing_write, changing))
		return "no thread";
	/* However slow this is, some must have been hit, and some not. */
	while (!error && (time(NULL) < end || changing->samples < 100 || !changing->whole)) {
		error = synth_sample(synth) ?: changing_judge(synth, changing->frames);
		changing->whole += synth->chain.nr == changing->frames;
		if (changing->samples++ % 4 == 0)
			memcpy(synth->table, good, sizeof(good));
	}
	__atomic_store_n(&changing->stop, true, __ATOMIC_RELAXED);
	if (pthread_join(thread, NULL))
		error = "the thread does not end";
	memcpy(synth->table, good, sizeof(good));
	ksft_print_msg("%lu stacks, %lu whole, %lu bytes written\n", changing->samples,
		       changing->whole, changing->writes);
	return error;
}
