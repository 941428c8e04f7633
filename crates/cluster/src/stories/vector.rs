//! Sparse vectors of term weights: sorted by term, with a maximum number of terms.

use serde::{Deserialize, Serialize};

/// A term and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermWeight {
    /// The term's number in the vocabulary.
    pub term: u32,
    /// The weight of the term, not negative.
    pub weight: f32,
}

/// Removes all entries except the `limit` heaviest (ties: the smaller term). The entries are sorted by term, no two of
/// them have the same term, and their order stays. Linear.
pub(super) fn keep_heaviest<T>(entries: &mut Vec<T>, limit: usize, weighted: impl Fn(&T) -> TermWeight) {
    if entries.len() <= limit {
        return;
    }
    let Some(last) = limit.checked_sub(1) else {
        entries.clear();
        return;
    };
    let order = |a: &TermWeight, b: &TermWeight| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term));
    let mut weights: Vec<TermWeight> = entries.iter().map(&weighted).collect();
    let (_, &mut lightest, _) = weights.select_nth_unstable_by(last, order);
    entries.retain(|entry| order(&weighted(entry), &lightest).is_le());
}

/// Merges two lists that are sorted by term. Entries with the same term are combined by `both`. Linear.
pub(super) fn merged<T>(
    a: impl IntoIterator<Item = T>,
    b: impl IntoIterator<Item = T>,
    term: impl Fn(&T) -> u32,
    both: impl Fn(T, T) -> T,
) -> Vec<T> {
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    let mut result = Vec::with_capacity(a.size_hint().0 + b.size_hint().0);
    let (mut x, mut y) = (a.next(), b.next());
    loop {
        match (x, y) {
            (Some(first), Some(second)) if term(&first) == term(&second) => {
                result.push(both(first, second));
                (x, y) = (a.next(), b.next());
            }
            (Some(first), Some(second)) if term(&first) < term(&second) => {
                result.push(first);
                (x, y) = (a.next(), Some(second));
            }
            (first, Some(second)) => {
                result.push(second);
                (x, y) = (first, b.next());
            }
            (Some(first), None) => {
                result.push(first);
                (x, y) = (a.next(), None);
            }
            (None, None) => return result,
        }
    }
}

/// The Euclidean length of a vector.
pub(super) fn norm(weights: impl Iterator<Item = f32>) -> f64 {
    let square = |w: f32| f64::from(w) * f64::from(w);
    weights.map(square).sum::<f64>().sqrt()
}

/// The dot product of two vectors, both sorted by term. Linear.
pub(super) fn dot(mut a: impl Iterator<Item = TermWeight>, mut b: impl Iterator<Item = TermWeight>) -> f64 {
    let (mut first, mut second) = (a.next(), b.next());
    let mut sum = 0.0;
    while let (Some(x), Some(y)) = (first, second) {
        if x.term == y.term {
            sum += f64::from(x.weight) * f64::from(y.weight);
        }
        if x.term <= y.term {
            first = a.next();
        }
        if y.term <= x.term {
            second = b.next();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn vector() -> impl Strategy<Value = Vec<TermWeight>> {
        let terms: BTreeMap<u32, f32> = BTreeMap::new();
        Just(terms).prop_perturb(|mut terms, mut rng| {
            for _ in 0..rng.random_range(0..20) {
                terms.insert(rng.random_range(0..30), rng.random_range(0..100) as f32 / 8.0);
            }
            let weighted = |(term, weight)| TermWeight { term, weight };
            terms.into_iter().map(weighted).collect()
        })
    }

    proptest! {
        #[test]
        fn a_product_sums_over_common_terms((a, b) in (vector(), vector())) {
            let expected: f64 = a
                .iter()
                .flat_map(|x| b.iter().filter(|y| y.term == x.term).map(|y| f64::from(x.weight * y.weight)))
                .sum();
            prop_assert!((dot(a.iter().copied(), b.iter().copied()) - expected).abs() < 1e-6);
        }

        #[test]
        fn the_heaviest_entries_are_kept_in_order(a in vector(), most in 0usize..25) {
            let mut kept = a.clone();
            keep_heaviest(&mut kept, most, |&w| w);
            let mut expected = a;
            expected.sort_by(|x, y| y.weight.total_cmp(&x.weight).then(x.term.cmp(&y.term)));
            expected.truncate(most);
            expected.sort_by_key(|w| w.term);
            prop_assert_eq!(kept, expected);
        }
    }
}
