// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "tables.h"

long tables_call(unsigned long operation, void *array, unsigned long count, unsigned long size)
{
	long ret = syscall(__NR_prctl, PR_UNWIND_TABLES, operation, array, count, size);

	return ret < 0 ? -errno : ret;
}

int tables_one(unsigned long operation, const struct unwind_table *table)
{
	long ret = tables_call(operation, (void *)table, 1, sizeof(*table));

	if (ret == 1)
		return 0;
	return ret < 0 ? ret : -EPROTO;
}

bool same_ranges(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->text_start == b->text_start && a->text_end == b->text_end &&
	       a->table_start == b->table_start && a->table_end == b->table_end;
}

long tables_count(void)
{
	return tables_list(NULL, 0);
}

struct listed tables_find(const struct unwind_table *wanted)
{
	struct listed all[256];
	long count = tables_list(all, 256);

	for (long i = 0; i < count && i < 256; i++) {
		if (same_ranges(&all[i].table, wanted))
			return all[i];
	}
	return (struct listed){ .state = TABLE_MISSING };
}

bool registered(const struct unwind_table *wanted)
{
	return tables_find(wanted).state != TABLE_MISSING;
}

struct unwind_table ranges(const void *text, size_t text_len, const void *table, size_t table_len)
{
	return (struct unwind_table){
		.text_start = (unsigned long)text,
		.text_end = (unsigned long)text + text_len,
		.table_start = (unsigned long)table,
		.table_end = (unsigned long)table + table_len,
		.format = UNWIND_TABLE_SFRAME,
	};
}

void set_function(struct hand_table *table, int nth, const void *at, const void *function)
{
	long start = (long)function - (long)at;

	memcpy(table->index[nth].start, &start, sizeof(start));
	table->index[nth].size = sizeof(leaf_code);
}

struct hand_table table_for(const void *at, const void *function)
{
	struct hand_table table = {
		.magic = 0xdee2,
		.version = 3,
		.flags = 1,	/* sorted */
		.abi = TABLE_ABI,
		.fixed_ra = TABLE_FIXED_RA,
		.functions = 1,
		.rows = 1,
		.rows_len = 5 + 3,
		.rows_at = 2 * 16,
		.row_count = 1,
		.row_info = 0x03,	/* from SP, one word of a byte */
		.row_cfa = LEAF_CFA,
	};

	set_function(&table, 0, at, function);
	return table;
}

void set_callers(struct hand_table *table)
{
	static const unsigned char row[] = { ROW_BY_SP(8) };

	memcpy(&table->row_info, row, sizeof(row));
	table->rows_len = 5 + 1 + sizeof(row);
}

struct hand_table table_outermost(const void *at, const void *function)
{
	struct hand_table table = table_for(at, function);

	table.row_info = 0;
	table.rows_len = 5 + 2;
	return table;
}

void write_code(void *at, const void *code, size_t len)
{
	memcpy(at, code, len);
	__builtin___clear_cache(at, (char *)at + len);
}

void write_leaf(void *at)
{
	write_code(at, leaf_code, sizeof(leaf_code));
}

int layout_make(struct layout *layout)
{
	unsigned char *area = mmap(NULL, LAYOUT_PAGES * PAGE, RW, ANON, -1, 0);

	if (area == MAP_FAILED)
		return -errno;
	layout->area = area;
	layout->text = area + TEXT_PAGE * PAGE;
	layout->table = (struct hand_table *)(area + TABLE_PAGE * PAGE);
	for (int i = 0; i < PART_PAGES; i++)
		write_leaf(layout->text + i * PAGE);
	*layout->table = table_for(layout->table, layout->text);
	layout->good = ranges(layout->text, PART_PAGES * PAGE, layout->table, PART_PAGES * PAGE);

	if (mprotect(layout->text, PART_PAGES * PAGE, RX) ||
	    mprotect(area, TEXT_PAGE * PAGE, PROT_NONE) ||
	    mprotect(area + (TEXT_PAGE + PART_PAGES) * PAGE, PAGE, PROT_NONE) ||
	    mprotect(area + (TABLE_PAGE + PART_PAGES) * PAGE, 2 * PAGE, PROT_NONE))
		return -errno;
	return 0;
}

static enum leaf_stack chain_of_leaf(struct sampler *sampler, unsigned long caller,
				     unsigned long skipped_to)
{
	static __thread struct chain chain;
	const char *error = sampler_chain(sampler, &chain);

	if (error) {
		ksft_print_msg("%s\n", error);
		return LEAF_NONE;
	}
	if (chain.nr == 1)
		return LEAF_OUTERMOST;
	if (chain.ips[1] == caller)
		return LEAF_FOUND;
	return chain.ips[1] == skipped_to ? LEAF_LOST : LEAF_WRONG;
}

enum leaf_stack call_leaf(struct sampler *sampler, const void *leaf)
{
	unsigned long caller = ((unsigned long (*)(void))leaf)();

	return chain_of_leaf(sampler, caller, (unsigned long)__builtin_return_address(0));
}

bool tables_missing(void)
{
	return tables_call(PR_UNWIND_TABLES_REGISTER, NULL, 0, sizeof(struct unwind_table));
}

bool ended_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int write_string(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

/* A file that is read by system calls alone: also in a child of many threads. */
struct reader {
	int fd;
	size_t at, len;
	char text[4096];
};

static int open_lines(struct reader *reader, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/unwind_tables", pid);
	reader->fd = open(path, O_RDONLY | O_CLOEXEC);
	reader->at = 0;
	reader->len = 0;
	return reader->fd < 0 ? -errno : 0;
}

/* Returns 1, 0 at the end of the file, or a negative errno. */
static int read_line(struct reader *reader, struct line *line)
{
	char text[1024];
	size_t len = 0;

	do {
		if (reader->at == reader->len) {
			ssize_t ret = read(reader->fd, reader->text, sizeof(reader->text));

			if (ret <= 0)
				return ret < 0 ? -errno : 0;
			reader->at = 0;
			reader->len = ret;
		}
		if (len == sizeof(text))
			return -EPROTO;
		text[len] = reader->text[reader->at++];
	} while (text[len++] != '\n');
	text[len - 1] = '\0';

	memset(line, 0, sizeof(*line));
	if (sscanf(text, "%llx-%llx %llx-%llx %llx %15s %15s %63s %255[^\n]",
		   &line->table.text_start, &line->table.text_end,
		   &line->table.table_start, &line->table.table_end, &line->table.header,
		   line->format, line->origin, line->state, line->path) < 8)
		return -EPROTO;
	if (!strcmp(line->format, "sframe"))
		line->table.format = UNWIND_TABLE_SFRAME;
	else if (!strcmp(line->format, "eh_frame"))
		line->table.format = UNWIND_TABLE_EH_FRAME;
	else if (strcmp(line->format, "none"))
		return -EPROTO;
	return 1;
}

int proc_all_lines(pid_t pid, struct line *lines, int max)
{
	struct reader reader;
	int n = 0, ret = open_lines(&reader, pid);

	if (ret)
		return ret;
	for (ret = 1; n < max && ret > 0; n += ret > 0)
		ret = read_line(&reader, &lines[n]);
	close(reader.fd);
	return ret < 0 ? ret : n;
}

static enum table_origin origin_of(const struct line *line)
{
	if (!strcmp(line->origin, "exec"))
		return TABLE_BY_EXEC;
	return strcmp(line->origin, "prctl") ? TABLE_BY_DISCOVERY : TABLE_BY_PRCTL;
}

static enum table_state state_in(const struct line *line)
{
	if (!strcmp(line->state, "good"))
		return TABLE_GOOD;
	return strcmp(line->state, "unchecked") ? TABLE_DISABLED : TABLE_UNCHECKED;
}

long tables_list(struct listed *tables, unsigned long count)
{
	struct reader reader;
	struct line line;
	long n = 0;
	int ret = open_lines(&reader, getpid());

	if (ret)
		return ret;
	while ((ret = read_line(&reader, &line)) > 0) {
		/* A text without a table. */
		if (!line.table.format)
			continue;
		if ((unsigned long)n < count)
			tables[n] = (struct listed){
				.table = line.table,
				.origin = origin_of(&line),
				.state = state_in(&line),
			};
		n++;
	}
	close(reader.fd);
	return ret < 0 ? ret : n;
}

int proc_lines(pid_t pid, struct line *lines, int max)
{
	int n = proc_all_lines(pid, lines, max), kept = 0;

	for (int i = 0; i < n; i++) {
		if (strcmp(lines[i].format, "none"))
			lines[kept++] = lines[i];
	}
	return n < 0 ? n : kept;
}

struct line *line_of(struct line *lines, int n, const struct unwind_table *table)
{
	for (int i = 0; i < n; i++) {
		if (same_ranges(&lines[i].table, table))
			return &lines[i];
	}
	return NULL;
}

struct unwind_table page_of(const struct layout *layout, int page)
{
	return ranges(layout->text + page * PAGE, PAGE, layout->table, PART_PAGES * PAGE);
}

long batch_call(unsigned long operation, struct unwind_table *batch, unsigned long count)
{
	return tables_call(operation, batch, count, sizeof(*batch));
}

const char *state_of(const struct unwind_table *table)
{
	static struct line lines[16];
	struct line *line = line_of(lines, proc_lines(getpid(), lines, 16), table);

	return line ? line->state : "";
}
