# SPDX-License-Identifier: GPL-2.0
"""Print a C program: empty.py COUNT.

Each function comes behind one without instructions, since the compiler finds it unreachable:
its FDE covers nothing, and has the same address.
"""

import sys

numbers = range(int(sys.argv[1]))
print('#include "leaf.h"')
for number in numbers:
    print(f"""
void never_{number}(void) {{ __builtin_unreachable(); }}
MID(mid_{number})""")
print(f"""
static long (*const mids[])(long) = {{ {', '.join(f'mid_{number}' for number in numbers)} }};

int main(void)
{{
	volatile long sum = 0;

	while (go_on())
		for (unsigned int i = 0; i < sizeof(mids) / sizeof(*mids); i++)
			sum += mids[i](200);
	return sum == 42;
}}""")
