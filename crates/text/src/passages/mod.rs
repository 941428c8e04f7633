//! Common passages of two texts: runs of one text that occur in the other, whatever surrounds them.
//!
//! [`Winnower`] selects rolling fingerprints of a text by the text alone (Schleimer, Wilkerson and Aiken 2003), so a
//! passage that is copied into another page has the same fingerprints there. [`passages()`] finds the positions of the
//! common passages of two texts.
//!
//! Both work on units of a text. Units are words, as in [`overlap`](crate::overlap), if the texts are measured by
//! words; otherwise they are letters and numbers.
//!
//! ```
//! use twinprint_text::Measure;
//! use twinprint_text::passages::passages;
//!
//! let a = "good morning it was the best of times it was the worst of times good night";
//! let b = "dickens wrote it was the best of times it was the worst of times in 1859";
//! let found = passages(a, b, Measure::WordGrams);
//! assert_eq!(&a[found[0].a.clone()], "it was the best of times it was the worst of times");
//! ```

mod align;
mod winnow;

pub use align::{MIN_PASSAGE_CHARS, MIN_PASSAGE_WORDS, Passage, Reference, passages};
pub use winnow::{GUARANTEED_CHARS, GUARANTEED_WORDS, PlacedFingerprint, Winnower, guaranteed_run};

use std::ops::Range;

use twinprint_fingerprint::{HashKey, Span, hash_features_64};

use crate::overlap::{is_letter_or_number, mixed_word};
use crate::script::Measure;
use crate::spaces::Splitter;

/// The index of a measure in a table that has one element for each measure.
const fn index(measure: Measure) -> usize {
    match measure {
        Measure::WordGrams => 0,
        Measure::CharGrams => 1,
    }
}

/// The units of a canonical text: their byte ranges and their hashes.
#[derive(Debug, Default)]
struct Units {
    splitter: Splitter,
    spans: Vec<Span>,
    hashes: Vec<u64>,
}

impl Units {
    /// Cuts `canonical` into units and replaces the content of this value by them. Only the first 4 GiB of the text are
    /// used.
    fn cut(&mut self, key: &HashKey, canonical: &str, measure: Measure) {
        let end = canonical.floor_char_boundary(u32::MAX as usize);
        let text = canonical.get(..end).unwrap_or_default();
        self.spans.clear();
        match measure {
            Measure::WordGrams => self
                .splitter
                .split(text, &mut self.spans, |word, _, offset, words| {
                    mixed_word(word, offset, words);
                }),
            Measure::CharGrams => {
                let letters = text.char_indices().filter(|&(_, c)| is_letter_or_number(c));
                self.spans.extend(letters.map(|(offset, c)| Span {
                    start: offset as u32,
                    end: (offset + c.len_utf8()) as u32,
                }));
            }
        }
        hash_features_64(key, text.as_bytes(), &self.spans, &mut self.hashes);
    }
}

/// Converts byte ranges of a text into character ranges. Ranges must come in the order of their starts. All conversions
/// together take time linear in the text if the ranges hardly overlap.
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

/// Replaces the content of `out` by the rolling fingerprints of every `length` consecutive hashes (Karp and Rabin
/// 1987). A rolling fingerprint is a polynomial in an odd number, modulo 2⁶⁴, mixed so that all its bits depend on all
/// hashes.
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
