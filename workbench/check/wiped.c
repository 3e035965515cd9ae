// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux 7.3 does not expect: a process moves memory that it has written to, and
 * forks. The child has the mapping, but by MADV_WIPEONFORK not its pages. So the mapping's
 * offset is still that of its first place, which is right only for one with pages. The child
 * unmaps the first page, and the kernel prints a warning if it has CONFIG_DEBUG_VM.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

int main(void)
{
	char *old, *new;
	int status;

	old = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	new = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (old == MAP_FAILED || new == MAP_FAILED)
		return 1;
	memset(old, 1, 4 * PAGE);
	/* Far enough from other mappings not to be joined with one. */
	if (mremap(old, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, new + 8 * PAGE) == MAP_FAILED)
		return 1;
	if (madvise(new + 8 * PAGE, 4 * PAGE, MADV_WIPEONFORK))
		return 1;
	if (!fork())
		_exit(munmap(new + 8 * PAGE, PAGE) ? 1 : 0);
	return wait(&status) < 0 || status ? 1 : 0;
}
