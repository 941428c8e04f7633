//! Cutting a canonical text into its set of shingles.

use std::fmt;

use twinprint_fingerprint::{HashKey, Span, hash_features_64, hash_one};

use super::sorting::Sorter;
use crate::chars::is_letter_or_number;
use crate::script::{Measure, Script};
use crate::spaces::split;

/// Characters in a shingle where characters measure.
pub const CHAR_GRAM: usize = 5;
/// Words in a shingle where words measure.
pub const WORD_GRAM: usize = 3;

/// Bytes of text from which characters are taken at a time; what they yield stays in the first cache.
const PIECE: usize = 2048;

/// Bits that hold any character.
const CHAR_BITS: u32 = 21;

/// Makes shingle sets under one key. Keeps its buffers: one for each thread.
pub struct Shingler {
    key: HashKey,
    secrets: [u64; 2],
    words: Vec<Span>,
    hashes: Vec<u64>,
    /// Shingles of a text, repeats included.
    grams: Vec<u64>,
    sorter: Sorter,
}

impl fmt::Debug for Shingler {
    /// Tells nothing: all it holds comes from the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shingler").finish_non_exhaustive()
    }
}

impl Shingler {
    /// A shingler under `key`. Sets made under different keys have nothing in common.
    pub fn new(key: HashKey) -> Self {
        let secret = hash_one(&key, b"secrets of character grams");
        let secrets = [secret as u64, (secret >> 64) as u64];
        Self {
            key,
            secrets,
            words: Vec::new(),
            hashes: Vec::new(),
            grams: Vec::new(),
            sorter: Sorter::default(),
        }
    }

    /// The shingle set of a canonical text (shorter than 4 GiB; the rest does not count):
    /// sorted, distinct, empty just when there is no letter or number in the text. Expected linear time.
    ///
    /// By characters: every [`CHAR_GRAM`] letters and numbers in a row, marks and spaces dropped. By words: every
    /// [`WORD_GRAM`] words in a row, a word being a run of letters and numbers, or one ideograph. A text too short
    /// for one shingle is its own.
    pub fn shingle(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        let mut grams = std::mem::take(&mut self.grams);
        grams.clear();
        let end = canonical.floor_char_boundary(u32::MAX as usize);
        let text = canonical.get(..end).unwrap_or_default();
        match measure {
            Measure::CharGrams => self.char_grams(text, &mut grams),
            Measure::WordGrams => self.word_grams(text, &mut grams),
        }
        let distinct = self.sorter.sort_distinct(&mut grams);
        self.grams = grams;
        distinct
    }

    fn char_grams(&self, text: &str, out: &mut Vec<u64>) {
        let [x, y] = self.secrets;
        let gram = |&[a, b, c, d, e]: &[u32; CHAR_GRAM]| {
            let [a, b, c, d, e] = [a, b, c, d, e].map(u64::from);
            let (first, last) = (a | b << CHAR_BITS | c << (2 * CHAR_BITS), d | e << CHAR_BITS);
            fold(first ^ x, last ^ y)
        };
        // The characters that count: those of a piece, after the last few of the piece before.
        let mut chars = [0; CHAR_GRAM + PIECE];
        let mut count = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
            rest = after;
            for c in piece.chars() {
                // Written without a branch: where words end is not to be foreseen. A piece has no more characters than bytes.
                chars[count] = u32::from(c);
                count += usize::from(if c.is_ascii() { c != ' ' } else { counts(c) });
            }
            out.extend(chars[..count].array_windows().map(gram));
            let carried = count.min(CHAR_GRAM - 1);
            chars.copy_within(count - carried..count, 0);
            count = carried;
        }
        if out.is_empty() && count > 0 {
            // No character is zero, so that a short text is told from any five characters.
            chars[count..CHAR_GRAM].fill(0);
            out.extend(chars[..CHAR_GRAM].array_windows().map(gram));
        }
    }

    fn word_grams(&mut self, text: &str, out: &mut Vec<u64>) {
        self.words.clear();
        split(text, &mut self.words, mixed_words);
        hash_features_64(&self.key, text.as_bytes(), &self.words, &mut self.hashes);
        match *self.hashes.as_slice() {
            [] => {}
            [only] => out.push(only),
            [first, second] => out.push(word_gram(first, second, 0)),
            _ => out.extend(self.hashes.array_windows().map(|&[a, b, c]| word_gram(a, b, c))),
        }
    }
}

/// The hash of three words in a row. The words' own hashes are uniform and secret, so a sum is enough; the
/// rotations tell the places apart.
fn word_gram(first: u64, second: u64, third: u64) -> u64 {
    first
        .wrapping_add(second.rotate_left(21))
        .wrapping_add(third.rotate_left(42))
}

/// Words of letters and numbers up to the next space; a mark parts them, an ideograph is one by itself.
pub(crate) fn mixed_words(text: &str, at: u32, words: &mut Vec<Span>) -> usize {
    let mut start = None;
    for (here, c) in text.char_indices() {
        let ideograph = Script::of(c) == Script::Ideograph;
        let goes_on = !ideograph && counts(c);
        if let Some(from) = start.filter(|_| !goes_on) {
            words.push(Span {
                start: at + from as u32,
                end: at + here as u32,
            });
            start = None;
        }
        if c == ' ' {
            return here;
        }
        if ideograph {
            words.push(Span {
                start: at + here as u32,
                end: at + (here + c.len_utf8()) as u32,
            });
        } else if goes_on && start.is_none() {
            start = Some(here);
        }
    }
    if let Some(from) = start {
        words.push(Span {
            start: at + from as u32,
            end: at + text.len() as u32,
        });
    }
    text.len()
}

/// Whether a character of a canonical text is a letter or a number. The first mark is U+0300; the blocks named
/// hold neither marks nor anything else that is not a letter.
pub(crate) fn counts(c: char) -> bool {
    match c {
        ' ' => false,
        '\0'..='\u{2FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' => true,
        _ => is_letter_or_number(c),
    }
}

/// Multiplies to 128 bits and folds the halves together.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests;
