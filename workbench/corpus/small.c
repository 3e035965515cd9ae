// SPDX-License-Identifier: GPL-2.0
// A small program, for each architecture and with options that no other program has.

#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define noinline __attribute__((noinline))

noinline int leaf(int a, int b)
{
	return a * b + 1;
}

// The function calls nothing, but has more values than caller-saved registers.
noinline long pressure(const long *p)
{
	long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];

	for (int i = 0; i < 8; i++) {
		a += b ^ p[i];
		b += c ^ (d << i);
		c += d * a;
		d ^= e + b;
		e += f * c;
		f ^= g + d;
		g += h ^ e;
		h += a * f;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

noinline int recurse(int n)
{
	return n <= 0 ? 0 : recurse(n - 1) + leaf(n, n);
}

noinline int big_frame(int n)
{
	char buffer[20000];

	memset(buffer, n, sizeof(buffer));
	__asm__ volatile("" : : "r"(buffer) : "memory");
	return buffer[n] + recurse(n);
}

noinline int huge_frame(int n)
{
	char buffer[300000];

	buffer[n] = n;
	__asm__ volatile("" : : "r"(buffer) : "memory");
	return buffer[n] + recurse(n);
}

noinline int dynamic(int n)
{
	char *buffer = alloca(n);

	memset(buffer, n, n);
	__asm__ volatile("" : : "r"(buffer) : "memory");
	return buffer[n / 2] + recurse(n);
}

noinline int realigned(int n)
{
	char buffer[256] __attribute__((aligned(256)));

	memset(buffer, n, sizeof(buffer));
	__asm__ volatile("" : : "r"(buffer) : "memory");
	return buffer[n] + recurse(n);
}

noinline int variadic(int n, ...)
{
	va_list list;
	int total = 0;

	va_start(list, n);
	while (n--)
		total += recurse(va_arg(list, int));
	va_end(list);
	return total;
}

noinline double floating(double a, double b, double c)
{
	for (int i = 0; i < 3; i++)
		a += b * recurse(i) - c;
	return a + b + c;
}

noinline int early(int n)
{
	if (n > 100)
		return n;
	for (int i = 0; i < n; i++)
		n -= leaf(i, n) & 1;
	return recurse(n) + dynamic(n + 8);
}

int main(void)
{
	long values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	printf("%d %ld %d %d %d %d %d %g %d\n", leaf(2, 3), pressure(values), big_frame(3),
	       huge_frame(4), dynamic(40), realigned(5), variadic(3, 1, 2, 3),
	       floating(1, 2, 3), early(20));
	return 0;
}
