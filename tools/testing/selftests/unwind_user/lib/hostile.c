// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "hostile.h"

unsigned long hostile_rows_return(const struct synth *synth, unsigned int nth)
{
	return synth_function(synth, 1) + MANY_ROWS + 1 - nth;
}

const char *hostile_rows(struct synth *synth)
{
	/* Rows that start by two bytes. */
	static unsigned char rows[5 + (2 + ROW_SIZE) * MOST_ROWS] = { 0xff, 0xff, 0x01 };
	unsigned long *stack = (unsigned long *)synth->stack;

	if (synth->stack + SYNTH_STACK < (unsigned char *)(stack + MAX_CHAIN))
		return "stack too small";
	for (unsigned int i = 0; i < MOST_ROWS; i++) {
		const unsigned char row[] = { i, i >> 8, ROW_BY_SP(8) };

		memcpy(&rows[5 + sizeof(row) * i], row, sizeof(row));
	}
	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth_add(synth, FUNCTION_SIZE, MOST_ROWS, rows, sizeof(rows));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = hostile_rows_return(synth, i + 1);
	return NULL;
}

void hostile_long_rows(struct synth *synth)
{
	static unsigned char rows[5 + LONG_ROW * LONG_ROWS] = {
		LONG_ROWS & 0xff, LONG_ROWS >> 8, 2,
	};

	for (unsigned int i = 0; i < LONG_ROWS; i++) {
		unsigned char *row = &rows[5 + LONG_ROW * i];

		memcpy(row, &i, sizeof(i));
		row[4] = 0x5f;	/* from SP, 15 words of four bytes */
	}
	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth_add(synth, FUNCTION_SIZE, LONG_ROWS, rows, sizeof(rows));
	*(unsigned long *)synth->stack = synth_function(synth, 1) + LONG_ROWS;
}

unsigned long hostile_frame(const struct synth *synth, unsigned int nth)
{
	return synth_function(synth, 1) + 1 + nth;
}

void hostile_frames(struct synth *synth)
{
	static const unsigned char row[] = { 1, 0, 0, 0, 0, 0, ROW_BY_SP(8) };

	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth_add(synth, FUNCTION_SIZE, MAX_CHAIN + 1, row, sizeof(row));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		((unsigned long *)synth->stack)[i] = hostile_frame(synth, i);
}

void hostile_wide(struct synth *synth)
{
	struct table_header *header = (struct table_header *)synth->table;
	struct table_entry *index = (struct table_entry *)(synth->table + WIDE_INDEX);
	unsigned char *rows = (unsigned char *)(header + 1);
	unsigned int i;

	hostile_frames(synth);
	header->index_at = WIDE_INDEX - sizeof(*header);
	header->rows_at = 0;
	header->functions = WIDE_FUNCTIONS;
	header->rows_len = 5 + (1 + ROW_SIZE) * WIDE_ROWS;
	memset(rows, 0, 5);
	rows[0] = WIDE_ROWS;
	for (i = 0; i < WIDE_ROWS; i++) {
		const unsigned char row[] = { i, ROW_BY_SP(8) };

		memcpy(&rows[5 + sizeof(row) * i], row, sizeof(row));
	}
	for (i = 0; i < WIDE_FUNCTIONS; i++) {
		unsigned int others = WIDE_FUNCTIONS - WIDE_COUNT;
		/* The others have no bytes, and are below the text. */
		const unsigned char *text = i < others ? synth->text - others + i :
			synth->text + (i - others) * WIDE_SIZE;
		long at = text - (unsigned char *)&index[i];

		memcpy(index[i].start, &at, sizeof(at));
		index[i].size = i < others ? 0 : WIDE_SIZE;
		index[i].rows = 0;
	}
	/* Each frame in the last row of one of them, and of another address. */
	for (i = 0; i < MAX_CHAIN; i++)
		((unsigned long *)synth->stack)[i] = (unsigned long)synth->text + WIDE_ROWS + 1 +
			i % WIDE_COUNT * WIDE_SIZE + i / WIDE_COUNT % (WIDE_SIZE - WIDE_ROWS);
}

unsigned long hostile_signals(struct synth *synth)
{
	unsigned long restorer = synth_function(synth, 20);

	memcpy((void *)restorer, restorer_code, sizeof(restorer_code));
	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	memcpy(synth->stack, &restorer, sizeof(restorer));
	synth_signal(synth->stack + 8, restorer, (unsigned long)synth->stack + 8, 0);
	return restorer;
}

void hostile_marked(struct synth *synth, int nth_restorer)
{
	static const unsigned char mark[] = { 0, 0, 0x80, 0, 0 };
	unsigned long restorer = synth_function(synth, nth_restorer) + 1;
	unsigned long handler = synth_return(synth, 1);

	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth_rule(synth, BY_SP(0x100));
	synth_add(synth, nth_restorer * FUNCTION_SIZE, FUNCTION_SIZE, mark, sizeof(mark));
	memset((void *)restorer, 0x90, sizeof(restorer_code));
	memcpy(synth->stack, &handler, sizeof(handler));
	memcpy(synth->stack + 0x100, &restorer, sizeof(restorer));
	synth_signal(synth->stack + 0x108, handler, (unsigned long)synth->stack + 8, 0);
}

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
