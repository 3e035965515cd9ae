// SPDX-License-Identifier: GPL-2.0
/* Calls the function of odd.S that the program's name says. */
#include "leaf.h"

typedef long odd_function(long (*call)(long), long n);

odd_function pops_args, rbp_in_r12, cfa_in_r13, cfa_saved, cfa_saved_plus, deep_states, too_small;

#define NAMED(name) { #name, name }

static const struct {
	const char *name;
	odd_function *call;
} functions[] = {
	NAMED(pops_args), NAMED(rbp_in_r12), NAMED(cfa_in_r13), NAMED(cfa_saved),
	NAMED(cfa_saved_plus), NAMED(deep_states), NAMED(too_small),
};

MID(mid)

static NOINLINE long caller(odd_function *call, long n)
{
	volatile long room[3];

	room[0] = n;
	return call(mid, n) + room[0];
}

int main(int argc, char **argv)
{
	/* The name has a part behind the function's, for other ways to build this. */
	const char *name = strtok(strrchr(argv[0], '/') + 1, "-");
	volatile long sum = 0;

	(void)argc;
	for (unsigned int i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		while (!strcmp(functions[i].name, name) && go_on())
			sum += caller(functions[i].call, 2000);
	return sum == 42;
}
