// SPDX-License-Identifier: GPL-2.0
// The C++ program, second half: throwing, and frames of unusual shape.

#include <alloca.h>
#include <cstring>

#include "shared.h"

// The exception passes a frame with a destructor for each call.
int depth(int n, std::vector<std::string> &log)
{
	Guard guard("depth " + std::to_string(n), log);

	if (n == 0)
		throw std::string("deep enough");
	return depth(n - 1, log) + 1;
}

[[gnu::noinline]] static void fill(double *values, int n, double value)
{
	for (int i = 0; i < n; i++)
		values[i] = value + i;
}

// The function realigns the stack, and finds arguments by another register: the
// last int is on the caller's stack.
double aligned(int a, int b, int c, int d, int e, int f, int g, double h)
{
	alignas(64) double values[16];

	fill(values, 16, h);
	return values[a] + values[b] + values[c] + values[d] + values[e] + values[f] + values[g];
}

// The size of the frame is known only at run time.
std::string on_stack(const char *text, unsigned int size)
{
	char *copy = static_cast<char *>(alloca(size));

	std::memset(copy, '.', size);
	std::memcpy(copy, text, std::min<std::size_t>(size, std::strlen(text)));
	return std::string(copy, size);
}

std::string names(const std::map<int, std::string> &map, std::vector<std::string> &log)
{
	std::vector<int> keys{ 1, 2 };

	return find(map, sum(keys, log) - 1) + find(map, 1);
}
