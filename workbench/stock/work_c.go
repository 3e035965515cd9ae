// SPDX-License-Identifier: GPL-2.0

// Goroutines that work in C and in Go by turns.
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

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

func words(count int, sum uint64) int {
	seen := map[string]int{}
	for i := 0; i < count; i++ {
		sum = sum*6364136223846793005 + 1442695040888963407
		seen[strings.Repeat(strconv.FormatUint(sum>>54, 10), 2)]++
	}
	all := make([]string, 0, len(seen))
	for word := range seen {
		all = append(all, word)
	}
	sort.Strings(all)
	return len(all)
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var wait sync.WaitGroup
	sums := make([]uint64, 4)
	for i := range sums {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for round := 0; round < rounds; round++ {
				sum := uint64(C.work(C.uint(round), 2000))
				sums[i] += sum + uint64(words(500, sum))
			}
		}()
	}
	wait.Wait()
	fmt.Println(sums)
}
