//! Textbook distances between two documents, for display.
//!
//! [`edit_distance`] compares the characters of two texts. All other functions compare vectors: the term counts of
//! texts, or other values, which a [`TermVector`] stores.
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

/// A document as a vector: the terms of a text with their counts, or other components with their values. Each component
/// is identified by a hash, and the components are sorted by hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermVector(Vec<(u128, f64)>);

impl TermVector {
    /// Makes the vector of a document from its features, as [`Analyzer::explain`](crate::Analyzer::explain) lists them.
    /// The vector has the numbers of occurrences, not the weights. Only vectors of the same profile can be compared.
    pub fn new(features: &[Feature]) -> Self {
        let mut terms: Vec<_> = features
            .iter()
            .map(|feature| (feature.hash, f64::from(feature.tf)))
            .collect();
        terms.sort_unstable_by_key(|&(term, _)| term);
        terms.dedup_by_key(|&mut (term, _)| term);
        Self(terms)
    }

    /// Makes a vector of components, given by the hash of each and its value. A component that is given twice has the
    /// sum of the two values.
    ///
    /// ```
    /// use twinprint_text::measures::{TermVector, euclidean};
    ///
    /// let a = TermVector::of_components([(1, 3.0), (2, -4.0)]);
    /// assert_eq!(euclidean(&a, &TermVector::of_components([])), 5.0);
    /// ```
    pub fn of_components(components: impl IntoIterator<Item = (u128, f64)>) -> Self {
        let mut sorted: Vec<(u128, f64)> = components.into_iter().collect();
        // The values are sorted too, so that the sum does not depend on the order.
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)));
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Self(sorted)
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
            let a = left.next_if(|entry| entry.0 == term).map_or(0.0, |entry| entry.1);
            let b = right
                .next_if(|entry| entry.0 == term)
                .map_or(0.0, |entry| entry.1);
            Some((a, b))
        })
    }
}

/// Cosine of the angle between two vectors, from 0 to 1 if no value is negative. It is 1 if both documents are empty, and 0 if only
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
        (dot / (square_a * square_b).sqrt()).clamp(-1.0, 1.0)
    }
}

/// The sizes of the sets of terms of two documents.
struct SetSizes {
    common: f64,
    a: f64,
    b: f64,
}

fn set_sizes(a: &TermVector, b: &TermVector) -> SetSizes {
    let mut sizes = SetSizes {
        common: 0.0,
        a: 0.0,
        b: 0.0,
    };
    for (x, y) in a.pairs(b) {
        let (in_a, in_b) = (x != 0.0, y != 0.0);
        sizes.common += f64::from(in_a && in_b);
        sizes.a += f64::from(in_a);
        sizes.b += f64::from(in_b);
    }
    sizes
}

/// A share of two sets; 1 if both sets are empty.
fn share(part: f64, whole: f64, sizes: &SetSizes) -> f64 {
    if sizes.a + sizes.b == 0.0 {
        1.0
    } else if whole == 0.0 {
        0.0
    } else {
        part / whole
    }
}

/// Jaccard of the sets of terms: the number of terms that both documents have over the number that at least one has. It
/// is 1 for two empty documents. The counts do not matter.
pub fn term_jaccard(a: &TermVector, b: &TermVector) -> f64 {
    let sizes = set_sizes(a, b);
    share(sizes.common, sizes.a + sizes.b - sizes.common, &sizes)
}

/// Dice coefficient of the sets of terms: twice the number of terms that both documents have over the sum of the
/// numbers that each has (Dice 1945). It is 1 for two empty documents.
pub fn dice(a: &TermVector, b: &TermVector) -> f64 {
    let sizes = set_sizes(a, b);
    share(2.0 * sizes.common, sizes.a + sizes.b, &sizes)
}

/// Overlap coefficient of the sets of terms: the number of terms that both documents have over the number of terms of
/// the document with fewer. It is 1 for two empty documents, and 0 if only one is empty.
pub fn overlap_coefficient(a: &TermVector, b: &TermVector) -> f64 {
    let sizes = set_sizes(a, b);
    share(sizes.common, sizes.a.min(sizes.b), &sizes)
}

/// Minkowski distance of order `p`: the p-th root of the sum of the p-th powers of the absolute differences. `p` is 1
/// or more; 1 gives the Manhattan distance and 2 the Euclidean distance. For a large `p` it is close to the Chebyshev
/// distance.
pub fn minkowski(a: &TermVector, b: &TermVector, p: f64) -> f64 {
    // The differences are divided by the largest one, because powers of numbers above 1 may be too large.
    let largest = chebyshev(a, b);
    if largest == 0.0 {
        return 0.0;
    }
    let powers = a.pairs(b).map(|(x, y)| ((x - y).abs() / largest).powf(p));
    largest * powers.fold(0.0, |sum, power| sum + power).powf(1.0 / p)
}

/// Pearson correlation over the components that at least one of the two vectors has, from -1 to 1; `None` if all values
/// of a vector are equal.
pub fn pearson(a: &TermVector, b: &TermVector) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = a.pairs(b).collect();
    let count = pairs.len() as f64;
    let mean_a = pairs.iter().map(|pair| pair.0).sum::<f64>() / count;
    let mean_b = pairs.iter().map(|pair| pair.1).sum::<f64>() / count;
    let (mut both, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - mean_a, y - mean_b);
        both += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    let spread = (square_a * square_b).sqrt();
    (spread > 0.0).then(|| (both / spread).clamp(-1.0, 1.0))
}

/// Mahalanobis distance for components that are not correlated: the Euclidean distance after each difference is divided
/// by the standard deviation of the component. `variances` has the variance of each component; `None` if the variance
/// of a component is missing or not positive.
pub fn mahalanobis(a: &TermVector, b: &TermVector, variances: &TermVector) -> Option<f64> {
    let differences = TermVector::of_components(
        a.0.iter()
            .copied()
            .chain(b.0.iter().map(|&(component, value)| (component, -value))),
    );
    let mut sum = 0.0;
    for (component, difference) in differences.0 {
        let found = variances.0.binary_search_by_key(&component, |entry| entry.0);
        let (_, variance) = variances.0.get(found.ok()?)?;
        if *variance <= 0.0 {
            return None;
        }
        sum += difference * difference / variance;
    }
    Some(sum.sqrt())
}

/// Euclidean distance between two vectors.
pub fn euclidean(a: &TermVector, b: &TermVector) -> f64 {
    let squares = a.pairs(b).map(|(x, y)| (x - y) * (x - y));
    // `fold` instead of `sum`, because `sum` over no terms is -0.
    squares.fold(0.0, |sum, square| sum + square).sqrt()
}

/// Manhattan distance: the sum of the absolute differences of the values.
pub fn manhattan(a: &TermVector, b: &TermVector) -> f64 {
    a.pairs(b)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, |sum, difference| sum + difference)
}

/// Chebyshev distance: the largest absolute difference of the values of one component.
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
