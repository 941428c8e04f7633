//! The feature hash compared with the crate `siphasher`, bit by bit.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_fingerprint::{HashKey, Span, hash_features, hash_features_64, hash_one, hash_windows_64};

fn reference(k0: u64, k1: u64, bytes: &[u8]) -> u128 {
    use std::hash::Hasher;
    let mut hasher = SipHasher13::new_with_keys(k0, k1);
    hasher.write(bytes);
    hasher.finish128().as_u128()
}

#[test]
fn every_length_equals_the_reference() {
    let bytes: Vec<u8> = (0..200).map(|i| (i * 7 + 3) as u8).collect();
    for length in 0..bytes.len() {
        let got = hash_one(&HashKey::new(1, 2), &bytes[..length]);
        assert_eq!(got, reference(1, 2, &bytes[..length]), "length {length}");
    }
}

proptest! {
    #[test]
    fn batches_equal_the_reference(
        k0: u64,
        k1: u64,
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        ranges in prop::collection::vec((0u32..640, 0u32..90), 0..300),
    ) {
        let key = HashKey::new(k0, k1);
        let spans: Vec<Span> = ranges.iter().map(|&(start, n)| Span { start, end: start + n }).collect();
        let mut full = vec![1];
        let mut low = vec![1];
        hash_features(&key, &bytes, &spans, &mut full);
        hash_features_64(&key, &bytes, &spans, &mut low);
        let want: Vec<u128> = spans
            .iter()
            .map(|s| {
                let end = bytes.len().min(s.end as usize);
                reference(k0, k1, &bytes[(s.start as usize).min(end)..end])
            })
            .collect();
        prop_assert_eq!(&full, &want);
        prop_assert_eq!(low, want.iter().map(|&h| h as u64).collect::<Vec<_>>());
    }

    #[test]
    fn windows_equal_spans(bytes in prop::collection::vec(any::<u8>(), 0..400), width in 0usize..12) {
        let mut got = vec![1];
        hash_windows_64(&HashKey::PUBLIC, &bytes, width, &mut got);
        let want: Vec<u64> = if width == 0 {
            Vec::new()
        } else {
            bytes.windows(width).map(|w| hash_one(&HashKey::PUBLIC, w) as u64).collect()
        };
        prop_assert_eq!(got, want);
    }
}

#[test]
fn reversed_and_far_spans_are_empty() {
    let mut out = Vec::new();
    let spans = [
        Span { start: 3, end: 1 },
        Span {
            start: u32::MAX,
            end: u32::MAX,
        },
        Span::default(),
    ];
    hash_features(&HashKey::PUBLIC, b"abcd", &spans, &mut out);
    assert_eq!(out, [hash_one(&HashKey::PUBLIC, b""); 3]);
}
