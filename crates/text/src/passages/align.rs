//! Positions of the common passages of two texts: greedy tiling (Wise 1993) by rolling fingerprints, with the longest run at each
//! position.

use std::cmp::Reverse;
use std::ops::Range;

use twinprint_fingerprint::HashKey;

use super::{CharCounter, Units, index, rolling};
use crate::overlap::is_letter_or_number;
use crate::script::Measure;

/// Units in the shortest run, by measure: words, and letters or numbers.
const SEED_UNITS: [usize; 2] = [4, 8];
/// Words of the shortest passage that is found, for texts measured by words.
pub const MIN_PASSAGE_WORDS: usize = 8;
/// Letters and numbers of the shortest passage that is found, for texts measured by characters.
pub const MIN_PASSAGE_CHARS: usize = 16;
/// Largest number of units between two runs of a passage, by measure.
const MAX_GAP_UNITS: [usize; 2] = [6, 12];
/// Largest number of positions in the reference that are tried for one position of a text.
const MAX_POSITIONS: usize = 8;

/// A passage of both texts, in characters of their canonical forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its position in the first text.
    pub a: Range<usize>,
    /// Its position in the second text.
    pub b: Range<usize>,
}

impl Passage {
    /// The passage from the first run to the last.
    fn spanning(runs: &[Self]) -> Option<Self> {
        let (first, last) = (runs.first()?, runs.last()?);
        Some(Self {
            a: first.a.start..last.a.end,
            b: first.b.start..last.b.end,
        })
    }
}

/// A run of equal units of both texts, by the indices of the units.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EqualRun {
    a: Range<usize>,
    b: Range<usize>,
}

impl EqualRun {
    /// Returns `true` if `next` follows in both texts after at most `gap` units.
    fn is_followed_by(&self, next: &Self, gap: usize) -> bool {
        next.a.start - self.a.end <= gap && (self.b.end..=self.b.end + gap).contains(&next.b.start)
    }
}

/// The number of units from the first run to the last, in the text that has more.
fn length(runs: &[EqualRun]) -> usize {
    let units = |side: fn(&EqualRun) -> &Range<usize>| match runs {
        [] => 0,
        [first, ..] => runs.last().map_or(0, |last| side(last).end) - side(first).start,
    };
    units(|run| &run.a).max(units(|run| &run.b))
}

/// The common passages of two canonical texts, in the order of the first text, in which they do not overlap. Runs with small differences
/// between them form one passage. No passage is shorter than [`MIN_PASSAGE_WORDS`] or [`MIN_PASSAGE_CHARS`]. Expected linear for texts with few
/// repetitions.
pub fn passages(a: &str, b: &str, measure: Measure) -> Vec<Passage> {
    Reference::new(b, measure).passages(a)
}

/// A canonical text that is prepared once for comparisons with other texts.
pub struct Reference<'t> {
    text: &'t str,
    measure: Measure,
    units: Units,
    /// One for each run of [`SEED_UNITS`], sorted.
    seeds: Vec<Seed>,
}

/// A run of the reference by which longer runs are found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seed {
    /// The upper half of its fingerprint.
    half: u32,
    /// Index of the unit at which it begins.
    unit: u32,
}

/// The half of a fingerprint by which seeds are sorted. Different runs may have the same half, so their units are compared.
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
    /// Prepares a text. O(n log n) in its length.
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

    /// The first few units at which runs with the fingerprint `gram` begin.
    fn positions(&self, gram: u64) -> impl Iterator<Item = u32> {
        let half = half(gram);
        let first = self.seeds.partition_point(|seed| seed.half < half);
        let seeds = self.seeds.get(first..).unwrap_or_default().iter();
        seeds
            .take_while(move |seed| seed.half == half)
            .take(MAX_POSITIONS)
            .map(|seed| seed.unit)
    }

    /// The common passages of `text` (`a`) and the reference (`b`); see [`passages()`].
    pub fn passages(&self, text: &str) -> Vec<Passage> {
        self.aligned(text)
            .iter()
            .filter_map(|passage| Passage::spanning(passage))
            .collect()
    }

    /// The passages of [`passages`](Self::passages), each as the list of its runs of equal units.
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

    /// The positions of runs in characters. The runs come in the order of `text`.
    fn locate(&self, text: &str, units: &Units, runs: &[EqualRun]) -> Vec<Passage> {
        let mut chars = CharCounter::new(text);
        let mut range = |run: &EqualRun| chars.range(bytes(units, text, &run.a));
        let ranges_a: Vec<Range<usize>> = runs.iter().map(&mut range).collect();
        // Runs may be in another order in the reference.
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

    /// The runs of at least `seed` equal hashes, which do not overlap in `a`.
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
            // Of equally long runs the first one is taken, so that texts in the same order are aligned in order.
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

/// The bytes of a run of units, with the marks after its last letter.
fn bytes(units: &Units, text: &str, run: &Range<usize>) -> Range<usize> {
    let start = units.spans[run.start].start as usize;
    let end = units.spans[run.end - 1].end as usize;
    let after = text.get(end..).unwrap_or_default();
    let is_mark = |c: char| c != ' ' && !is_letter_or_number(c);
    start..end + (after.len() - after.trim_start_matches(is_mark).len())
}
