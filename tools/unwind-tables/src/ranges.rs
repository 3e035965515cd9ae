// SPDX-License-Identifier: GPL-2.0

//! Sets of addresses.

/// A range of addresses: first, and behind the last.
pub type Range = (u64, u64);

/// A set of addresses, as sorted ranges that do not touch.
#[derive(Default)]
pub struct Ranges {
    ranges: Vec<Range>,
    /// How many addresses there are in all ranges before each.
    before: Vec<u64>,
}

impl Ranges {
    pub fn new(mut all: Vec<Range>) -> Self {
        let mut ranges: Vec<Range> = Vec::new();

        all.retain(|(start, end)| start < end);
        all.sort_unstable();
        for (start, end) in all {
            match ranges.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => ranges.push((start, end)),
            }
        }

        let before = ranges
            .iter()
            .scan(0, |sum, (start, end)| {
                let before = *sum;
                *sum += end - start;
                Some(before)
            })
            .collect();
        Self { ranges, before }
    }

    /// How many of the addresses are below `limit`.
    fn below(&self, limit: u64) -> u64 {
        let count = self.ranges.partition_point(|(start, _)| *start < limit);
        let Some(last) = count.checked_sub(1) else {
            return 0;
        };
        let (start, end) = self.ranges[last];

        self.before[last] + end.min(limit) - start
    }

    /// How many of the addresses are in `range`.
    pub fn count_in(&self, (start, end): Range) -> u64 {
        self.below(end).saturating_sub(self.below(start))
    }

    /// Where the range ends that an address is in.
    pub fn end_at(&self, address: u64) -> Option<u64> {
        let count = self.ranges.partition_point(|(start, _)| *start <= address);
        let (_, end) = *self.ranges.get(count.checked_sub(1)?)?;

        (address < end).then_some(end)
    }

    /// The parts of a range that are not in the set.
    pub fn gaps_in(&self, (start, end): Range) -> impl Iterator<Item = Range> {
        let first = self.ranges.partition_point(|(_, until)| *until <= start);
        let last = (end, end);
        let inside = self.ranges[first..].iter().copied();
        let mut from = start;

        inside
            .take_while(move |(start, _)| *start < end)
            .chain([last])
            .map(move |(start, until)| {
                let gap = (from, start.max(from));
                from = until;
                gap
            })
            .filter(|(start, end)| start < end)
    }

    /// Whether all of a range that is not empty is in the set, or where an empty one stands.
    pub fn holds(&self, (start, end): Range) -> bool {
        let count = self.ranges.partition_point(|(first, _)| *first <= start);

        count
            .checked_sub(1)
            .is_some_and(|last| end <= self.ranges[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_counted() {
        let set = Ranges::new(vec![(30, 40), (10, 20), (15, 25), (25, 26), (50, 50)]);

        assert_eq!(set.ranges, [(10, 26), (30, 40)]);
        assert_eq!(set.count_in((0, 100)), 26);
        assert_eq!(set.count_in((20, 31)), 7);
        assert_eq!(set.count_in((26, 30)), 0);
        assert_eq!(
            [9, 10, 25, 26].map(|at| set.end_at(at)),
            [None, Some(26), Some(26), None]
        );
        assert!(set.holds((10, 26)) && set.holds((26, 26)) && set.holds((31, 32)));
        let gaps = |range| set.gaps_in(range).collect::<Vec<_>>();
        assert_eq!(gaps((5, 50)), [(5, 10), (26, 30), (40, 50)]);
        assert_eq!(gaps((12, 28)), [(26, 28)]);
        assert_eq!(gaps((31, 39)), []);
        assert_eq!(gaps((40, 41)), [(40, 41)]);
        assert!(!set.holds((10, 27)) && !set.holds((9, 11)) && !set.holds((27, 27)));
    }

    #[test]
    fn the_whole_address_space_is_no_overflow() {
        let set = Ranges::new(vec![(0, u64::MAX), (5, u64::MAX)]);

        assert_eq!(set.count_in((0, u64::MAX)), u64::MAX);
        assert!(set.holds((0, u64::MAX)));
        assert!(!Ranges::default().holds((0, 0)));
    }
}
