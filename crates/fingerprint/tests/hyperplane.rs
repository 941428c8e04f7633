//! Fingerprints of vectors.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::hyperplane::{
    VectorError, fingerprint_dense, fingerprint_rows, fingerprint_sparse, row,
};
use twinprint_fingerprint::{HashKey, Width, accumulate};

const KEY: HashKey = HashKey::PUBLIC;

fn vector() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec((-1000i16..1000).prop_map(|x| f32::from(x) / 7.0), 1..200)
}

proptest! {
    #[test]
    fn dense_equals_the_definition(vector in vector()) {
        let largest = vector.iter().fold(0f32, |m, x| m.max(x.abs()));
        prop_assume!(largest > 0.0);
        let rows: Vec<u128> = (0..vector.len() as u64).map(|i| row(&KEY, i)).collect();
        // The definition adds signed weights. It does not use the opposite row for a negative component.
        let weights: Vec<i64> =
            vector.iter().map(|&x| (f64::from(x) / f64::from(largest) * 32767.0).round() as i64).collect();
        let want = u128::from_sums(&accumulate(&rows, &weights));
        prop_assert_eq!(fingerprint_dense::<u128>(&KEY, &vector), Ok(want));
        prop_assert_eq!(fingerprint_dense::<u32>(&KEY, &vector), Ok(u32::truncate(want)));
        prop_assert_eq!(fingerprint_rows::<u128>(&rows, &vector), Ok(want));
        let mut sparse: Vec<(u64, f32)> = (0..).zip(vector.iter().copied()).collect();
        sparse.reverse();
        prop_assert_eq!(fingerprint_sparse::<u128>(&KEY, &sparse), Ok(want));
        sparse.retain(|&(_, x)| x != 0.0);
        prop_assert_eq!(fingerprint_sparse::<u128>(&KEY, &sparse), Ok(want));
        // Scale invariance, exact for powers of two.
        let scaled: Vec<f32> = vector.iter().map(|x| x * 1024.0).collect();
        prop_assert_eq!(fingerprint_dense::<u128>(&KEY, &scaled), Ok(want));
    }

    #[test]
    fn nothing_panics(vector in prop::collection::vec(any::<f32>(), 0..20)) {
        let _ = fingerprint_dense::<u64>(&KEY, &vector);
    }
}

#[test]
fn the_opposite_vector_has_the_opposite_fingerprint() {
    // An odd sum of weights is not zero, so every bit changes.
    let a: u64 = fingerprint_dense(&KEY, &[1.0]).expect("a direction");
    let b: u64 = fingerprint_dense(&KEY, &[-1.0]).expect("a direction");
    assert_eq!(a, !b);
    assert_eq!(a, row(&KEY, 0) as u64);
}

#[test]
fn the_distance_estimates_the_angle() {
    // A quarter of the dimensions changes its sign. With 200 keys of 128 bits, the standard deviation of the mean is below half a bit.
    let x: Vec<f32> = (0..64u8).map(|i| 1.0 + f32::from(i % 5)).collect();
    let y: Vec<f32> = x
        .iter()
        .enumerate()
        .map(|(i, &x)| if i % 4 == 0 { -x } else { x })
        .collect();
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let angle = (dot(&x, &y) / dot(&x, &x)).acos();
    let distance = |k: u64| {
        let key = HashKey::new(k, 5);
        let a: u128 = fingerprint_dense(&key, &x).expect("a direction");
        a.distance(fingerprint_dense(&key, &y).expect("a direction"))
    };
    let mean = f64::from((0..200).map(distance).sum::<u32>()) / 200.0;
    let want = 128.0 * angle / std::f64::consts::PI;
    assert!((mean - want).abs() < 2.0, "mean {mean}, expected {want}");
}

#[test]
fn vectors_without_a_direction_are_refused() {
    let dense = |v: &[f32]| fingerprint_dense::<u64>(&KEY, v);
    assert_eq!(dense(&[]), Err(VectorError::Empty));
    assert_eq!(dense(&[0.0, -0.0]), Err(VectorError::AllZero));
    assert_eq!(
        dense(&[1.0, f32::NAN]),
        Err(VectorError::NotFinite { position: 1 })
    );
    assert_eq!(
        dense(&[f32::INFINITY, f32::NAN]),
        Err(VectorError::NotFinite { position: 0 })
    );
    assert_eq!(fingerprint_sparse::<u64>(&KEY, &[]), Err(VectorError::Empty));
    assert_eq!(
        fingerprint_sparse::<u64>(&KEY, &[(3, 0.0)]),
        Err(VectorError::AllZero)
    );
    assert_eq!(
        fingerprint_rows::<u64>(&[1, 2], &[1.0]),
        Err(VectorError::Dimensions { rows: 2, vector: 1 })
    );
}

#[test]
fn vectors_of_extreme_numbers_have_a_direction() {
    let tiny = f32::from_bits(1);
    assert_eq!(
        fingerprint_dense::<u64>(&KEY, &[tiny, -tiny]),
        fingerprint_dense::<u64>(&KEY, &[1.0, -1.0])
    );
    assert!(fingerprint_dense::<u64>(&KEY, &[f32::MAX, f32::MIN]).is_ok());
}
