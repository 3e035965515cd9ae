// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "program.h"

void program_add_header(struct headers *headers, struct elf64_phdr phdr)
{
	headers->phdrs[headers->ehdr.e_phnum++] = phdr;
}

void program_add_table(struct headers *headers, unsigned long vaddr, unsigned long size)
{
	program_add_header(headers, (struct elf64_phdr) {
		.p_type = PT_GNU_SFRAME, .p_flags = PF_R,
		.p_offset = vaddr - TABLES + (SEGMENTS - 1) * PAGE,
		.p_vaddr = headers->phdrs[0].p_vaddr + vaddr,
		.p_filesz = size, .p_memsz = size,
	});
}

struct headers program_make(unsigned int type)
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

void program_set_interpreter(struct headers *headers, const char *path)
{
	snprintf(headers->interpreter, sizeof(headers->interpreter), "%s", path);
	program_add_header(headers, (struct elf64_phdr) {
		.p_type = PT_INTERP, .p_flags = PF_R,
		.p_offset = offsetof(struct headers, interpreter),
		.p_filesz = strlen(path) + 1, .p_memsz = strlen(path) + 1,
	});
}

int program_write(const char *path, const void *headers, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, headers, size) != (ssize_t)size || ftruncate(fd, SEGMENTS * PAGE))
		ret = -errno;
	close(fd);
	return ret;
}

pid_t program_start(const char *path)
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

void program_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
