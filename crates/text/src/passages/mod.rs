//! What two texts have in common as passages: which runs of one stand in the other, whatever is around them.
//!
//! [`Winnower`] picks rolling fingerprints out of a text by its content alone (Schleimer, Wilkerson and Aiken 2003), so that a passage
//! that is copied into another page brings its fingerprints with it; [`passages`] finds where the common passages of two texts are.
//!
//! Both read units in a row: words where words measure (as [`overlap`](crate::overlap) has them), else letters and numbers.

mod align;
mod winnow;

pub use align::{Passage, Reference, SHORTEST_CHARS, SHORTEST_WORDS, passages};
pub use winnow::{RUN_CHARS, RUN_WORDS, Winnower, run_of};

use std::ops::Range;

use twinprint_fingerprint::{HashKey, Span, hash_features_64};

use crate::overlap::{counts, mixed_words};
use crate::script::Measure;
use crate::spaces::split;

/// The place of a measure in tables of both.
const fn kind(measure: Measure) -> usize {
    match measure {
        Measure::WordGrams => 0,
        Measure::CharGrams => 1,
    }
}

/// The units of a canonical text: where they stand and their hashes.
#[derive(Debug, Default)]
struct Units {
    spans: Vec<Span>,
    hashes: Vec<u64>,
}

impl Units {
    /// Replaces them by those of `canonical`, of which the first 4 GiB count.
    fn cut(&mut self, key: &HashKey, canonical: &str, measure: Measure) {
        let end = canonical.floor_char_boundary(u32::MAX as usize);
        let text = canonical.get(..end).unwrap_or_default();
        self.spans.clear();
        match measure {
            Measure::WordGrams => split(text, &mut self.spans, mixed_words),
            Measure::CharGrams => {
                let letters = text.char_indices().filter(|&(_, c)| counts(c));
                self.spans.extend(letters.map(|(at, c)| Span {
                    start: at as u32,
                    end: (at + c.len_utf8()) as u32,
                }));
            }
        }
        hash_features_64(key, text.as_bytes(), &self.spans, &mut self.hashes);
    }
}

/// Turns bytes of a text into characters, for ranges that come in the order of their starts. All together linear where they hardly overlap.
struct CharCounter<'t> {
    text: &'t str,
    byte: usize,
    chars: usize,
}

impl<'t> CharCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            byte: 0,
            chars: 0,
        }
    }

    fn range(&mut self, bytes: Range<usize>) -> Range<usize> {
        let count = |bytes: Range<usize>| self.text.get(bytes).unwrap_or_default().chars().count();
        self.chars += count(self.byte..bytes.start);
        self.byte = bytes.start;
        self.chars..self.chars + count(bytes)
    }
}

/// The rolling fingerprint of every `length` hashes in a row (Karp and Rabin 1987): a polynomial in an odd number, modulo 2⁶⁴, mixed so
/// that all its bits are worth comparing.
fn rolling(hashes: &[u64], length: usize, out: &mut Vec<u64>) {
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    out.clear();
    if hashes.len() < length || length == 0 {
        return;
    }
    let leading = BASE.wrapping_pow(length as u32 - 1);
    let (first, rest) = hashes.split_at(length);
    let mut sum = first
        .iter()
        .fold(0u64, |sum, &h| sum.wrapping_mul(BASE).wrapping_add(h));
    let mix = |sum: u64| (sum ^ sum >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ sum >> 29;
    out.push(mix(sum));
    for (&old, &new) in hashes.iter().zip(rest) {
        sum = sum
            .wrapping_sub(old.wrapping_mul(leading))
            .wrapping_mul(BASE)
            .wrapping_add(new);
        out.push(mix(sum));
    }
}

#[cfg(test)]
mod tests;
