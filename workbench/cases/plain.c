// SPDX-License-Identifier: GPL-2.0
/* A usual program. build links it in unusual ways, and adds assembly to some of them. */
#include <fcntl.h>
#include <unistd.h>

#include "leaf.h"

MID(mid)

/* Functions whose CFI is malformed: they are in one file only. */
void bad(long n) __attribute__((weak));

static NOINLINE void rare(long n)
{
	volatile long room[5];

	room[0] = n;
	bad(n);
	room[1] = room[0];
}

/* One file has this in a text of its own. */
#ifdef SECTION
__attribute__((section(SECTION)))
#endif
NOINLINE int work(long (*volatile call)(long))
{
	volatile long sum = 0;

	while (go_on())
		sum += call(2000);
	return sum == 42;
}

static void show(const char *path)
{
	int file = open(path, O_RDONLY);
	char text[4096];
	ssize_t count;

	while ((count = read(file, text, sizeof(text))) > 0)
		if (write(STDOUT_FILENO, text, count) != count)
			return;
}

/* The argument is a file to print, when the kernel has taken stacks. */
int main(int argc, char **argv)
{
	int result;

	/* Long enough to be seen, and before all else. */
	if (bad)
		rare(30000000);
	result = work(mid);
	if (argc > 1)
		show(argv[1]);
	return result;
}
