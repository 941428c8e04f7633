//! Where the common passages of two texts stand: greedy tiling (Wise 1993) by rolling fingerprints, longest run first at each place.

use std::ops::Range;

use twinprint_fingerprint::HashKey;

use super::{CharCounter, Units, kind, rolling};
use crate::overlap::counts;
use crate::script::Measure;

/// Words, and letters, that a run must begin with.
const SEED: [usize; 2] = [4, 8];
/// Words in the shortest passage that is found, where words measure.
pub const SHORTEST_WORDS: usize = 8;
/// Letters and numbers in the shortest passage that is found, where characters measure.
pub const SHORTEST_CHARS: usize = 16;
/// Units that may differ within a passage.
const GAP: [usize; 2] = [6, 12];
/// Places of the other text tried for one beginning.
const PLACES: usize = 8;

/// A passage of both texts, in characters of their canonical forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands in the first text.
    pub a: Range<usize>,
    /// Where it stands in the second.
    pub b: Range<usize>,
}

impl Passage {
    /// The passage from the first of its runs to the last.
    fn around(runs: &[Self]) -> Option<Self> {
        let (first, last) = (runs.first()?, runs.last()?);
        Some(Self {
            a: first.a.start..last.a.end,
            b: first.b.start..last.b.end,
        })
    }
}

/// A run of equal units, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    a: Range<usize>,
    b: Range<usize>,
}

impl Run {
    /// Whether a run follows in both texts with at most `gap` units between.
    fn is_followed_by(&self, next: &Self, gap: usize) -> bool {
        next.a.start - self.a.end <= gap && (self.b.end..=self.b.end + gap).contains(&next.b.start)
    }
}

/// Units from the first run to the last, in the text that has more.
fn length(runs: &[Run]) -> usize {
    let of = |side: fn(&Run) -> &Range<usize>| match runs {
        [] => 0,
        [first, ..] => runs.last().map_or(0, |last| side(last).end) - side(first).start,
    };
    of(|run| &run.a).max(of(|run| &run.b))
}

/// The common passages of two canonical texts in the order of the first, which do not overlap there; runs with small differences between
/// them are one. None are shorter than [`SHORTEST_WORDS`] or [`SHORTEST_CHARS`]. Expected linear for texts that repeat themselves little.
pub fn passages(a: &str, b: &str, measure: Measure) -> Vec<Passage> {
    Reference::new(b, measure).passages(a)
}

/// A canonical text that others are compared with, prepared once.
pub struct Reference<'t> {
    text: &'t str,
    measure: Measure,
    units: Units,
    /// Half of the fingerprint of each run of seed length and the unit at which it begins, sorted.
    seeds: Vec<(u32, u32)>,
}

/// The half of a fingerprint by which seeds are sorted. Runs of different units may have the same: the units decide.
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
    /// Linear in the text.
    pub fn new(text: &'t str, measure: Measure) -> Self {
        let mut units = Units::default();
        units.cut(&HashKey::PUBLIC, text, measure);
        let mut grams = Vec::new();
        rolling(&units.hashes, SEED[kind(measure)], &mut grams);
        let mut seeds: Vec<(u32, u32)> = (0u32..).zip(&grams).map(|(at, &gram)| (half(gram), at)).collect();
        drop(grams);
        seeds.sort_unstable();
        Self {
            text,
            measure,
            units,
            seeds,
        }
    }

    /// The units at which runs with a seed's fingerprint begin, the first few.
    fn places(&self, gram: u64) -> impl Iterator<Item = u32> {
        let half = half(gram);
        let first = self.seeds.partition_point(|seed| seed.0 < half);
        let seeds = self.seeds.get(first..).unwrap_or_default().iter();
        seeds
            .take_while(move |seed| seed.0 == half)
            .take(PLACES)
            .map(|seed| seed.1)
    }

    /// The passages that `text` (a) has in common with the reference (b); see [`passages()`].
    pub fn passages(&self, text: &str) -> Vec<Passage> {
        self.aligned(text)
            .iter()
            .filter_map(|passage| Passage::around(passage))
            .collect()
    }

    /// The same passages, each as the runs of equal units that it is made of.
    pub fn aligned(&self, text: &str) -> Vec<Vec<Passage>> {
        let kind = kind(self.measure);
        let mut units = Units::default();
        units.cut(&HashKey::PUBLIC, text, self.measure);
        let shortest = [SHORTEST_WORDS, SHORTEST_CHARS][kind];
        let runs = self.tile(&units.hashes, SEED[kind]);
        let is_joined = |last: &Run, run: &Run| last.is_followed_by(run, GAP[kind]);
        let joined: Vec<&[Run]> = runs
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

    /// The characters of runs, which come in the order of the text.
    fn locate(&self, text: &str, units: &Units, runs: &[Run]) -> Vec<Passage> {
        let mut chars = CharCounter::new(text);
        let mut place = |run: &Run| chars.range(bytes(units, text, &run.a));
        let of_a: Vec<Range<usize>> = runs.iter().map(&mut place).collect();
        // Runs may stand in another order in the reference.
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_unstable_by_key(|&i| (runs[i].b.start, runs[i].b.end));
        let mut of_b = vec![0..0; runs.len()];
        let mut chars = CharCounter::new(self.text);
        for i in order {
            of_b[i] = chars.range(bytes(&self.units, self.text, &runs[i].b));
        }
        let pairs = of_a.into_iter().zip(of_b);
        pairs.map(|(a, b)| Passage { a, b }).collect()
    }

    /// Runs of at least `seed` equal hashes that do not overlap in `a`.
    fn tile(&self, a: &[u64], seed: usize) -> Vec<Run> {
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
            // The first of equally long runs: texts in the same order stay in it.
            let here = self.places(*gram);
            let best = here.map(|j| (length(j), std::cmp::Reverse(j))).max();
            match best {
                Some((length, std::cmp::Reverse(j))) if length >= seed => {
                    let j = j as usize;
                    runs.push(Run {
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

/// The bytes of a run of units. The marks after the last letter belong to it.
fn bytes(units: &Units, text: &str, run: &Range<usize>) -> Range<usize> {
    let start = units.spans[run.start].start as usize;
    let end = units.spans[run.end - 1].end as usize;
    let after = text.get(end..).unwrap_or_default();
    let is_mark = |c: char| c != ' ' && !counts(c);
    start..end + (after.len() - after.trim_start_matches(is_mark).len())
}
