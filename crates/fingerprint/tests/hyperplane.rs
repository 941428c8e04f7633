//! Fingerprints of vectors.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::hyperplane::{Dimension, Hyperplanes, VectorError, fingerprint_rows, row};
use twinprint_fingerprint::{HashKey, Width, accumulate};

const KEY: HashKey = HashKey::PUBLIC;

fn vector() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec((-1000i16..1000).prop_map(|x| f32::from(x) / 7.0), 1..200)
}

/// The fingerprint of a dense vector.
///
/// # Errors
/// The vector has no direction.
fn gaussian(vector: &[f32]) -> Result<u128, VectorError> {
    Hyperplanes::new(KEY, 128)
        .of_dense(vector)
        .map(|votes| votes.fingerprint)
}

fn sparse(vector: &[f32]) -> Vec<(Dimension, f64)> {
    let values = vector.iter().map(|&x| f64::from(x));
    (0..).map(Dimension::Index).zip(values).collect()
}

proptest! {
    #[test]
    fn rows_equal_the_definition(vector in vector()) {
        let largest = vector.iter().fold(0f32, |m, x| m.max(x.abs()));
        prop_assume!(largest > 0.0);
        let rows: Vec<u128> = (0..vector.len() as u64).map(|i| row(&KEY, i)).collect();
        // The definition adds signed weights. It does not use the opposite row for a negative component.
        let weights: Vec<i64> =
            vector.iter().map(|&x| (f64::from(x) / f64::from(largest) * 32767.0).round() as i64).collect();
        let want = u128::from_sums(&accumulate(&rows, &weights));
        prop_assert_eq!(fingerprint_rows::<u128>(&rows, &vector), Ok(want));
        prop_assert_eq!(fingerprint_rows::<u32>(&rows, &vector), Ok(u32::truncate(want)));
    }

    #[test]
    fn gaussian_fingerprints_do_not_depend_on_the_form(vector in vector()) {
        prop_assume!(vector.iter().any(|&x| x != 0.0));
        let mut hyperplanes = Hyperplanes::new(KEY, 128);
        let want = hyperplanes.of_dense(&vector).expect("a direction");
        let mut components = sparse(&vector);
        components.reverse();
        prop_assert_eq!(hyperplanes.of(&components).expect("a direction"), want.clone());
        components.retain(|&(_, x)| x != 0.0);
        prop_assert_eq!(hyperplanes.of(&components).expect("a direction"), want.clone());
        // Scale invariance, exact for powers of two.
        let scaled: Vec<f32> = vector.iter().map(|x| x * 1024.0).collect();
        prop_assert_eq!(gaussian(&scaled), Ok(want.fingerprint));
        for bits in [16, 32, 64] {
            let narrow = Hyperplanes::new(KEY, bits).of_dense(&vector).expect("a direction");
            prop_assert_eq!(narrow.fingerprint, want.fingerprint & ((1 << bits) - 1));
            prop_assert_eq!(&narrow.sums, &want.sums[..bits as usize]);
        }
    }

    #[test]
    fn nothing_panics(vector in prop::collection::vec(any::<f32>(), 0..20)) {
        let _ = gaussian(&vector);
        let _ = fingerprint_rows::<u64>(&[7; 20][..vector.len()], &vector);
    }
}

/// Fingerprints of a computation with Python's integers and `statistics.NormalDist`.
#[test]
fn golden_fingerprints() {
    let mut hyperplanes = Hyperplanes::new(KEY, 128);
    let mut made =
        |components: &[(Dimension, f64)]| hyperplanes.of(components).map(|votes| votes.fingerprint);
    let named = ["price", "size"].map(|name| Dimension::Name(name.to_owned()));
    let long: Vec<f32> = (0..100u8)
        .map(|i| f32::from(u16::from(i) * 37 % 11) - 5.0)
        .collect();
    assert_eq!(
        made(
            &(0..)
                .map(Dimension::Index)
                .zip([0.1, -0.4, 0.7, 0.2])
                .collect::<Vec<_>>()
        ),
        Ok(GOLDEN[0])
    );
    assert_eq!(
        made(&named.into_iter().zip([0.5, -1.5]).collect::<Vec<_>>()),
        Ok(GOLDEN[1])
    );
    assert_eq!(made(&sparse(&long)), Ok(GOLDEN[2]));
}

const GOLDEN: [u128; 3] = [
    0xEF51_2CC4_DD4C_3018_28E0_DEBB_8264_0703,
    0x4245_2991_7CE4_EA50_ED5B_D91D_834B_8975,
    0x0A05_33CA_37D6_FC38_2961_AA26_532D_01B1,
];

#[test]
fn the_opposite_vector_has_the_opposite_fingerprint() {
    // An odd sum of weights is not zero, so every bit changes.
    let rows = [row(&KEY, 0)];
    let [a, b] = [1.0, -1.0].map(|x| fingerprint_rows::<u64>(&rows, &[x]).expect("a direction"));
    assert_eq!((a, a), (!b, row(&KEY, 0) as u64));
    let [a, b] = [[1.0, 0.25], [-1.0, -0.25]].map(|vector| gaussian(&vector).expect("a direction"));
    assert_eq!(a, !b);
}

/// A random number from 0 to 1.
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// The number of bits that differ is binomial: each bit of two vectors at the angle θ differs with probability θ/π,
/// for any number of dimensions. The squared deviations are compared with the variance of the binomial distribution.
/// Every pair has hyperplanes of its own, so that the pairs are independent. The sum of 400 squares of standard
/// deviations is 400 ± 28, and the mean deviation is 0 ± 0.05.
#[test]
fn distances_estimate_the_angle_in_any_number_of_dimensions() {
    const PAIRS: u64 = 400;
    let mut state = 1;
    for dimensions in [2, 3, 10, 300] {
        let (mut squares, mut sum) = (0.0, 0.0);
        for pair in 0..PAIRS {
            // The second vector is the first one, turned by a random amount. One component in three is 0.
            let mut noise = || {
                let [value, zero] = [random(&mut state), random(&mut state)];
                if zero < 1.0 / 3.0 {
                    0.0
                } else {
                    (2.0 * value - 1.0) as f32
                }
            };
            let x: Vec<f32> = (0..dimensions)
                .map(|i| noise() + f32::from(u8::from(i == 0)))
                .collect();
            let share = pair as f32 / PAIRS as f32;
            let y: Vec<f32> = x
                .iter()
                .map(|x| x * (1.0 - share) + 2.0 * share * noise())
                .collect();
            let dot = |x: &[f32], y: &[f32]| {
                x.iter()
                    .zip(y)
                    .map(|(a, b)| f64::from(*a) * f64::from(*b))
                    .sum::<f64>()
            };
            let cosine = dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt();
            let differs = cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI;
            // If the angle is so small that fewer than 6 bits differ, the distribution is far from normal.
            if !(0.05..=0.95).contains(&differs) {
                continue;
            }
            let mut hyperplanes = Hyperplanes::new(HashKey::new(pair, dimensions), 128);
            let [a, b] = [x, y].map(|vector| hyperplanes.of_dense(&vector).expect("a direction").fingerprint);
            let deviation =
                (f64::from(a.distance(b)) - 128.0 * differs) / (128.0 * differs * (1.0 - differs)).sqrt();
            squares += deviation * deviation - 1.0;
            sum += deviation;
        }
        let pairs = PAIRS as f64;
        assert!(
            squares.abs() < 4.0 * (2.0 * pairs).sqrt(),
            "{dimensions} dimensions: {squares}"
        );
        assert!(sum.abs() < 4.0 * pairs.sqrt(), "{dimensions} dimensions: {sum}");
    }
}

#[test]
fn vectors_without_a_direction_are_refused() {
    assert_eq!(gaussian(&[]), Err(VectorError::Empty));
    assert_eq!(gaussian(&[0.0, -0.0]), Err(VectorError::AllZero));
    assert_eq!(
        gaussian(&[1.0, f32::NAN]),
        Err(VectorError::NotFinite { position: 1 })
    );
    assert_eq!(
        gaussian(&[f32::INFINITY, f32::NAN]),
        Err(VectorError::NotFinite { position: 0 })
    );
    let mut hyperplanes = Hyperplanes::new(KEY, 64);
    assert_eq!(hyperplanes.of(&[]), Err(VectorError::Empty));
    assert_eq!(
        hyperplanes.of(&[(Dimension::Index(3), 0.0)]),
        Err(VectorError::AllZero)
    );
    assert_eq!(fingerprint_rows::<u64>(&[1], &[0.0]), Err(VectorError::AllZero));
    assert_eq!(
        fingerprint_rows::<u64>(&[1, 2], &[1.0]),
        Err(VectorError::Dimensions { rows: 2, vector: 1 })
    );
}

#[test]
fn vectors_of_extreme_numbers_have_a_direction() {
    let tiny = f32::from_bits(1);
    assert_eq!(gaussian(&[tiny, -tiny]), gaussian(&[1.0, -1.0]));
    assert!(gaussian(&[f32::MAX, f32::MIN]).is_ok());
}

/// More dimensions than are kept give the same fingerprints.
#[test]
fn many_dimensions_are_not_all_kept() {
    let vector: Vec<f32> = (0..17_000u16).map(|i| f32::from(i % 7) - 3.0).collect();
    let mut hyperplanes = Hyperplanes::new(KEY, 16);
    let first = hyperplanes.of_dense(&vector);
    let components = sparse(&vector);
    let reversed: Vec<_> = components.into_iter().rev().collect();
    assert_eq!(Hyperplanes::new(KEY, 16).of(&reversed), first);
    assert_eq!(hyperplanes.of(&reversed), first);
}
