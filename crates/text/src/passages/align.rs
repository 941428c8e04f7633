//! Finds the positions of the common passages of two texts: greedy tiling (Wise 1993). Rolling fingerprints find where
//! runs of equal units begin, and the longest run at each position is used.

use std::cmp::Reverse;
use std::ops::Range;

use twinprint_fingerprint::HashKey;

use super::{CharCounter, Units, index, rolling};
use crate::overlap::is_letter_or_number;
use crate::script::Measure;

/// The minimum length of a run of equal units, for each measure: in words, and in letters or numbers.
const SEED_UNITS: [usize; 2] = [4, 8];
/// The minimum length of a passage in words, for texts measured by words.
pub const MIN_PASSAGE_WORDS: usize = 8;
/// The minimum length of a passage in letters and numbers, for texts measured by characters.
pub const MIN_PASSAGE_CHARS: usize = 16;
/// The maximum number of differing units between two runs of one passage, for each measure.
const MAX_GAP_UNITS: [usize; 2] = [6, 12];
/// For each position in a text, at most this number of positions in the reference text are tried.
const MAX_POSITIONS: usize = 8;

/// A passage that two texts have in common. Its positions are in characters of the canonical texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Range of the passage in the first text, in characters.
    pub a: Range<usize>,
    /// Range of the passage in the second text, in characters.
    pub b: Range<usize>,
}

impl Passage {
    /// The passage from the start of the first run to the end of the last; `None` without runs.
    fn spanning(runs: &[Self]) -> Option<Self> {
        let (first, last) = (runs.first()?, runs.last()?);
        Some(Self {
            a: first.a.start..last.a.end,
            b: first.b.start..last.b.end,
        })
    }
}

/// A run of equal units in two texts, as ranges of unit indices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EqualRun {
    a: Range<usize>,
    b: Range<usize>,
}

impl EqualRun {
    /// Returns `true` if, in both texts, `next` begins after this run and at most `gap` units lie between the two.
    fn is_followed_by(&self, next: &Self, gap: usize) -> bool {
        next.a.start - self.a.end <= gap && (self.b.end..=self.b.end + gap).contains(&next.b.start)
    }
}

/// The number of units from the start of the first run to the end of the last: the larger of the numbers in both texts.
fn length(runs: &[EqualRun]) -> usize {
    let units = |side: fn(&EqualRun) -> &Range<usize>| match runs {
        [] => 0,
        [first, ..] => runs.last().map_or(0, |last| side(last).end) - side(first).start,
    };
    units(|run| &run.a).max(units(|run| &run.b))
}

/// Finds the common passages of two canonical texts, in the order of the first text. They do not overlap in the first
/// text. Runs of equal units with small differences between them form one passage. A passage has at least
/// [`MIN_PASSAGE_WORDS`] words, or [`MIN_PASSAGE_CHARS`] letters and numbers. Expected linear time for texts with few
/// repetitions.
pub fn passages(a: &str, b: &str, measure: Measure) -> Vec<Passage> {
    Reference::new(b, measure).passages(a)
}

/// A canonical text that is prepared once and then compared with many texts.
pub struct Reference<'t> {
    text: &'t str,
    measure: Measure,
    units: Units,
    /// One seed for each run of [`SEED_UNITS`] units, sorted.
    seeds: Vec<Seed>,
}

/// A short run of units in the reference text. Equal runs are searched from seeds and then extended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seed {
    /// The upper half of the rolling fingerprint of the run.
    half: u32,
    /// Index of the unit at which the run begins.
    unit: u32,
}

/// The half of a rolling fingerprint by which seeds are sorted. Different runs may have the same half, so the units of
/// a found run must be compared.
fn half(gram: u64) -> u32 {
    (gram >> 32) as u32
}

impl std::fmt::Debug for Reference<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reference")
            .field("measure", &self.measure)
            .finish_non_exhaustive()
    }
}

impl<'t> Reference<'t> {
    /// Prepares a canonical text for comparisons. O(n log n) in its length.
    pub fn new(text: &'t str, measure: Measure) -> Self {
        let mut units = Units::default();
        units.cut(&HashKey::PUBLIC, text, measure);
        let mut grams = Vec::new();
        rolling(&units.hashes, SEED_UNITS[index(measure)], &mut grams);
        let seed = |(unit, &gram): (u32, &u64)| Seed {
            half: half(gram),
            unit,
        };
        let mut seeds: Vec<Seed> = (0u32..).zip(&grams).map(seed).collect();
        drop(grams);
        seeds.sort_unstable();
        Self {
            text,
            measure,
            units,
            seeds,
        }
    }

    /// The indices of the units at which runs with the rolling fingerprint `gram` begin in the reference; at most
    /// [`MAX_POSITIONS`].
    fn positions(&self, gram: u64) -> impl Iterator<Item = u32> {
        let half = half(gram);
        let first = self.seeds.partition_point(|seed| seed.half < half);
        let seeds = self.seeds.get(first..).unwrap_or_default().iter();
        seeds
            .take_while(move |seed| seed.half == half)
            .take(MAX_POSITIONS)
            .map(|seed| seed.unit)
    }

    /// Finds the common passages of `text` and the reference. In the result, `a` are ranges of `text` and `b` ranges of
    /// the reference; see [`passages()`].
    pub fn passages(&self, text: &str) -> Vec<Passage> {
        self.aligned(text)
            .iter()
            .filter_map(|passage| Passage::spanning(passage))
            .collect()
    }

    /// Finds the same passages as [`passages`](Self::passages), each as the list of its runs of equal units.
    pub fn aligned(&self, text: &str) -> Vec<Vec<Passage>> {
        let index = index(self.measure);
        let mut units = Units::default();
        units.cut(&HashKey::PUBLIC, text, self.measure);
        let shortest = [MIN_PASSAGE_WORDS, MIN_PASSAGE_CHARS][index];
        let runs = self.tile(&units.hashes, SEED_UNITS[index]);
        let is_joined = |last: &EqualRun, run: &EqualRun| last.is_followed_by(run, MAX_GAP_UNITS[index]);
        let joined: Vec<&[EqualRun]> = runs
            .chunk_by(is_joined)
            .filter(|runs| length(runs) >= shortest)
            .collect();
        let lengths: Vec<usize> = joined.iter().map(|runs| runs.len()).collect();
        let mut located = self.locate(text, &units, &joined.concat()).into_iter();
        let passages = lengths.into_iter();
        passages
            .map(|length| located.by_ref().take(length).collect())
            .collect()
    }

    /// Converts runs of units into ranges of characters. The runs are in the order of `text`.
    fn locate(&self, text: &str, units: &Units, runs: &[EqualRun]) -> Vec<Passage> {
        let mut chars = CharCounter::new(text);
        let mut range = |run: &EqualRun| chars.range(bytes(units, text, &run.a));
        let ranges_a: Vec<Range<usize>> = runs.iter().map(&mut range).collect();
        // In the reference the runs may be in another order, so they are sorted before the conversion.
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_unstable_by_key(|&i| (runs[i].b.start, runs[i].b.end));
        let mut ranges_b = vec![0..0; runs.len()];
        let mut chars = CharCounter::new(self.text);
        for i in order {
            ranges_b[i] = chars.range(bytes(&self.units, self.text, &runs[i].b));
        }
        let pairs = ranges_a.into_iter().zip(ranges_b);
        pairs.map(|(a, b)| Passage { a, b }).collect()
    }

    /// Finds runs of at least `seed` units with equal hashes. The runs do not overlap in `a`.
    fn tile(&self, a: &[u64], seed: usize) -> Vec<EqualRun> {
        let b = &self.units.hashes;
        let mut grams = Vec::new();
        rolling(a, seed, &mut grams);
        let mut runs = Vec::new();
        let mut i = 0;
        while let Some(gram) = grams.get(i) {
            let length = |j: u32| {
                let equal = |(x, y): &(&u64, &u64)| x == y;
                a[i..].iter().zip(&b[j as usize..]).take_while(equal).count()
            };
            // If several runs have the same length, the first is taken, so that texts in the same order are aligned in
            // order.
            let positions = self.positions(*gram);
            let best = positions.map(|j| (length(j), Reverse(j))).max();
            match best {
                Some((length, Reverse(j))) if length >= seed => {
                    let j = j as usize;
                    runs.push(EqualRun {
                        a: i..i + length,
                        b: j..j + length,
                    });
                    i += length;
                }
                _ => i += 1,
            }
        }
        runs
    }
}

/// The byte range of a run of units, including the marks after its last letter.
fn bytes(units: &Units, text: &str, run: &Range<usize>) -> Range<usize> {
    let start = units.spans[run.start].start as usize;
    let end = units.spans[run.end - 1].end as usize;
    let after = text.get(end..).unwrap_or_default();
    let is_mark = |c: char| c != ' ' && !is_letter_or_number(c);
    start..end + (after.len() - after.trim_start_matches(is_mark).len())
}
