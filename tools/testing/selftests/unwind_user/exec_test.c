// SPDX-License-Identifier: GPL-2.0
/*
 * What exec registers, with programs that are made here. They are stopped
 * before their first instruction, and looked at.
 */
#include "../kselftest_harness.h"

#include <asm/unistd.h>
#include <linux/elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "tables.h"

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

static void add_header(struct headers *headers, struct elf64_phdr phdr)
{
	headers->phdrs[headers->ehdr.e_phnum++] = phdr;
}

static void add_table(struct headers *headers, unsigned long vaddr, unsigned long size)
{
	add_header(headers, (struct elf64_phdr) {
		.p_type = PT_GNU_SFRAME, .p_flags = PF_R,
		.p_vaddr = headers->phdrs[0].p_vaddr + vaddr,
		.p_filesz = size, .p_memsz = size,
	});
}

/* A program, at the address that it says or anywhere. */
static struct headers program(unsigned int type)
{
	static const int flags[SEGMENTS] = { PF_R, PF_R | PF_X, PF_R | PF_X, PF_R };
	unsigned long base = type == ET_EXEC ? BASE : 0;
	struct headers headers = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = type,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_entry = base + TEXT_1,
			.e_phoff = offsetof(struct headers, phdrs),
			.e_ehsize = sizeof(struct elf64_hdr),
			.e_phentsize = sizeof(struct elf64_phdr),
		},
	};

	for (int i = 0; i < SEGMENTS; i++)
		add_header(&headers, (struct elf64_phdr) {
			.p_type = PT_LOAD, .p_flags = flags[i], .p_offset = i * PAGE,
			.p_vaddr = base + i * STRIDE, .p_filesz = PAGE, .p_memsz = PAGE,
			.p_align = PAGE,
		});
	/* Or the kernel remarks that the stack is executable. */
	add_header(&headers, (struct elf64_phdr) {
		.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W,
	});
	return headers;
}

static void set_interpreter(struct headers *headers, const char *path)
{
	snprintf(headers->interpreter, sizeof(headers->interpreter), "%s", path);
	add_header(headers, (struct elf64_phdr) {
		.p_type = PT_INTERP, .p_flags = PF_R,
		.p_offset = offsetof(struct headers, interpreter),
		.p_filesz = strlen(path) + 1, .p_memsz = strlen(path) + 1,
	});
}

/* Write headers and the pages behind them; returns 0 or a negative errno. */
static int write_program(const char *path, const void *headers, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, headers, size) != (ssize_t)size || ftruncate(fd, SEGMENTS * PAGE))
		ret = -errno;
	close(fd);
	return ret;
}

/* Execute and stop before the first instruction; returns the child, or -1. */
static pid_t start(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, NULL);
		_exit(errno);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		return pid;
	return -1;
}

static void end(pid_t pid)
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
	int ret = write_program(path, headers, size);
	pid_t pid;

	if (ret)
		return ret;
	pid = start(path);
	if (pid < 0)
		return -ENOEXEC;
	ret = proc_lines(pid, lines, 8);
	end(pid);
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
	       !strcmp(line->origin, "exec") && !strcmp(line->state, "unchecked") &&
	       !strcmp(line->path, path);
}

TEST_F(exec, a_program_without_a_table)
{
	struct headers headers = program(ET_EXEC);

	EXPECT_EQ(0, lines_of(self->lines, self->program, &headers, sizeof(headers)));
}

TEST_F(exec, every_executable_segment)
{
	struct headers headers = program(ET_EXEC);

	add_table(&headers, TABLES, TABLE_SIZE);
	ASSERT_EQ(2, lines_of(self->lines, self->program, &headers, sizeof(headers)));
	EXPECT_TRUE(is_segment(&self->lines[0], BASE, TEXT_1, TABLES, self->program));
	EXPECT_TRUE(is_segment(&self->lines[1], BASE, TEXT_2, TABLES, self->program));
}

TEST_F(exec, the_first_table_counts)
{
	struct headers headers = program(ET_EXEC);

	add_table(&headers, TABLES + 200, TABLE_SIZE);
	add_table(&headers, TABLES, TABLE_SIZE);
	ASSERT_EQ(2, lines_of(self->lines, self->program, &headers, sizeof(headers)));
	EXPECT_TRUE(is_segment(&self->lines[0], BASE, TEXT_1, TABLES + 200, self->program));
}

TEST_F(exec, a_table_that_is_not_there)
{
	struct headers headers = program(ET_EXEC);

	add_table(&headers, TABLES + PAGE, TABLE_SIZE);
	EXPECT_EQ(0, lines_of(self->lines, self->program, &headers, sizeof(headers)));
	headers = program(ET_EXEC);
	add_table(&headers, TABLES, 0);
	EXPECT_EQ(0, lines_of(self->lines, self->program, &headers, sizeof(headers)));
}

TEST_F(exec, a_program_anywhere)
{
	struct headers headers = program(ET_DYN);
	unsigned long base;

	add_table(&headers, TABLES, TABLE_SIZE);
	ASSERT_EQ(2, lines_of(self->lines, self->program, &headers, sizeof(headers)));
	base = self->lines[0].table.text_start - TEXT_1;
	EXPECT_NE(0, base);
	EXPECT_TRUE(is_segment(&self->lines[0], base, TEXT_1, TABLES, self->program));
	EXPECT_TRUE(is_segment(&self->lines[1], base, TEXT_2, TABLES, self->program));
}

/* Make both files, each with a table or without, and start the program. */
static int with_interpreter(struct __test_metadata *_metadata, struct _test_data_exec *self,
			    bool program_has, bool interpreter_has)
{
	struct headers headers = program(ET_EXEC), interpreter = program(ET_DYN);

	if (program_has)
		add_table(&headers, TABLES, TABLE_SIZE);
	if (interpreter_has)
		add_table(&interpreter, TABLES, TABLE_SIZE);
	set_interpreter(&headers, self->interpreter);
	EXPECT_EQ(0, write_program(self->interpreter, &interpreter, sizeof(interpreter)));
	return lines_of(self->lines, self->program, &headers, sizeof(headers));
}

TEST_F(exec, the_interpreter)
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
TEST_F(exec, a_program_of_32_bits)
{
	struct {
		struct elf32_hdr ehdr;
		struct elf32_phdr phdrs[SEGMENTS + 2];
	} narrow = {};
	struct headers headers = program(ET_EXEC);
	pid_t pid;

	add_table(&headers, TABLES, TABLE_SIZE);
	memcpy(narrow.ehdr.e_ident, headers.ehdr.e_ident, EI_NIDENT);
	narrow.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	narrow.ehdr.e_type = ET_EXEC;
	narrow.ehdr.e_machine = EM_386;
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

	ASSERT_EQ(0, write_program(self->program, &narrow, sizeof(narrow)));
	pid = start(self->program);
	if (pid < 0)
		SKIP(return, "this kernel has no programs of 32 bits");
	EXPECT_EQ(0, proc_lines(pid, self->lines, 8));
	end(pid);
}

/* --- System calls of other word sizes --- */

/* As programs of 32 bits call. */
static int int80(int number)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (number), "b" (PR_UNWIND_TABLES), "c" (PR_UNWIND_TABLES_ENUMERATE),
		       "d" (0), "S" (0), "D" (sizeof(struct unwind_table))
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

#define INT80_GETPID	20
#define INT80_PRCTL	172

TEST_F(exec, a_call_of_32_bits)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(int80(INT80_GETPID) == getpid() ? -int80(INT80_PRCTL) : 255);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == 255)
		SKIP(return, "this kernel has no calls of 32 bits");
	EXPECT_EQ(EINVAL, WEXITSTATUS(status));
	/* It is a good one otherwise. */
	EXPECT_LE(0, tables_count());
}

TEST_F(exec, a_call_of_x32)
{
	if (syscall(__X32_SYSCALL_BIT | __NR_getpid) != getpid())
		SKIP(return, "this kernel has no calls of x32");
	EXPECT_EQ(-1, syscall(__X32_SYSCALL_BIT | __NR_prctl, PR_UNWIND_TABLES,
			      PR_UNWIND_TABLES_ENUMERATE, NULL, 0, sizeof(struct unwind_table)));
	EXPECT_EQ(EINVAL, errno);
}

/* --- exec of a program that has registered something --- */

static int count_own(void)
{
	struct unwind_table all[100];
	long count = tables_list(all, 100);
	int own = 0;

	if (count < 0)
		return 255;
	for (long i = 0; i < count && i < 100; i++)
		own += all[i].origin == UNWIND_TABLE_BY_PRCTL;
	return own;
}

TEST_F(exec, starts_without_what_was_registered)
{
	struct place place;
	pid_t pid;

	ASSERT_EQ(0, place_make(&place));
	ASSERT_EQ(0, do_register(&place.good));
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
	EXPECT_TRUE(registered(&place.good));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], COUNT_OWN))
		return count_own();
	return test_harness_run(argc, argv);
}
