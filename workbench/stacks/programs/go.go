// SPDX-License-Identifier: GPL-2.0

// Work in goroutines: maps, channels, sorting, strings, and what the collector has to free.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

type tree struct {
	left, right *tree
	word        string
}

func (t *tree) add(word string) *tree {
	if t == nil {
		return &tree{word: word}
	}
	if word < t.word {
		t.left = t.left.add(word)
	} else {
		t.right = t.right.add(word)
	}
	return t
}

func (t *tree) walk(visit func(string)) {
	if t != nil {
		t.left.walk(visit)
		visit(t.word)
		t.right.walk(visit)
	}
}

// Works in C, if c.go is there.
var inC func(seed int) int

func work(round int, results chan<- int) {
	var root *tree
	count := map[string]int{}

	length := 0
	for i := 0; i < 3000; i++ {
		word := strconv.FormatInt(int64(i*7919%65537+round+36), 36)
		root = root.add(word)
		count[strings.ToUpper(word[:2])]++
		if inC != nil && i%100 == 0 {
			length += inC(round + i)
		}
	}
	keys := []string{}
	for key := range count {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(a, b int) bool { return count[keys[a]] > count[keys[b]] })
	root.walk(func(word string) { length += len(word) })
	results <- length + len(fmt.Sprint(keys))
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	results := make(chan int)
	var group sync.WaitGroup
	for round := 0; round < rounds; round++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(round, results)
		}()
	}
	go func() {
		group.Wait()
		close(results)
	}()
	sum := 0
	for result := range results {
		sum += result
	}
	fmt.Println(sum)
}
