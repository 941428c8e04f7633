//! Winnowing: in every window of consecutive rolling fingerprints, the smallest is selected. The selection depends on
//! the text of the window alone, so two texts with a common run of [`GUARANTEED_WORDS`] or [`GUARANTEED_CHARS`] units
//! have at least one common selected fingerprint.

use std::ops::Range;

use twinprint_fingerprint::HashKey;

use super::{CharCounter, Units, index, rolling};
use crate::script::Measure;

/// Number of units that one rolling fingerprint covers, for each measure: words, and letters or numbers.
const GRAM_UNITS: [usize; 2] = [8, 16];
/// Number of consecutive rolling fingerprints from which the smallest is selected, for each measure.
const WINDOW: [usize; 2] = [12, 24];

/// If two texts measured by words have a common run of this number of words, at least one selected fingerprint is
/// common.
pub const GUARANTEED_WORDS: usize = guaranteed_run(Measure::WordGrams, 1);
/// If two texts measured by characters have a common run of this number of letters and numbers, at least one selected
/// fingerprint is common.
pub const GUARANTEED_CHARS: usize = guaranteed_run(Measure::CharGrams, 1);

/// The length in units of the shortest common run that guarantees the given number of common selected fingerprints. The
/// guarantee does not hold for a run with repetitions.
pub const fn guaranteed_run(measure: Measure, fingerprints: usize) -> usize {
    let index = index(measure);
    GRAM_UNITS[index] + fingerprints * WINDOW[index] - 1
}

/// A selected rolling fingerprint and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFingerprint {
    /// The rolling fingerprint.
    pub fingerprint: u64,
    /// The range of the canonical text that the fingerprint covers, in characters.
    pub chars: Range<usize>,
}

/// Selects the winnowed fingerprints of one text after another. Reuses its buffers; use one for each thread.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::Measure;
/// use twinprint_text::passages::{GUARANTEED_WORDS, Winnower};
///
/// let copied: String = (0..GUARANTEED_WORDS).map(|i| format!("word{i} ")).collect();
/// let mut winnower = Winnower::new(HashKey::PUBLIC);
/// let a = winnower.fingerprints(&format!("{copied}and the end"), Measure::WordGrams);
/// let b = winnower.fingerprints(&format!("a new beginning {copied}"), Measure::WordGrams);
/// assert!(a.iter().any(|fingerprint| b.contains(fingerprint)));
/// ```
pub struct Winnower {
    key: HashKey,
    units: Units,
    grams: Vec<u64>,
}

impl std::fmt::Debug for Winnower {
    /// Prints no field: they all depend on the secret key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Winnower").finish_non_exhaustive()
    }
}

impl Winnower {
    /// Creates a winnower for `key`. Fingerprints that were made under different keys cannot be compared.
    pub fn new(key: HashKey) -> Self {
        Self {
            key,
            units: Units::default(),
            grams: Vec::new(),
        }
    }

    /// Selects the fingerprints of a canonical text and returns them sorted and distinct: about one for six words, or
    /// one for twelve letters. Empty if the text is shorter than one rolling fingerprint. Expected O(n log n).
    pub fn fingerprints(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        let mut picked = self.pick(canonical, measure);
        for position in &mut picked {
            *position = self.grams[*position as usize];
        }
        picked.sort_unstable();
        picked.dedup();
        picked
    }

    /// Selects the same fingerprints as [`fingerprints`](Self::fingerprints), but returns them in text order, with
    /// repeats, each with its position.
    pub fn placed(&mut self, canonical: &str, measure: Measure) -> Vec<PlacedFingerprint> {
        let picked = self.pick(canonical, measure);
        let length = GRAM_UNITS[index(measure)];
        let mut chars = CharCounter::new(canonical);
        let placed = picked.into_iter().map(|position| {
            let position = position as usize;
            let (first, last) = (
                self.units.spans[position],
                self.units.spans[position + length - 1],
            );
            PlacedFingerprint {
                fingerprint: self.grams[position],
                chars: chars.range(first.start as usize..last.end as usize),
            }
        });
        placed.collect()
    }

    /// The indices of the units at which the selected fingerprints of a text begin, ascending. The rolling fingerprints
    /// themselves are stored in `grams`.
    fn pick(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        let index = index(measure);
        self.units.cut(&self.key, canonical, measure);
        rolling(&self.units.hashes, GRAM_UNITS[index], &mut self.grams);
        pick(&self.grams, WINDOW[index])
    }
}

/// The indices of the smallest value of every `window` consecutive values, each index once. Of equal values the last is
/// used.
pub(super) fn pick(values: &[u64], window: usize) -> Vec<u64> {
    let mut picked = Vec::new();
    let mut least: Option<usize> = None;
    for end in window.min(values.len()).max(1)..=values.len() {
        let start = end.saturating_sub(window);
        let newest = end - 1;
        let next = match least {
            Some(position) if position >= start => {
                if values[newest] <= values[position] {
                    newest
                } else {
                    position
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
