//! The keywords of cppjieba (<https://github.com/yanyiwu/cppjieba>), which gosimhash and jiebaR take for features.
//!
//! A text is cut as its `MixSegment` does, into the likeliest words of a dictionary, and what stands alone between them again by a hidden
//! Markov model. Words of more than one character that are no stop words weigh their count times their inverse document frequency, or the mean
//! of all where the table has none; the heaviest are the keywords. Among equally heavy ones cppjieba's own order depends on the C++ library; here
//! it is that of their bytes.
//!
//! The dictionaries are cppjieba's own files, read from a directory: other dictionaries, other fingerprints.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

mod hmm;
mod read;
mod segmenter;

use hmm::Hmm;
pub use read::DictionaryError;
use rustc_hash::FxHashMap;
use segmenter::Buffers;
use twinprint_fingerprint::{HashKey, Span, hash_features_64, hash_one};

use crate::segment::dictionary::{Dictionary, Rules};
use crate::tally::Tally;

/// What cppjieba reads: words with frequencies, the hidden Markov model, inverse document frequencies and stop words.
pub struct Dictionaries {
    words: Dictionary,
    hmm: Hmm,
    idf: Idf,
}

/// Inverse document frequencies, and the words that are left out. Words go by 64 bits of a hash under a key drawn when the table is made: two of one hash
/// would weigh the same, once in 10⁷ tables of a million words, and nobody can choose such.
struct Idf {
    key: HashKey,
    /// Nothing for a stop word.
    weights: FxHashMap<u64, Option<f64>>,
    /// Of words that the table does not have.
    mean: f64,
}

impl Idf {
    /// Of words with their frequencies, the mean of all lines, and stop words.
    fn new<'t>(
        words: impl IntoIterator<Item = (&'t str, f64)>,
        mean: f64,
        stop_words: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let random = RandomState::new();
        let key = HashKey::new(random.hash_one(0), random.hash_one(1));
        let name = |word: &str| hash_one(&key, word.as_bytes()) as u64;
        let words = words.into_iter().map(|(word, idf)| (name(word), Some(idf)));
        let mut weights: FxHashMap<u64, Option<f64>> = words.collect();
        weights.extend(stop_words.into_iter().map(|word| (name(word), None)));
        Self { key, weights, mean }
    }

    /// Of a word of this hash; nothing for a stop word.
    fn of(&self, word: u64) -> Option<f64> {
        self.weights.get(&word).copied().unwrap_or(Some(self.mean))
    }
}

impl fmt::Debug for Dictionaries {
    /// Leaves out what would be millions of words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionaries")
            .field("mean_idf", &self.idf.mean)
            .finish_non_exhaustive()
    }
}

/// A keyword and what it weighs: its count times its inverse document frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyword<'a> {
    /// As it stands in the text.
    pub word: &'a str,
    /// More than 0, but for tables with other numbers.
    pub weight: f64,
}

/// How cppjieba's search for the likeliest words differs.
struct Cppjieba;

impl Rules for Cppjieba {
    const PREFERS_LONGER_ON_TIE: bool = false;
    const ALLOWS_LONE_PREFIX: bool = true;

    fn is_barrier(_: char) -> bool {
        false
    }
}

/// Cuts texts and finds their keywords; keeps its buffers.
#[derive(Debug)]
pub(super) struct Extractor {
    buffers: Buffers,
    words: Vec<Span>,
    hashes: Vec<u64>,
    tally: Tally<u64>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self {
            buffers: Buffers::default(),
            words: Vec::new(),
            hashes: Vec::new(),
            tally: Tally::new(),
        }
    }
}

impl Extractor {
    /// The words of a text, which in a row are the text.
    #[cfg(test)]
    fn words<'a>(&mut self, dictionaries: &Dictionaries, text: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        let each = |word: std::ops::Range<usize>, _| words.push(text.get(word).unwrap_or_default());
        segmenter::cut(dictionaries, text, &mut self.buffers, each);
        words
    }

    /// The `most` heaviest words, the heaviest first, of a text shorter than 4 GiB; the rest does not count. Linear in the text.
    pub(super) fn keywords<'a>(
        &mut self,
        dictionaries: &Dictionaries,
        text: &'a str,
        most: usize,
    ) -> Vec<Keyword<'a>> {
        let Self {
            buffers,
            words,
            hashes,
            tally,
        } = self;
        words.clear();
        let end = text.floor_char_boundary(u32::MAX as usize);
        let text = text.get(..end).unwrap_or_default();
        segmenter::cut(dictionaries, text, buffers, |word, characters| {
            if characters > 1 {
                words.push(Span {
                    start: word.start as u32,
                    end: word.end as u32,
                });
            }
        });
        let idf = &dictionaries.idf;
        hash_features_64(&idf.key, text.as_bytes(), words, hashes);
        tally.start(hashes.len());
        tally.add(hashes);
        let distinct = tally.hashes().iter().zip(tally.counts());
        let mut keywords: Vec<Keyword> = distinct
            .filter_map(|(&hash, count)| {
                let place = words.get(count.first as usize)?;
                Some(Keyword {
                    word: text.get(place.start as usize..place.end as usize)?,
                    weight: f64::from(count.tf) * idf.of(hash)?,
                })
            })
            .collect();
        let order = |a: &Keyword, b: &Keyword| b.weight.total_cmp(&a.weight).then_with(|| a.word.cmp(b.word));
        if most < keywords.len() {
            keywords.select_nth_unstable_by(most, order);
            keywords.truncate(most);
        }
        keywords.sort_unstable_by(order);
        keywords
    }
}

#[cfg(test)]
mod tests;
