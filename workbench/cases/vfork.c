// SPDX-License-Identifier: GPL-2.0
/* The child of vfork() runs on its parent's stack. The CFA of main() is in rbp. */
#include <alloca.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leaf.h"

MID(mid)

int main(int argc, char **argv)
{
	volatile char *room = alloca(argc * 48);
	volatile long sum = 0;
	pid_t child;

	(void)argv;
	room[0] = 0;
	child = vfork();
	if (!child) {
		while (go_on())
			sum += mid(2000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return sum == 42;
}
