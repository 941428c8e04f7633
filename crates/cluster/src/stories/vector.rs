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

/// Removes all entries except the `limit` heaviest (ties: the smaller term). The order by term stays.
pub(super) fn keep_heaviest<T>(entries: &mut Vec<T>, limit: usize, weighted: impl Fn(&T) -> TermWeight) {
    if entries.len() > limit {
        let order = |a: &T, b: &T| {
            let (a, b) = (weighted(a), weighted(b));
            b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term))
        };
        if limit > 0 {
            entries.select_nth_unstable_by(limit - 1, order);
        }
        entries.truncate(limit);
        entries.sort_unstable_by_key(|entry| weighted(entry).term);
    }
}

/// The Euclidean length of a vector.
pub(super) fn norm(weights: impl Iterator<Item = f32>) -> f64 {
    let square = |w: f32| f64::from(w) * f64::from(w);
    weights.map(square).sum::<f64>().sqrt()
}

/// The dot product of two vectors, both sorted by term. Linear.
pub(super) fn dot(a: impl Iterator<Item = TermWeight>, b: impl Iterator<Item = TermWeight>) -> f64 {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    let mut sum = 0.0;
    while let (Some(x), Some(y)) = (a.peek().copied(), b.peek().copied()) {
        if x.term == y.term {
            sum += f64::from(x.weight) * f64::from(y.weight);
        }
        if x.term <= y.term {
            a.next();
        }
        if y.term <= x.term {
            b.next();
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
