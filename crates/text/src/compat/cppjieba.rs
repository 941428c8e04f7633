//! The keywords of cppjieba (<https://github.com/yanyiwu/cppjieba>), which gosimhash and jiebaR take as features.
//!
//! A text is cut as by cppjieba's `MixSegment`: into the most likely words of a dictionary; the single characters
//! between these are cut again by a hidden Markov model. The weight of a word is its count times its inverse document
//! frequency; a word that is not in the table of frequencies gets the mean of the table. Words of one character and
//! stop words are ignored. The heaviest words are the keywords. Words of equal weight are in the order of their bytes
//! (in cppjieba their order depends on the C++ library).
//!
//! The dictionaries are cppjieba's own files, read from a directory. Different files give different fingerprints.

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

/// The dictionaries of cppjieba: words with frequencies, the hidden Markov model, inverse document frequencies and stop
/// words.
pub struct Dictionaries {
    words: Dictionary,
    hmm: Hmm,
    idf: Idf,
}

/// Inverse document frequencies and stop words. A 64-bit hash under a random key identifies a word. Two words with the
/// same hash would have the same weight; by chance that happens in one of 10⁷ tables of a million words, and nobody can
/// prepare such words.
struct Idf {
    key: HashKey,
    /// The weight of each word, by the hash of the word; `None` for a stop word.
    weights: FxHashMap<u64, Option<f64>>,
    /// The value of words that are not in the table: the mean of all its values.
    mean: f64,
}

impl Idf {
    /// Makes a table from words with their inverse document frequencies, the mean of these, and the stop words.
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

    /// The value of the word with the hash `word`; `None` if it is a stop word.
    fn value(&self, word: u64) -> Option<f64> {
        self.weights.get(&word).copied().unwrap_or(Some(self.mean))
    }
}

impl fmt::Debug for Dictionaries {
    /// Does not print the words, which may be millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionaries")
            .field("mean_idf", &self.idf.mean)
            .finish_non_exhaustive()
    }
}

/// A keyword and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyword<'a> {
    /// The word as it occurs in the text.
    pub word: &'a str,
    /// The word's count times its inverse document frequency. Positive, unless the dictionary has frequencies of 0 or
    /// less.
    pub weight: f64,
}

/// The rules of cppjieba's segmentation.
struct Cppjieba;

impl Rules for Cppjieba {
    const PREFERS_LONGER_ON_TIE: bool = false;
    const ALLOWS_LONE_PREFIX: bool = true;

    fn is_barrier(_: char) -> bool {
        false
    }
}

/// Finds the keywords of texts. Reuses its buffers.
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
    /// Cuts a text into words. Nothing is left out: the words joined are the text.
    #[cfg(test)]
    fn words<'a>(&mut self, dictionaries: &Dictionaries, text: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        let each = |word: std::ops::Range<usize>, _| words.push(text.get(word).unwrap_or_default());
        segmenter::cut(dictionaries, text, &mut self.buffers, each);
        words
    }

    /// The `limit` heaviest words of a text, the heaviest first. Only the first 4 GiB of the text are read. Linear in
    /// the text.
    pub(super) fn keywords<'a>(
        &mut self,
        dictionaries: &Dictionaries,
        text: &'a str,
        limit: usize,
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
                let span = words.get(count.first as usize)?;
                Some(Keyword {
                    word: text.get(span.start as usize..span.end as usize)?,
                    weight: f64::from(count.tf) * idf.value(hash)?,
                })
            })
            .collect();
        let order = |a: &Keyword, b: &Keyword| b.weight.total_cmp(&a.weight).then_with(|| a.word.cmp(b.word));
        if limit < keywords.len() {
            keywords.select_nth_unstable_by(limit, order);
            keywords.truncate(limit);
        }
        keywords.sort_unstable_by(order);
        keywords
    }
}

#[cfg(test)]
mod tests;
