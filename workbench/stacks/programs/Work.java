// SPDX-License-Identifier: GPL-2.0
// The work of java: trees, strings, maps, exceptions and sorting, in classes and lambdas.

import java.util.*;
import java.util.stream.*;

public class Work {
	record Tree(Tree left, Tree right) {
		static Tree of(int depth) {
			return depth == 0 ? null : new Tree(of(depth - 1), of(depth - 1));
		}

		int size() {
			return 1 + (left == null ? 0 : left.size()) + (right == null ? 0 : right.size());
		}
	}

	static int number(String text) {
		try {
			return Integer.parseInt(text, 16);
		} catch (NumberFormatException e) {
			return -1;
		}
	}

	public static void main(String[] args) {
		for (int round = 0; round < Integer.parseInt(args[0]); round++) {
			List<String> words = IntStream.range(0, 4000)
				.mapToObj(n -> Integer.toHexString(n * 7919 % 65537) + "-".repeat(n % 5))
				.sorted(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()))
				.collect(Collectors.toList());
			Map<String, Integer> count = new TreeMap<>();
			for (String word : words)
				count.merge(word.replaceAll("[0-9]+", "x"), 1, Integer::sum);
			System.out.println(count.size() + " " + words.stream().mapToInt(Work::number).max().getAsInt() + " " + Tree.of(12).size());
		}
	}
}
