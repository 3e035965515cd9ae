// SPDX-License-Identifier: GPL-2.0

// With this file, goroutines work in C and in Go by turns.
package main

/*
#include <stdlib.h>

static unsigned int next(unsigned int number)
{
	return number * 1664525 + 1013904223;
}

static unsigned long work(unsigned int seed, size_t count)
{
	unsigned int *numbers = malloc(count * sizeof(*numbers));
	unsigned long sum = 0;

	for (size_t i = 0; i < count; i++)
		numbers[i] = seed = next(seed);
	for (size_t gap = count / 2; gap; gap /= 2)
		for (size_t i = gap; i < count; i++)
			for (size_t j = i; j >= gap && numbers[j - gap] > numbers[j]; j -= gap) {
				unsigned int other = numbers[j];

				numbers[j] = numbers[j - gap];
				numbers[j - gap] = other;
			}
	for (size_t i = 0; i < count; i++)
		sum += numbers[i] * i;
	free(numbers);
	return sum;
}
*/
import "C"

func init() {
	inC = func(seed int) int { return int(C.work(C.uint(seed), 2000)) % 1000 }
}
