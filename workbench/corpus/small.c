// SPDX-License-Identifier: GPL-2.0
// A small program, for each architecture and with options that no other program has.

#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define noinline __attribute__((noinline))
#define use(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

noinline int recurse(int n)
{
	return n <= 0 ? 0 : recurse(n - 1) + n * n;
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

// Large frames, of a size that is known only at run time, and aligned more than the stack.
#define frame(name, declaration)		\
	noinline int name(int n)		\
	{					\
		declaration;			\
						\
		memset(buffer, n, 256);		\
		use(buffer);			\
		return buffer[n] + recurse(n);	\
	}
frame(big, char buffer[20000])
frame(huge, char buffer[300000])
frame(dynamic, char *buffer = alloca(n + 256))
frame(realigned, char buffer[256] __attribute__((aligned(256))))

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

// It returns before it has a frame, or behind that.
noinline int early(int n)
{
	return n > 100 ? n : recurse(n) + dynamic(n + 8);
}

int main(void)
{
	long values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	printf("%ld %d %d %d %d %g %d\n", pressure(values), big(3), huge(4), realigned(5),
	       variadic(3, 1, 2, 3), floating(1, 2, 3), early(20));
	return 0;
}
