// SPDX-License-Identifier: GPL-2.0

//! The samples of one recording, counted and grouped by their functions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::script::{Frame, Sample, UNKNOWN};

/// The functions of a stack, topmost first.
pub type Shape<'a> = Vec<&'a str>;

/// The samples of one recording.
pub struct Profile<'a> {
    /// At least one.
    pub samples: Vec<Sample<'a>>,
    entry: &'a str,
}

/// A stack that stands for others of the same shape.
#[derive(Debug, PartialEq, Eq)]
pub struct Typical<'a> {
    pub shape: Shape<'a>,
    /// The number of samples with this shape.
    pub count: usize,
    /// Whether it is complete, see [`Profile::is_complete`].
    pub complete: bool,
}

/// The counts of a recording.
#[derive(Debug, PartialEq, Eq)]
pub struct Counts {
    /// Samples of the program, with or without user frames.
    pub samples: usize,
    /// Samples that are complete, see [`Profile::is_complete`].
    pub complete: usize,
    /// User frames of all samples.
    pub frames: usize,
    /// User frames without a known function. Most are garbage that was taken for an address.
    pub unknown: usize,
    /// User frames of the deepest stack.
    pub deepest: usize,
}

impl Counts {
    /// The share of complete stacks in tenths of a percent, rounded down: 1000 means all.
    pub fn permille(&self) -> usize {
        self.complete * 1000 / self.samples.max(1)
    }
}

impl<'a> Profile<'a> {
    /// Samples of a program that starts in one of the functions `entry`, separated by commas.
    pub fn new(samples: Vec<Sample<'a>>, entry: &'a str) -> Self {
        Self { samples, entry }
    }

    /// A stack is complete if the kernel does not say otherwise, and its last frame is in one of
    /// the functions `entry`.
    fn is_complete(&self, sample: &Sample<'_>) -> bool {
        sample.end.is_none()
            && sample
                .user
                .last()
                .is_some_and(|frame| self.entry.split(',').any(|entry| entry == frame.symbol))
    }

    pub fn counts(&self) -> Counts {
        let frames = self.samples.iter().flat_map(|sample| &sample.user);
        let depths = self.samples.iter().map(|sample| sample.user.len());

        Counts {
            samples: self.samples.len(),
            complete: self.samples.iter().filter(|s| self.is_complete(s)).count(),
            frames: depths.clone().sum(),
            unknown: frames.filter(|frame| frame.symbol == UNKNOWN).count(),
            deepest: depths.max().unwrap_or(0),
        }
    }

    /// The last frames of the stacks that are not complete, and their numbers, the most frequent
    /// first. `None` stands for samples without user frames.
    pub fn ends(&self) -> Vec<(Option<(&'a str, &'a str)>, usize)> {
        let mut ends = BTreeMap::new();
        for sample in self.samples.iter().filter(|s| !self.is_complete(s)) {
            let end = sample.user.last().map(|frame| (frame.symbol, frame.object));
            *ends.entry(end).or_insert(0) += 1;
        }
        let mut ends = Vec::from_iter(ends);
        ends.sort_by_key(|&(_, count)| Reverse(count));
        ends
    }

    /// The stack to show of a recording with tables: the most frequent shape of the complete
    /// stacks, or of all stacks if none is complete.  If no two complete stacks are alike, it is
    /// the one of median depth.
    pub fn typical(&self) -> Option<Typical<'a>> {
        let complete = self.shapes(|sample| self.is_complete(sample));
        if complete.is_empty() {
            return self.most_frequent(self.shapes(|_| true));
        }
        if complete.values().all(|&count| count == 1) {
            let mut shapes = Vec::from_iter(complete.into_keys());
            shapes.sort_by_key(|(shape, _)| shape.len());
            let median = shapes.swap_remove(shapes.len() / 2);
            return self.most_frequent(BTreeMap::from([(median, 1)]));
        }
        self.most_frequent(complete)
    }

    /// The most frequent shape of the stacks whose topmost frame is in `function`, or, if there
    /// are none, of all stacks.
    pub fn typical_in(&self, function: &str) -> Option<Typical<'a>> {
        let is_top = |frame: &Frame<'_>| frame.symbol == function;
        let same = self.shapes(|sample| sample.user.first().is_some_and(is_top));

        self.most_frequent(same).or_else(|| self.most_frequent(self.shapes(|_| true)))
    }

    /// The number of wanted samples of each shape, complete or not. Samples without user frames
    /// do not count.
    fn shapes(&self, wanted: impl Fn(&Sample<'a>) -> bool) -> BTreeMap<(Shape<'a>, bool), usize> {
        let mut shapes = BTreeMap::new();
        for sample in &self.samples {
            if !sample.user.is_empty() && wanted(sample) {
                let shape: Shape<'a> = sample.user.iter().map(|frame| frame.symbol).collect();
                *shapes.entry((shape, self.is_complete(sample))).or_insert(0) += 1;
            }
        }
        shapes
    }

    /// The most frequent shape. Among equally frequent ones it is the deepest, then the first by
    /// name: the same input always gives the same report.
    fn most_frequent(&self, shapes: BTreeMap<(Shape<'a>, bool), usize>) -> Option<Typical<'a>> {
        let ((shape, complete), count) = shapes
            .into_iter()
            .min_by_key(|((shape, _), count)| (Reverse(*count), Reverse(shape.len())))?;

        Some(Typical { complete, shape, count })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::script::parse;

    /// The text of a sample with these user frames.
    pub fn sample(comm: &str, symbols: &[&str]) -> String {
        let mut text = format!("{comm} 1 2.3: 1 cpu-clock:\n\tffffffff81000000 k+0x1 ([k])\n");
        for (symbol, address) in symbols.iter().zip(0x401000..) {
            text += &format!("\t{address:16x} {symbol}+0x1 (/usr/bin/{comm})\n");
        }
        text + "\n"
    }

    /// The text of many samples.
    pub fn samples(stacks: &[&[&str]]) -> String {
        stacks.iter().map(|stack| sample("lua", stack)).collect()
    }

    fn profile(text: &str) -> Profile<'_> {
        Profile::new(parse(text).unwrap(), "_start")
    }

    #[test]
    fn counts_only_stacks_that_reach_the_entry() {
        let text = samples(&[
            &["f", "main", "_start"],
            &["f", "main"],
            &["_start", "[unknown]"],
            &[],
            &["_start"],
            &["__start"],
        ]);
        let profile = profile(&text);
        assert_eq!(
            profile.counts(),
            Counts { samples: 6, complete: 2, frames: 9, unknown: 1, deepest: 3 }
        );
        assert_eq!(profile.counts().permille(), 333);
    }

    #[test]
    fn counts_no_stack_that_the_kernel_calls_incomplete() {
        let whole = sample("lua", &["f", "main", "_start"]);
        let ended = |reason| format!("{}\n\t[stack ends: {reason}]\n\n", whole.trim_end());
        let text = [
            whole.clone(),
            ended("complete, guessed"),
            ended("bad frame in lua"),
            ended("no unwind information in lua"),
        ]
        .concat();
        let profile = profile(&text);
        assert_eq!((profile.counts().samples, profile.counts().complete), (4, 1));
        assert_eq!(profile.ends(), [(Some(("_start", "/usr/bin/lua")), 3)]);
        let typical = profile.typical_in("f").unwrap();
        assert_eq!((typical.count, typical.complete), (3, false));
    }

    #[test]
    fn shares_are_rounded_down() {
        let counts =
            |complete| Counts { samples: 3000, complete, frames: 0, unknown: 0, deepest: 0 };
        assert_eq!(counts(2999).permille(), 999);
        assert_eq!(counts(3000).permille(), 1000);
    }

    #[test]
    fn ends_by_frequency() {
        let text = samples(&[&["f", "g"], &["f", "_start"], &[], &["g"], &["h"], &["f", "g"], &[]]);
        assert_eq!(
            profile(&text).ends(),
            [(Some(("g", "/usr/bin/lua")), 3), (None, 2), (Some(("h", "/usr/bin/lua")), 1)]
        );
    }

    #[test]
    fn typical_is_the_most_frequent_complete() {
        let text = samples(&[
            &["f"],
            &["f"],
            &["f"],
            &["g", "_start"],
            &["g", "_start"],
            &["h", "main", "_start"],
        ]);
        let typical = profile(&text).typical().unwrap();
        assert_eq!(typical.shape, ["g", "_start"]);
        assert_eq!((typical.count, typical.complete), (2, true));
    }

    #[test]
    fn typical_is_of_median_depth_if_no_two_are_alike() {
        let text =
            samples(&[&["a", "b", "c", "_start"], &["f", "_start"], &["g", "main", "_start"]]);
        let typical = profile(&text).typical().unwrap();
        assert_eq!(typical.shape, ["g", "main", "_start"]);
        assert_eq!((typical.count, typical.complete), (1, true));
    }

    #[test]
    fn typical_without_a_complete_one() {
        let text = samples(&[&["f"], &["g"], &["g"], &[]]);
        let typical = profile(&text).typical().unwrap();
        assert_eq!(typical.shape, ["g"]);
        assert!(!typical.complete);

        let text = samples(&[&[]]);
        assert_eq!(profile(&text).typical(), None);
    }

    #[test]
    fn typical_in_a_function() {
        let text = samples(&[&["f", "x"], &["f"], &["f", "x"], &["g"], &["g"], &["g"]]);
        let profile = profile(&text);
        assert_eq!(profile.typical_in("f").unwrap().shape, ["f", "x"]);
        assert_eq!(profile.typical_in("nowhere").unwrap().shape, ["g"]);
    }
}
