//! Votes compared with their definition, and properties of the fingerprint.

#![expect(
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::{Votes, Width, accumulate, simhash};

fn by_definition<W: Width>(hashes: &[u128], weights: &[u16]) -> Vec<i64> {
    let hashes: Vec<W> = hashes.iter().map(|&h| W::truncate(h)).collect();
    let weights: Vec<i64> = weights.iter().map(|&w| i64::from(w)).collect();
    accumulate(&hashes, &weights)
}

fn check<W: Width>(hashes: &[u128], weights: &[u16], cut: usize) -> Result<(), TestCaseError> {
    let want = by_definition::<W>(hashes, weights);
    let mut votes = Votes::<W>::new();
    votes.add(&[u128::MAX], &[9]);
    votes.clear();
    let cut = cut.min(hashes.len());
    votes.add(&hashes[..cut], &weights[..cut]);
    votes.add(&hashes[cut..], &weights[cut..]);
    prop_assert_eq!(votes.sums(), want.clone());
    prop_assert_eq!(votes.finish(), W::from_sums(&want));
    prop_assert_eq!(simhash::<W>(hashes, weights), W::from_sums(&want));
    // A narrower fingerprint is the low bits of the widest.
    prop_assert_eq!(
        simhash::<W>(hashes, weights),
        W::truncate(simhash::<u128>(hashes, weights))
    );
    Ok(())
}

proptest! {
    #[test]
    fn every_width_equals_the_definition(
        features in prop::collection::vec((any::<u128>(), any::<u16>()), 0..300),
        shift in 0u32..16,
        cut in 0usize..300,
    ) {
        let hashes: Vec<u128> = features.iter().map(|f| f.0).collect();
        let weights: Vec<u16> = features.iter().map(|f| f.1 >> shift).collect();
        check::<u16>(&hashes, &weights, cut)?;
        check::<u32>(&hashes, &weights, cut)?;
        check::<u64>(&hashes, &weights, cut)?;
        check::<u128>(&hashes, &weights, cut)?;
    }

    #[test]
    fn routes_of_64_bits_agree(hashes in prop::collection::vec(any::<u64>(), 0..600)) {
        let wide: Vec<u128> = hashes.iter().map(|&h| u128::from(h)).collect();
        let ones = vec![1; hashes.len()];
        let mut a = Votes::<u64>::new();
        let mut b = Votes::<u64>::new();
        let mut c = Votes::<u64>::new();
        a.add(&wide, &ones);
        b.add_64(&hashes, &ones);
        c.add_unit_64(&hashes);
        prop_assert_eq!(a.sums(), b.sums());
        prop_assert_eq!(a.sums(), c.sums());
        // At 128 bits the upper half of these features is zero.
        let mut a = Votes::<u128>::new();
        let mut c = Votes::<u128>::new();
        a.add(&wide, &ones);
        c.add_unit_64(&hashes);
        prop_assert_eq!(a.sums(), c.sums());
    }
}

#[test]
fn no_feature_and_no_weight_give_zero() {
    assert_eq!(simhash::<u64>(&[], &[]), 0);
    assert_eq!(simhash::<u64>(&[u128::MAX], &[0]), 0);
    // With equal weights for and against, the sum is zero, and so is the bit.
    assert_eq!(simhash::<u128>(&[u128::MAX, 0], &[3, 3]), 0);
}

#[test]
fn the_shorter_slice_decides() {
    assert_eq!(simhash::<u16>(&[1, 2, 4], &[5]), 1);
    assert_eq!(simhash::<u16>(&[1], &[5, 6, 7]), 1);
}
