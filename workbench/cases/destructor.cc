// SPDX-License-Identifier: GPL-2.0
// A destructor that runs while an exception is on its way.
extern "C" {
#include "leaf.h"

MID(mid)
}

struct Busy {
	volatile long sum = 0;

	NOINLINE ~Busy() { sum = sum + mid(20000); }
};

extern "C" NOINLINE void thrower(int n)
{
	Busy busy;

	if (n)
		throw n;
}

extern "C" NOINLINE int catcher(int n)
{
	try {
		thrower(n);
	} catch (int caught) {
		return caught;
	}
	return 0;
}

int main(int argc, char **)
{
	volatile int sum = 0;

	while (go_on())
		sum = sum + catcher(argc);
	return sum == 42;
}
