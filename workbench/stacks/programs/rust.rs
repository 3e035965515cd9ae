// SPDX-License-Identifier: GPL-2.0

//! Work for a stock Rust program: collections, formatting, sorting, threads and panics.

use std::collections::{BTreeMap, HashMap};
use std::{env, panic, thread};

fn words(round: usize) -> Vec<String> {
    (0..4000)
        .map(|n| format!("{:x}", n * 7919 % (round + 65537)))
        .collect()
}

fn depth(tree: &BTreeMap<String, usize>, key: &str, left: usize) -> usize {
    match tree.range(key.to_string()..).nth(1) {
        Some((next, n)) if left > 0 => n + depth(tree, next, left - 1),
        Some(_) => 0,
        None => panic!("no more"),
    }
}

fn work(rounds: usize) -> usize {
    let mut sum = 0;

    for round in 0..rounds {
        let mut words = words(round);
        let mut count = HashMap::new();

        words.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for word in &words {
            *count.entry(word.clone()).or_insert(0) += word.len();
        }
        let tree: BTreeMap<String, usize> = count.into_iter().collect();
        for first in ["", "f"] {
            let found = panic::catch_unwind(|| depth(&tree, first, 150));
            sum += found.unwrap_or(1);
        }
    }
    sum
}

fn main() {
    let rounds = env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4);

    panic::set_hook(Box::new(|_| {}));
    let other = thread::spawn(move || work(rounds));
    let sums = (work(rounds), other.join().unwrap());
    println!("{sums:?}");
    assert_eq!(sums.0, sums.1);
}
