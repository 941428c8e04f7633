//! The bag-of-words baseline: the cosine of word counts. Chinese is segmented by jieba.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Features, Profile, Weight};

use super::documents::Documents;

/// The number of bins of the cosine. The first bin has the most similar pairs.
pub(super) const BINS: usize = 1000;

/// The vectors of word counts of all documents, scaled to length 1, with an inverted index.
pub(super) struct Vectors {
    /// The words of each document with their weights.
    words: Vec<Vec<VectorEntry>>,
    /// For each word, the documents that have it, in order.
    postings: Vec<Vec<WordPosting>>,
}

/// A word of a document's vector, with its weight.
struct VectorEntry {
    word: u32,
    weight: f32,
}

/// A document that has a word, and the weight of the word in its vector.
struct WordPosting {
    document: u32,
    weight: f32,
}

/// The minimum cosine of the pairs in a bin.
pub(super) fn least(bin: usize) -> f64 {
    1.0 - bin as f64 / BINS as f64
}

impl Vectors {
    pub(super) fn of(documents: &Documents) -> Self {
        // Only the word counts of this profile are used. The profile is valid, so the analyzer always exists.
        let profile = Profile::new(Features::Words, Weight::Tf, 64);
        let analyzer = || Some(Analyzer::new(profile.as_ref().ok()?, HashKey::PUBLIC));
        let terms = |analyzer: &mut Option<Analyzer>, text: &String| -> Vec<(u128, f32)> {
            let Some(analyzer) = analyzer else {
                return Vec::new();
            };
            let features = analyzer.explain(text);
            let square: f64 = features.iter().map(|f| f64::from(f.tf).powi(2)).sum();
            let length = square.sqrt();
            let share = |tf: u32| (f64::from(tf) / length) as f32;
            features.iter().map(|f| (f.hash, share(f.tf))).collect()
        };
        let terms: Vec<Vec<(u128, f32)>> = documents.canonical.par_iter().map_init(analyzer, terms).collect();
        let mut numbers: FxHashMap<u128, u32> = FxHashMap::default();
        let mut postings: Vec<Vec<WordPosting>> = Vec::new();
        let mut words = Vec::with_capacity(terms.len());
        for (document, terms) in (0u32..).zip(terms) {
            let number = |(hash, weight): (u128, f32)| {
                let next = numbers.len() as u32;
                let word = *numbers.entry(hash).or_insert(next);
                if word == next {
                    postings.push(Vec::new());
                }
                postings[word as usize].push(WordPosting { document, weight });
                VectorEntry { word, weight }
            };
            words.push(terms.into_iter().map(number).collect());
        }
        Self { words, postings }
    }

    /// Pushes, for each earlier document, the bin of its cosine with `document`.
    pub(super) fn row(&self, document: usize, bins: &mut Vec<u16>) {
        let mut cosines = vec![0f32; document];
        for entry in &self.words[document] {
            for posting in &self.postings[entry.word as usize] {
                let Some(cosine) = cosines.get_mut(posting.document as usize) else {
                    break;
                };
                *cosine += entry.weight * posting.weight;
            }
        }
        let bin = |cosine: f32| {
            ((1.0 - f64::from(cosine).clamp(0.0, 1.0)) * BINS as f64 - 1e-3)
                .ceil()
                .max(0.0) as u16
        };
        bins.extend(cosines.into_iter().map(bin));
    }

    /// The bytes of all vectors: a number and a weight for each word.
    pub(super) fn bytes(&self) -> f64 {
        self.words.iter().map(|words| words.len() as f64 * 8.0).sum()
    }
}
