// SPDX-License-Identifier: GPL-2.0
/*
 * What exec registers, with programs that are made here. They are stopped
 * before their first instruction, and looked at.
 */
#include "harness.h"

#include <asm/unistd.h>
#include <linux/elf.h>
#include <sys/ptrace.h>

/* What this program is told to say what it has registered itself, as its status. */
#define COUNT_OWN	"count-own"

/*
 * A file of four pages: the program's headers, two pages of text and one that
 * holds tables. In memory each is a segment, with holes between them.
 */
#define SEGMENTS	4
#define STRIDE		(4 * PAGE)
#define TEXT_1		(1 * STRIDE)
#define TEXT_2		(2 * STRIDE)
#define TABLES		(3 * STRIDE)
#define TABLE_SIZE	100
#define BASE		0x10000000UL

struct headers {
	struct elf64_hdr ehdr;
	struct elf64_phdr phdrs[SEGMENTS + 4];
	char interpreter[128];
};

static void program_add_header(struct headers *headers, struct elf64_phdr phdr)
{
	headers->phdrs[headers->ehdr.e_phnum++] = phdr;
}

/* Add the header of a table. @vaddr: its address, from the first segment on. */
static void program_add_table(struct headers *headers, int type, unsigned long vaddr,
			      unsigned long size)
{
	program_add_header(headers, (struct elf64_phdr) {
		.p_type = type, .p_flags = PF_R,
		.p_offset = vaddr - TABLES + (SEGMENTS - 1) * PAGE,
		.p_vaddr = headers->phdrs[0].p_vaddr + vaddr,
		.p_filesz = size, .p_memsz = size,
	});
}

/* Make a program: ET_EXEC for its own address, or ET_DYN for any. Returns its headers. */
static struct headers program_make(unsigned int type)
{
	static const int flags[SEGMENTS] = { PF_R, PF_R | PF_X, PF_R | PF_X, PF_R };
	unsigned long base = type == ET_EXEC ? BASE : 0;
	struct headers headers = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = type,
			.e_machine = MACHINE,
			.e_version = EV_CURRENT,
			.e_entry = base + TEXT_1,
			.e_phoff = offsetof(struct headers, phdrs),
			.e_ehsize = sizeof(struct elf64_hdr),
			.e_phentsize = sizeof(struct elf64_phdr),
		},
	};

	for (int i = 0; i < SEGMENTS; i++)
		program_add_header(&headers, (struct elf64_phdr) {
			.p_type = PT_LOAD, .p_flags = flags[i], .p_offset = i * PAGE,
			.p_vaddr = base + i * STRIDE, .p_filesz = PAGE, .p_memsz = PAGE,
			.p_align = PAGE,
		});
	/* Or the kernel remarks that the stack is executable. */
	program_add_header(&headers, (struct elf64_phdr) {
		.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W,
	});
	return headers;
}

static void program_set_interpreter(struct headers *headers, const char *path)
{
	snprintf(headers->interpreter, sizeof(headers->interpreter), "%s", path);
	program_add_header(headers, (struct elf64_phdr) {
		.p_type = PT_INTERP, .p_flags = PF_R,
		.p_offset = offsetof(struct headers, interpreter),
		.p_filesz = strlen(path) + 1, .p_memsz = strlen(path) + 1,
	});
}

static int program_write(const char *path, const void *headers, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, headers, size) != (ssize_t)size || ftruncate(fd, SEGMENTS * PAGE))
		ret = -errno;
	close(fd);
	return ret;
}

/*
 * Execute a program and stop it before its first instruction. Returns the child; or a negative
 * errno if it could not be executed, or -EPROTO if it ended otherwise.
 */
static pid_t program_start(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, NULL);
		_exit(errno);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP)
		return pid;
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) ? -WEXITSTATUS(status) : -EPROTO;
}

static void program_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

FIXTURE(exec) {
	char directory[32];
	char program[64];
	char interpreter[64];
	struct line lines[8];
};

FIXTURE_SETUP(exec)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	strcpy(self->directory, "/tmp/unwind_user.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	snprintf(self->program, sizeof(self->program), "%s/program", self->directory);
	snprintf(self->interpreter, sizeof(self->interpreter), "%s/interpreter", self->directory);
}

FIXTURE_TEARDOWN(exec)
{
	unlink(self->program);
	unlink(self->interpreter);
	rmdir(self->directory);
}

/* What a program has when it starts: the number of lines, or a negative errno. */
static int lines_of(struct line *lines, const char *path, const void *headers, size_t size)
{
	int ret = program_write(path, headers, size);
	pid_t pid;

	if (ret)
		return ret;
	pid = program_start(path);
	if (pid < 0)
		return pid;
	ret = proc_lines(pid, lines, 8);
	program_end(pid);
	return ret;
}

/* Whether a line is what exec makes of a segment of a file with a table at a place. */
static bool is_segment(const struct line *line, unsigned long base, unsigned long text,
		       unsigned long table, const char *path)
{
	return line->table.text_start == base + text &&
	       line->table.text_end == base + text + PAGE &&
	       line->table.table_start == base + table &&
	       line->table.table_end == base + table + TABLE_SIZE &&
	       !strcmp(line->format, "sframe") && !strcmp(line->origin, "exec") &&
	       !strcmp(line->state, "unchecked") && !strcmp(line->path, path);
}

/* Tables that a program of two texts says that it has, and where exec then finds one, or 0. */
TEST_F(exec, tables_of_a_program)
{
	static const struct {
		const char *name;
		struct {
			int type;
			unsigned long at, size;
		} tables[2];
		unsigned long found;
		bool anywhere;
	} cases[] = {
		{ "none" },
		{ "one", { { PT_GNU_SFRAME, TABLES, TABLE_SIZE } }, TABLES },
		{ "anywhere", { { PT_GNU_SFRAME, TABLES, TABLE_SIZE } }, TABLES, true },
		{ "the first counts", { { PT_GNU_SFRAME, TABLES + 200, TABLE_SIZE },
					{ PT_GNU_SFRAME, TABLES, TABLE_SIZE } }, TABLES + 200 },
		{ "outside", { { PT_GNU_SFRAME, TABLES + PAGE, TABLE_SIZE } } },
		{ "empty", { { PT_GNU_SFRAME, TABLES, 0 } } },
		{ "4 GiB", { { PT_GNU_SFRAME, TABLES, 1UL << 32 } } },
		{ "all memory", { { PT_GNU_SFRAME, -BASE, -1UL } } },
		{ "in the kernel", { { PT_GNU_SFRAME, 0xffffffff80000000 - BASE, TABLE_SIZE } } },
		{ "around the end", { { PT_GNU_SFRAME, -8UL - BASE, TABLE_SIZE } } },
		/* Discovery finds it. */
		{ "eh_frame alone", { { PT_GNU_EH_FRAME, TABLES, 16 } } },
	};
	const struct line *lines = self->lines;

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct headers headers = program_make(cases[i].anywhere ? ET_DYN : ET_EXEC);
		unsigned long base = BASE, found = cases[i].found;

		for (int nth = 0; nth < 2 && cases[i].tables[nth].type; nth++)
			program_add_table(&headers, cases[i].tables[nth].type,
					  cases[i].tables[nth].at, cases[i].tables[nth].size);
		ASSERT_EQ(found ? 2 : 0, lines_of(self->lines, self->program, &headers,
						  sizeof(headers))) TH_LOG("%s", cases[i].name);
		if (!found)
			continue;
		if (cases[i].anywhere)
			base = lines[0].table.text_start - TEXT_1;
		EXPECT_NE(0, base);
		EXPECT_TRUE(is_segment(&lines[0], base, TEXT_1, found, self->program));
		EXPECT_TRUE(is_segment(&lines[1], base, TEXT_2, found, self->program));
	}
}

/* The index of an .eh_frame may be anywhere in it: the table is all of its segment. */
TEST_F(exec, tables_of_both_formats)
{
	static const unsigned long texts[] = { TEXT_1, TEXT_2 };
	struct headers headers = program_make(ET_EXEC);

	program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	program_add_table(&headers, PT_GNU_EH_FRAME, TABLES + TABLE_SIZE, 16);
	ASSERT_EQ(4, lines_of(self->lines, self->program, &headers, sizeof(headers)));
	for (int i = 0; i < 2; i++) {
		const struct line *sframe = &self->lines[2 * i], *eh_frame = sframe + 1;

		EXPECT_TRUE(is_segment(sframe, BASE, texts[i], TABLES, self->program));
		EXPECT_STREQ("eh_frame", eh_frame->format);
		EXPECT_STREQ("exec", eh_frame->origin);
		EXPECT_STREQ("unchecked", eh_frame->state);
		EXPECT_EQ(BASE + texts[i], eh_frame->table.text_start);
		EXPECT_EQ(BASE + texts[i] + PAGE, eh_frame->table.text_end);
		EXPECT_EQ(BASE + TABLES, eh_frame->table.table_start);
		EXPECT_EQ(BASE + TABLES + PAGE, eh_frame->table.table_end);
	}
}

static unsigned char *map_program(const char *path)
{
	static const int rights[SEGMENTS] = {
		PROT_READ, RX, RX, PROT_READ,
	};
	unsigned char *base = mmap(NULL, SEGMENTS * STRIDE, PROT_NONE, ANON, -1, 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool mapped = base != MAP_FAILED && fd >= 0;

	for (int i = 0; i < SEGMENTS && mapped; i++)
		mapped = mmap(base + i * STRIDE, PAGE, rights[i], MAP_PRIVATE | MAP_FIXED, fd,
			      i * PAGE) != MAP_FAILED;
	close(fd);
	return mapped ? base : NULL;
}

/* Whether two lines are about the same text and the same table of two mapped files. */
static bool say_the_same(const struct line *a, unsigned long base_a, const struct line *b,
			 unsigned long base_b)
{
	const unsigned long moved = base_b - base_a;
	const unsigned long header = a->table.header ? a->table.header + moved : 0;

	return a->table.text_start + moved == b->table.text_start &&
	       a->table.text_end + moved == b->table.text_end &&
	       a->table.table_start + moved == b->table.table_start &&
	       a->table.table_end + moved == b->table.table_end &&
	       header == b->table.header && !strcmp(a->format, b->format) &&
	       !strcmp(a->path, b->path);
}

TEST_F(exec, says_what_discovery_finds)
{
	static struct line lines[64];
	struct headers headers = program_make(ET_DYN);
	struct sampler sampler;
	unsigned char *mapped;
	unsigned long base;
	int fd, n;

	if (!open_sampler(_metadata, &sampler))
		return;
	/* Neither text nor tables are whole pages. */
	headers.phdrs[1].p_filesz = PAGE - 100;
	headers.phdrs[1].p_memsz = PAGE - 100;
	headers.phdrs[2].p_offset += 200;
	headers.phdrs[2].p_vaddr += 200;
	headers.phdrs[2].p_filesz -= 200;
	headers.phdrs[2].p_memsz -= 200;
	program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	program_add_table(&headers, PT_GNU_EH_FRAME, TABLES + TABLE_SIZE, 16);
	n = lines_of(self->lines, self->program, &headers, sizeof(headers));
	if (n == 2)
		SKIP(return, "no CONFIG_UNWIND_USER_EH_FRAME");
	ASSERT_EQ(4, n);
	base = self->lines[0].table.text_start - TEXT_1;

	fd = open(self->program, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	for (int i = 1; i < 3; i++)
		ASSERT_EQ(sizeof(leaf_code), pwrite(fd, leaf_code, sizeof(leaf_code),
						    i * PAGE + 256));
	close(fd);
	mapped = map_program(self->program);
	ASSERT_NE(NULL, mapped);
	call_leaf(&sampler, mapped + TEXT_1 + 256);
	call_leaf(&sampler, mapped + TEXT_2 + 256);
	n = proc_lines(getpid(), lines, ARRAY_SIZE(lines));
	for (int i = 0; i < 4; i++) {
		int found = 0;

		for (int k = 0; k < n; k++)
			found += !strcmp(lines[k].origin, "discovery") &&
				 say_the_same(&self->lines[i], base, &lines[k],
					      (unsigned long)mapped);
		EXPECT_EQ(1, found) TH_LOG("line %d", i);
	}
}

/* --- The limit --- */

/* With another limit, how many tables a program of two segments has when it starts. */
static int lines_with_limit(FIXTURE_DATA(exec) *self, long limit)
{
	struct headers headers = program_make(ET_EXEC);
	int ret;

	program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	ret = sysctl_set(SYSCTL_MAX, limit) ?:
	      lines_of(self->lines, self->program, &headers, sizeof(headers));
	sysctl_restore();
	return ret;
}

TEST_F(exec, the_limit)
{
	if (lines_with_limit(self, 2) == -EACCES)
		SKIP(return, "cannot write " SYSCTL_MAX);
	EXPECT_EQ(2, lines_with_limit(self, 2));
	EXPECT_EQ(1, lines_with_limit(self, 1));
	EXPECT_TRUE(is_segment(&self->lines[0], BASE, TEXT_1, TABLES, self->program));
	EXPECT_EQ(0, lines_with_limit(self, 0));
}

/* --- What exec does not look at --- */

static int is_present(pid_t pid, unsigned long address)
{
	unsigned long long entry;
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = pread(fd, &entry, sizeof(entry), address / getpagesize() * sizeof(entry));
	close(fd);
	return len == sizeof(entry) ? entry >> 63 : -EIO;
}

TEST_F(exec, table_not_read_at_exec)
{
	struct headers headers = program_make(ET_EXEC);
	pid_t pid;

	program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	ASSERT_EQ(0, program_write(self->program, &headers, sizeof(headers)));
	pid = program_start(self->program);
	ASSERT_LT(0, pid);
	EXPECT_EQ(2, proc_lines(pid, self->lines, 8));
	EXPECT_EQ(0, is_present(pid, BASE + TABLES));
	/* Who reads it makes it present. */
	ptrace(PTRACE_PEEKDATA, pid, (void *)(BASE + TABLES), NULL);
	EXPECT_EQ(1, is_present(pid, BASE + TABLES));
	program_end(pid);
}

static int with_interpreter(struct __test_metadata *_metadata, FIXTURE_DATA(exec) *self,
			    bool program_has, bool interpreter_has)
{
	struct headers headers = program_make(ET_EXEC), interpreter = program_make(ET_DYN);

	if (program_has)
		program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	if (interpreter_has)
		program_add_table(&interpreter, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	program_set_interpreter(&headers, self->interpreter);
	EXPECT_EQ(0, program_write(self->interpreter, &interpreter, sizeof(interpreter)));
	return lines_of(self->lines, self->program, &headers, sizeof(headers));
}

TEST_F(exec, interpreter)
{
	struct line *lines = self->lines;
	unsigned long base;

	EXPECT_EQ(0, with_interpreter(_metadata, self, false, false));

	ASSERT_EQ(2, with_interpreter(_metadata, self, false, true));
	base = lines[0].table.text_start - TEXT_1;
	EXPECT_TRUE(is_segment(&lines[0], base, TEXT_1, TABLES, self->interpreter));
	EXPECT_TRUE(is_segment(&lines[1], base, TEXT_2, TABLES, self->interpreter));

	ASSERT_EQ(2, with_interpreter(_metadata, self, true, false));
	EXPECT_TRUE(is_segment(&lines[0], BASE, TEXT_1, TABLES, self->program));

	ASSERT_EQ(4, with_interpreter(_metadata, self, true, true));
	EXPECT_TRUE(is_segment(&lines[1], BASE, TEXT_2, TABLES, self->program));
	base = lines[2].table.text_start - TEXT_1;
	EXPECT_TRUE(is_segment(&lines[2], base, TEXT_1, TABLES, self->interpreter));
}

/* The same program as every_executable_segment has, of 32 bits. */
TEST_F(exec, program_of_32_bits)
{
	struct {
		struct elf32_hdr ehdr;
		struct elf32_phdr phdrs[SEGMENTS + 2];
	} narrow = {};
	struct headers headers = program_make(ET_EXEC);
	pid_t pid;

	program_add_table(&headers, PT_GNU_SFRAME, TABLES, TABLE_SIZE);
	memcpy(narrow.ehdr.e_ident, headers.ehdr.e_ident, EI_NIDENT);
	narrow.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	narrow.ehdr.e_type = ET_EXEC;
	narrow.ehdr.e_machine = MACHINE_32;
	narrow.ehdr.e_version = EV_CURRENT;
	narrow.ehdr.e_entry = headers.ehdr.e_entry;
	narrow.ehdr.e_phoff = sizeof(narrow.ehdr);
	narrow.ehdr.e_ehsize = sizeof(struct elf32_hdr);
	narrow.ehdr.e_phentsize = sizeof(struct elf32_phdr);
	narrow.ehdr.e_phnum = headers.ehdr.e_phnum;
	for (int i = 0; i < SEGMENTS + 2; i++) {
		const struct elf64_phdr *wide = &headers.phdrs[i];

		narrow.phdrs[i] = (struct elf32_phdr) {
			.p_type = wide->p_type, .p_flags = wide->p_flags,
			.p_offset = wide->p_offset, .p_vaddr = wide->p_vaddr,
			.p_filesz = wide->p_filesz, .p_memsz = wide->p_memsz,
			.p_align = wide->p_align,
		};
	}

	ASSERT_EQ(0, program_write(self->program, &narrow, sizeof(narrow)));
	pid = program_start(self->program);
	if (pid == -ENOEXEC)
		SKIP(return, "this kernel has no programs of 32 bits");
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, proc_lines(pid, self->lines, 8));
	program_end(pid);
}

/* --- exec of a program that has registered something --- */

static int count_own(void)
{
	struct listed all[100];
	long count = tables_list(all, 100);
	int own = 0;

	if (count < 0)
		return 255;
	for (long i = 0; i < count && i < 100; i++)
		own += all[i].origin == TABLE_BY_PRCTL;
	return own;
}

TEST_F(exec, exec_drops_registrations)
{
	struct layout layout;
	pid_t pid;

	ASSERT_EQ(0, layout_make(&layout));
	ASSERT_EQ(0, do_register(&layout.good));
	EXPECT_EQ(1, count_own());
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "exec_test", COUNT_OWN, NULL);
		_exit(254);
	}
	EXPECT_TRUE(ended_well(pid));

	/* A child that fails to execute still has all, and so has a parent of vfork(). */
	pid = fork();
	if (!pid) {
		execl("/", "/", NULL);
		_exit(count_own() != 1);
	}
	EXPECT_TRUE(ended_well(pid));
	pid = vfork();
	if (!pid) {
		execl("/proc/self/exe", "exec_test", COUNT_OWN, NULL);
		_exit(254);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_TRUE(registered(&layout.good));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], COUNT_OWN))
		return count_own();
	return test_harness_run(argc, argv);
}
