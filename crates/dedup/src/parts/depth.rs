//! Counts, for each character of a reference, the texts that share it in a passage.

use std::collections::BTreeMap;
use std::ops::Range;

/// For each character of a reference, the number of texts that share it in a passage. Memory grows with the number of
/// distinct positions at which shared passages begin or end.
#[derive(Debug, Default)]
pub(super) struct Depth {
    /// The positions at which the number of texts changes, each with the difference to the number before it.
    changes: BTreeMap<u64, i64>,
}

impl Depth {
    /// Counts one more text, which shares the ranges `places` of the reference. A character in several of the ranges
    /// counts once.
    pub(super) fn add(&mut self, places: impl Iterator<Item = Range<u64>>) {
        for place in merged(places.collect()) {
            *self.changes.entry(place.start).or_default() += 1;
            *self.changes.entry(place.end).or_default() -= 1;
        }
    }

    /// The ranges of the reference in which at least `least` texts share every character, ascending.
    pub(super) fn ranges(&self, least: usize) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let (mut depth, mut start) = (0, None);
        for (&at, &change) in &self.changes {
            depth += change;
            if depth >= least as i64 {
                start = start.or(Some(at));
            } else if let Some(start) = start.take() {
                ranges.push(start..at);
            }
        }
        ranges
    }
}

/// Merges ranges that overlap, and returns all ranges ascending.
pub(super) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_equal_those_of_counting_every_character(
            texts in prop::collection::vec(prop::collection::vec((0u64..40, 1u64..20), 0..4), 0..12),
            least in 1usize..6,
        ) {
            let mut depth = Depth::default();
            let mut counts = [0usize; 60];
            for places in &texts {
                let places: Vec<Range<u64>> = places.iter().map(|&(start, length)| start..start + length).collect();
                for (at, count) in (0u64..).zip(&mut counts) {
                    *count += usize::from(places.iter().any(|place| place.contains(&at)));
                }
                depth.add(places.into_iter());
            }
            let ranges = depth.ranges(least);
            for (at, &count) in (0u64..).zip(&counts) {
                prop_assert_eq!(ranges.iter().any(|range| range.contains(&at)), count >= least);
            }
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
