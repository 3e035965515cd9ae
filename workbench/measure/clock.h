/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of a guest, which counts instructions there.
 */
#ifndef CLOCK_H
#define CLOCK_H

static inline unsigned long now(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) :: "memory");
	return (unsigned long)high << 32 | low;
}

/*
 * The time of ten thousand loops of two instructions. The cheapest of some repetitions
 * counts: a timer interrupt makes the others dearer.
 */
static inline unsigned long calibration(void)
{
	unsigned long best = -1UL;

	for (int i = 0; i < 15; i++) {
		unsigned long start = now(), loops = 10000, taken;

		asm volatile("1: dec %0; jnz 1b" : "+r" (loops));
		taken = now() - start;
		if (taken < best)
			best = taken;
	}
	return best;
}

#endif /* CLOCK_H */
