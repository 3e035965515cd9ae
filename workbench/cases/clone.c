// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that assembly starts by the system call, as sanitizers and sandboxes do. The CFI
 * there is that of the parent's frame, so the table's rule leads into the words above the
 * thread's first ones: to the end of the mapping, or to values that are no addresses of code.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "leaf.h"

#define SIZE 65536
#define ABOVE 512	/* words */

MID(mid)

static int child(void *arg)
{
	volatile long sum = (long)arg;

	while (go_on())
		sum += mid(2000);
	return sum == 42;
}

static NOINLINE int start(int (*run)(void *), void **top, int flags)
{
	long result;

	*--top = NULL;
	*--top = run;
	asm volatile("syscall\n\t"
		     "test %%rax, %%rax\n\t"
		     "jnz 1f\n\t"
		     "xor %%ebp, %%ebp\n\t"
		     "pop %%rax\n\t"
		     "pop %%rdi\n\t"
		     "call *%%rax\n\t"
		     "mov %%eax, %%edi\n\t"
		     "mov %2, %%eax\n\t"
		     "syscall\n"
		     "1:"
		     : "=a"(result)
		     : "a"(__NR_clone), "i"(__NR_exit), "S"(top), "D"((long)flags)
		     : "memory", "rcx", "r11");
	return result;
}

int main(int argc, char **argv)
{
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long *top = (long *)(stack + SIZE);

	(void)argc;
	if (strstr(argv[0], "twos"))
		for (int i = 0; i < ABOVE; i++)
			*--top = 2;
	waitpid(start(child, (void **)top, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD), NULL, 0);
	return 0;
}
