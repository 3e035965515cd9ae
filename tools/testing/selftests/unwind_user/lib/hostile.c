// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "hostile.h"

unsigned long hostile_rows_return(const struct scene *scene, unsigned int nth)
{
	return scene_function(scene, 1) + MOST_ROWS + 1 - nth;
}

const char *hostile_rows(struct scene *scene)
{
	/* Rows that start by two bytes. */
	static unsigned char rows[5 + 4 * MOST_ROWS] = { 0xff, 0xff, 0x01 };
	unsigned long *stack = (unsigned long *)scene->stack;

	if (scene->stack + SCENE_STACK < (unsigned char *)(stack + MAX_CHAIN))
		return "stack too small";
	for (unsigned int i = 0; i < MOST_ROWS; i++) {
		unsigned char *row = &rows[5 + 4 * i];

		row[0] = i;
		row[1] = i >> 8;
		row[2] = 0x03;	/* from SP, one word of a byte */
		row[3] = 8;
	}
	scene_no_rules(scene);
	scene_rule(scene, BY_SP(8));
	scene_add(scene, FUNCTION_SIZE, MOST_ROWS, rows, sizeof(rows));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		stack[i] = hostile_rows_return(scene, i + 1);
	return NULL;
}

void hostile_long_rows(struct scene *scene)
{
	static unsigned char rows[5 + LONG_ROW * LONG_ROWS] = {
		LONG_ROWS & 0xff, LONG_ROWS >> 8, 2,
	};

	for (unsigned int i = 0; i < LONG_ROWS; i++) {
		unsigned char *row = &rows[5 + LONG_ROW * i];

		memcpy(row, &i, sizeof(i));
		row[4] = 0x5f;	/* from SP, 15 words of four bytes */
	}
	scene_no_rules(scene);
	scene_rule(scene, BY_SP(8));
	scene_add(scene, FUNCTION_SIZE, LONG_ROWS, rows, sizeof(rows));
	*(unsigned long *)scene->stack = scene_function(scene, 1) + LONG_ROWS;
}

unsigned long hostile_frame(const struct scene *scene, unsigned int nth)
{
	return scene_function(scene, 1) + 1 + nth;
}

void hostile_frames(struct scene *scene)
{
	static const unsigned char row[] = { 1, 0, 0, 0, 0, 0, 0x03, 8 };

	scene_no_rules(scene);
	scene_rule(scene, BY_SP(8));
	scene_add(scene, FUNCTION_SIZE, MAX_CHAIN + 1, row, sizeof(row));
	for (unsigned int i = 0; i < MAX_CHAIN; i++)
		((unsigned long *)scene->stack)[i] = hostile_frame(scene, i);
}

void hostile_wide(struct scene *scene)
{
	struct table_header *header = (struct table_header *)scene->table;
	struct table_entry *index = (struct table_entry *)(scene->table + WIDE_INDEX);
	unsigned char *rows = (unsigned char *)(header + 1);
	long start = scene->text - scene->table;
	unsigned int i;

	hostile_frames(scene);
	header->index_at = WIDE_INDEX - sizeof(*header);
	header->rows_at = 0;
	header->functions = WIDE_FUNCTIONS;
	header->rows_len = 5 + 3 * WIDE_ROWS;
	memset(rows, 0, 5);
	rows[0] = WIDE_ROWS;
	for (i = 0; i < WIDE_ROWS; i++) {
		rows[5 + 3 * i] = i;
		rows[6 + 3 * i] = 0x03;
		rows[7 + 3 * i] = 8;
	}
	for (i = 0; i < WIDE_FUNCTIONS; i++) {
		unsigned int others = WIDE_FUNCTIONS - WIDE_COUNT;
		/* The others have no bytes, and are below the text. */
		long at = i < others ? start - others + i : start + (i - others) * WIDE_SIZE;

		memcpy(index[i].start, &at, sizeof(at));
		index[i].size = i < others ? 0 : WIDE_SIZE;
		index[i].rows = 0;
	}
	/* Each frame in the last row of one of them, and of another address. */
	for (i = 0; i < MAX_CHAIN; i++)
		((unsigned long *)scene->stack)[i] = (unsigned long)scene->text + WIDE_ROWS + 1 +
			i % WIDE_COUNT * WIDE_SIZE + i / WIDE_COUNT % (WIDE_SIZE - WIDE_ROWS);
}

unsigned long hostile_signals(struct scene *scene)
{
	unsigned long restorer = scene_function(scene, 20);

	memcpy((void *)restorer, restorer_code, sizeof(restorer_code));
	scene_no_rules(scene);
	scene_rule(scene, BY_SP(8));
	memcpy(scene->stack, &restorer, sizeof(restorer));
	scene_signal(scene->stack + 8, restorer, (unsigned long)scene->stack + 8, 0);
	return restorer;
}

void hostile_marked(struct scene *scene, int nth_restorer)
{
	static const unsigned char mark[] = { 0, 0, 0x80, 0, 0 };
	unsigned long restorer = scene_function(scene, nth_restorer) + 1;
	unsigned long handler = scene_return(scene, 1);

	scene_no_rules(scene);
	scene_rule(scene, BY_SP(8));
	scene_rule(scene, BY_SP(0x100));
	scene_add(scene, nth_restorer * FUNCTION_SIZE, FUNCTION_SIZE, mark, sizeof(mark));
	memset((void *)restorer, 0x90, sizeof(restorer_code));
	memcpy(scene->stack, &handler, sizeof(handler));
	memcpy(scene->stack + 0x100, &restorer, sizeof(restorer));
	scene_signal(scene->stack + 0x108, handler, (unsigned long)scene->stack + 8, 0);
}
