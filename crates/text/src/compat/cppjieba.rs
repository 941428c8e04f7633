//! The keywords of cppjieba (<https://github.com/yanyiwu/cppjieba>), which gosimhash and jiebaR take for features.
//!
//! A text is cut as its `MixSegment` does, into the likeliest words of a dictionary, and what stands alone between them again by a hidden
//! Markov model. Words of more than one character that are no stop words weigh their count times their inverse document frequency, or the mean
//! of all where the table has none; the heaviest are the keywords. Among equally heavy ones cppjieba's own order depends on the C++ library; here
//! it is that of their bytes.
//!
//! The dictionaries are cppjieba's own files, read from a directory: other dictionaries, other fingerprints.

use std::collections::{HashMap, HashSet};
use std::fmt;

mod hmm;
mod read;
mod segmenter;

use hmm::Hmm;
pub use read::DictionaryError;
use segmenter::Buffers;

use crate::segment::dictionary::{Dictionary, Rules};

/// What cppjieba reads: words with frequencies, the hidden Markov model, inverse document frequencies and stop words.
pub struct Dictionaries {
    words: Dictionary,
    hmm: Hmm,
    idf: HashMap<Box<str>, f64>,
    /// Of words that the table does not have.
    mean_idf: f64,
    stop_words: HashSet<Box<str>>,
}

impl fmt::Debug for Dictionaries {
    /// Leaves out what would be millions of words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionaries")
            .field("mean_idf", &self.mean_idf)
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
    const LONGER_AMONG_EQUALS: bool = false;
    const ANY_MAY_STAND_ALONE: bool = true;

    fn is_barrier(_: char) -> bool {
        false
    }
}

/// Cuts texts and finds their keywords; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Extractor {
    buffers: Buffers,
}

impl Extractor {
    /// The words of a text, which in a row are the text.
    #[cfg(test)]
    fn words<'a>(&mut self, dictionaries: &Dictionaries, text: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        let each = |word, _| words.push(word);
        segmenter::cut(dictionaries, text, &mut self.buffers, each);
        words
    }

    /// The `most` heaviest words, the heaviest first. Linear in the text.
    pub(super) fn keywords<'a>(
        &mut self,
        dictionaries: &Dictionaries,
        text: &'a str,
        most: usize,
    ) -> Vec<Keyword<'a>> {
        let mut counts: HashMap<&str, u32> = HashMap::new();
        segmenter::cut(dictionaries, text, &mut self.buffers, |word, characters| {
            if characters > 1 {
                *counts.entry(word).or_default() += 1;
            }
        });
        let words = counts
            .into_iter()
            .filter(|(word, _)| !dictionaries.stop_words.contains(*word));
        let mut keywords: Vec<Keyword> = words
            .map(|(word, count)| {
                let idf = dictionaries
                    .idf
                    .get(word)
                    .copied()
                    .unwrap_or(dictionaries.mean_idf);
                Keyword {
                    word,
                    weight: f64::from(count) * idf,
                }
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
