//! Winnowing: of every few rolling fingerprints in a row the least is kept, so that each common run of [`RUN_WORDS`] or [`RUN_CHARS`] units
//! leaves at least one common fingerprint, and which are kept depends on the run alone.

use std::ops::Range;

use twinprint_fingerprint::HashKey;

use super::{CharCounter, Units, kind, rolling};
use crate::script::Measure;

/// Words, and letters, in one rolling fingerprint.
const GRAM: [usize; 2] = [8, 16];
/// Rolling fingerprints of which the least is kept.
const WINDOW: [usize; 2] = [12, 24];

/// Every common run of this many words has a common fingerprint.
pub const RUN_WORDS: usize = run_of(Measure::WordGrams, 1);
/// Every common run of this many letters and numbers has a common fingerprint, where characters measure.
pub const RUN_CHARS: usize = run_of(Measure::CharGrams, 1);

/// Units in the shortest run that has this many common fingerprints wherever it stands, if it does not repeat itself.
pub const fn run_of(measure: Measure, fingerprints: usize) -> usize {
    let kind = kind(measure);
    GRAM[kind] + fingerprints * WINDOW[kind] - 1
}

/// Picks the fingerprints of one text after another. Keeps its buffers: one for each thread.
pub struct Winnower {
    key: HashKey,
    units: Units,
    grams: Vec<u64>,
}

impl std::fmt::Debug for Winnower {
    /// Tells nothing: all it holds comes from the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Winnower").finish_non_exhaustive()
    }
}

impl Winnower {
    /// A winnower under `key`. Fingerprints made under different keys have nothing in common.
    pub fn new(key: HashKey) -> Self {
        Self {
            key,
            units: Units::default(),
            grams: Vec::new(),
        }
    }

    /// The fingerprints of a canonical text, sorted and distinct: about one in six of its words, one in twelve of its letters.
    /// Empty where the text is shorter than one fingerprint. Expected O(n log n).
    pub fn fingerprints(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        let mut picked = self.pick(canonical, measure);
        for at in &mut picked {
            *at = self.grams[*at as usize];
        }
        picked.sort_unstable();
        picked.dedup();
        picked
    }

    /// The same fingerprints in the order of the text, repeats included, each with its place in characters.
    pub fn placed(&mut self, canonical: &str, measure: Measure) -> Vec<(u64, Range<usize>)> {
        let picked = self.pick(canonical, measure);
        let length = GRAM[kind(measure)];
        let mut chars = CharCounter::new(canonical);
        let placed = picked.into_iter().map(|at| {
            let at = at as usize;
            let (first, last) = (self.units.spans[at], self.units.spans[at + length - 1]);
            let place = chars.range(first.start as usize..last.end as usize);
            (self.grams[at], place)
        });
        placed.collect()
    }

    /// The numbers of the units at which the fingerprints of a text begin, ascending; their values stay in `grams`.
    fn pick(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        let kind = kind(measure);
        self.units.cut(&self.key, canonical, measure);
        rolling(&self.units.hashes, GRAM[kind], &mut self.grams);
        pick(&self.grams, WINDOW[kind])
    }
}

/// The places of the least of every `window` values in a row, the last of equals; once where neighbours agree.
pub(super) fn pick(values: &[u64], window: usize) -> Vec<u64> {
    let mut picked = Vec::new();
    let mut least: Option<usize> = None;
    for end in window.min(values.len()).max(1)..=values.len() {
        let start = end.saturating_sub(window);
        let newest = end - 1;
        let next = match least {
            Some(at) if at >= start => {
                if values[newest] <= values[at] {
                    newest
                } else {
                    at
                }
            }
            _ => (start..end).fold(start, |best, i| if values[i] <= values[best] { i } else { best }),
        };
        if least != Some(next) {
            picked.push(next as u64);
            least = Some(next);
        }
    }
    picked
}
