//! Textbook distances between two documents, for display.
//!
//! [`edit_distance`] compares the characters of two texts. All other functions compare their term counts, which a
//! [`TermVector`] stores.
//!
//! ```
//! use twinprint_fingerprint::HashKey;
//! use twinprint_text::measures::{TermVector, cosine, manhattan};
//! use twinprint_text::{Analyzer, Profile};
//!
//! let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
//! let mut vector = |text: &str| TermVector::new(&analyzer.explain(text));
//! let (a, b) = (vector("the cat and the dog"), vector("the cat and the mouse"));
//! assert_eq!(manhattan(&a, &b), 2.0);
//! assert!(cosine(&a, &b) > 0.8);
//! # Ok::<(), twinprint_text::ProfileError>(())
//! ```

use crate::analysis::Feature;

/// The term counts of a document: each distinct term by its hash, with its number of occurrences, sorted by hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermVector(Vec<(u128, u32)>);

impl TermVector {
    /// Makes the vector of a document from its features, as [`Analyzer::explain`](crate::Analyzer::explain) lists them.
    /// The vector has the numbers of occurrences, not the weights. Only vectors of the same profile can be compared.
    pub fn new(features: &[Feature]) -> Self {
        let mut terms: Vec<_> = features
            .iter()
            .map(|feature| (feature.hash, feature.tf))
            .collect();
        terms.sort_unstable();
        terms.dedup_by_key(|&mut (term, _)| term);
        Self(terms)
    }

    /// The number of distinct terms.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the document has no terms.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For each term that at least one of the two documents has: its count in `self` and its count in `other`.
    fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || {
            let term = match (left.peek(), right.peek()) {
                (None, None) => return None,
                (Some(&&(term, _)), None) | (None, Some(&&(term, _))) => term,
                (Some(&&(a, _)), Some(&&(b, _))) => a.min(b),
            };
            let a = left.next_if(|entry| entry.0 == term).map_or(0, |entry| entry.1);
            let b = right.next_if(|entry| entry.0 == term).map_or(0, |entry| entry.1);
            Some((f64::from(a), f64::from(b)))
        })
    }
}

/// Cosine of the angle between the two count vectors, from 0 to 1. It is 1 if both documents are empty, and 0 if only
/// one is.
pub fn cosine(a: &TermVector, b: &TermVector) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let (mut dot, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (x, y) in a.pairs(b) {
        dot += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    if dot == 0.0 {
        0.0
    } else {
        (dot / (square_a * square_b).sqrt()).min(1.0)
    }
}

/// Jaccard of the sets of terms: the number of terms that both documents have over the number that at least one has. It
/// is 1 for two empty documents. The counts do not matter.
pub fn term_jaccard(a: &TermVector, b: &TermVector) -> f64 {
    let (mut common, mut all) = (0u32, 0u32);
    for (x, y) in a.pairs(b) {
        common += u32::from(x > 0.0 && y > 0.0);
        all += 1;
    }
    if all == 0 {
        1.0
    } else {
        f64::from(common) / f64::from(all)
    }
}

/// Euclidean distance between the count vectors.
pub fn euclidean(a: &TermVector, b: &TermVector) -> f64 {
    let squares = a.pairs(b).map(|(x, y)| (x - y) * (x - y));
    // `fold` instead of `sum`, because `sum` over no terms is -0.
    squares.fold(0.0, |sum, square| sum + square).sqrt()
}

/// Manhattan distance: the sum of the absolute differences of the counts.
pub fn manhattan(a: &TermVector, b: &TermVector) -> f64 {
    a.pairs(b)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, |sum, difference| sum + difference)
}

/// Chebyshev distance: the largest absolute difference of the counts of one term.
pub fn chebyshev(a: &TermVector, b: &TermVector) -> f64 {
    a.pairs(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// The maximum number of characters of a text for [`edit_distance`]. The common beginning and end of the two texts do
/// not count.
pub const MAX_EDIT_CHARS: usize = 1 << 16;

/// The minimum number of insertions, deletions and replacements of characters that turn one text into the other
/// (Levenshtein 1966). First the common beginning and end of the texts are removed. The time is the product of the
/// remaining lengths, 64 cells at a step (Myers 1999), so the result is `None` if more than [`MAX_EDIT_CHARS`]
/// characters of a text remain.
///
/// Punctuation and case count as differences unless the texts are canonical.
///
/// ```
/// use twinprint_text::measures::edit_distance;
///
/// assert_eq!(edit_distance("kitten", "sitting"), Some(3));
/// ```
pub fn edit_distance(a: &str, b: &str) -> Option<usize> {
    let mut x: Vec<char> = a.chars().collect();
    let mut y: Vec<char> = b.chars().collect();
    let end = x
        .iter()
        .rev()
        .zip(y.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    x.truncate(x.len() - end);
    y.truncate(y.len() - end);
    let start = x.iter().zip(&y).take_while(|(a, b)| a == b).count();
    let (x, y) = (x.split_off(start), y.split_off(start));
    if x.len().max(y.len()) > MAX_EDIT_CHARS {
        return None;
    }
    Some(rapidfuzz::distance::levenshtein::distance(
        x.iter().copied(),
        y.iter().copied(),
    ))
}

#[cfg(test)]
mod tests;
