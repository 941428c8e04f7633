//! Random-hyperplane fingerprints of vectors (Charikar 2002), such as embeddings.
//!
//! Bit b of a fingerprint states on which side of the b-th random hyperplane the vector is. There are two kinds of
//! hyperplanes:
//!
//! * [`Hyperplanes`] have Gaussian normals, whose direction is uniform (Goemans and Williamson 1995). A bit of two
//!   vectors at the angle θ differs with probability θ/π, for any number of dimensions.
//! * [`fingerprint_rows`] takes normals of ±1 from the caller: one row of bits for each dimension, in which a 1 bit is
//!   +1 and a 0 bit is −1. So a text's fingerprint is made from the hashes of its features. The probability is close to
//!   θ/π only if many components have similar magnitudes: in two dimensions, ±1 normals have four directions.
//!
//! The vector is first quantised: its components are scaled so that the largest |x| becomes 32767, and rounded to
//! integers. All further steps are integer arithmetic, so the result is the same on every CPU. The fingerprint is scale
//! invariant: exactly for a factor that floating-point multiplication represents without rounding (any power of two,
//! short of underflow), and up to one quantisation step per component (1/32767 of the largest) for any other positive
//! factor.
//!
//! ```
//! use twinprint_fingerprint::hyperplane::{Hyperplanes, VectorError};
//! use twinprint_fingerprint::{HashKey, Width};
//!
//! # fn main() -> Result<(), VectorError> {
//! let mut hyperplanes = Hyperplanes::new(HashKey::PUBLIC, 128);
//! let a = hyperplanes.of_dense(&[0.9, -0.2, 0.4])?.fingerprint;
//! let similar = hyperplanes.of_dense(&[0.8, -0.2, 0.4])?.fingerprint;
//! let opposite = hyperplanes.of_dense(&[-0.9, 0.2, -0.4])?.fingerprint;
//! assert!(a.distance(similar) < 16);
//! assert_eq!(a.distance(opposite), 128);
//! # Ok(())
//! # }
//! ```

mod gaussian;
mod quantiles;

pub use gaussian::{Dimension, Hyperplanes, VectorVotes};

use crate::feature::hash_one;
use crate::key::HashKey;
use crate::votes::Votes;
use crate::width::Width;

/// The largest magnitude of a vector component after quantisation.
const MAX_QUANTISED: f64 = 32767.0;

/// The reason why a vector has no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The vector has no component.
    #[error("the vector is empty: it has no direction, so it has no fingerprint")]
    Empty,
    /// Every component is zero.
    #[error("all components of the vector are zero: it has no direction, so it has no fingerprint")]
    AllZero,
    /// A component is NaN or infinite.
    #[error("component {position} of the vector (counted from 0) is NaN or infinite")]
    NotFinite {
        /// The position of the component in the slice, from 0.
        position: usize,
    },
    /// The number of precomputed rows differs from the number of components.
    #[error(
        "the vector has {vector} components, but {rows} precomputed hyperplane rows were given; give one row \
         for each component"
    )]
    Dimensions {
        /// The number of rows given.
        rows: usize,
        /// The number of components of the vector.
        vector: usize,
    },
}

/// Returns the random row of ±1 of a dimension. Bit b is the coefficient of the dimension in hyperplane b: 1 for +1, 0 for
/// −1.
#[must_use]
pub fn row(key: &HashKey, dimension: u64) -> u128 {
    hash_one(key, &dimension.to_le_bytes())
}

/// Computes the fingerprint of a dense vector from rows of ±1, one for each component. The rows are those of [`row`] or
/// others of the caller's choice.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hyperplane};
///
/// # fn main() -> Result<(), hyperplane::VectorError> {
/// let rows: Vec<u128> = (0..3).map(|dimension| hyperplane::row(&HashKey::PUBLIC, dimension)).collect();
/// let fingerprint: u64 = hyperplane::fingerprint_rows(&rows, &[1.0, 2.0, 3.0])?;
/// let opposite: u64 = hyperplane::fingerprint_rows(&rows, &[-1.0, -2.0, -3.0])?;
/// assert_ne!(fingerprint, opposite);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`VectorError`] if the two lengths differ, or if the vector is empty, all zero, or has a component that is not
/// finite.
pub fn fingerprint_rows<W: Width>(rows: &[u128], vector: &[f32]) -> Result<W, VectorError> {
    if rows.len() != vector.len() {
        return Err(VectorError::Dimensions {
            rows: rows.len(),
            vector: vector.len(),
        });
    }
    let values = vector.iter().map(|&x| f64::from(x));
    let largest = largest(values.clone())?;
    let mut votes = Votes::<W>::new();
    let mut hashes = [0u128; 64];
    let mut weights = [0u16; 64];
    let mut filled = 0;
    for (&row, x) in rows.iter().zip(values) {
        // A negative component votes with weight |x| for the complement of its row.
        let quantised = quantise(x, largest);
        hashes[filled] = if quantised < 0 { !row } else { row };
        weights[filled] = quantised.unsigned_abs();
        filled += 1;
        if filled == hashes.len() {
            votes.add(&hashes, &weights);
            filled = 0;
        }
    }
    votes.add(&hashes[..filled], &weights[..filled]);
    Ok(votes.finish())
}

/// Scales a component so that the largest one of the vector becomes [`MAX_QUANTISED`], and rounds it.
fn quantise(x: f64, largest: f64) -> i16 {
    (x / largest * MAX_QUANTISED).round() as i16
}

/// Returns the largest absolute value of the components, which is positive.
///
/// # Errors
/// [`VectorError`] if the vector is empty, all zero, or has a component that is not finite.
fn largest(values: impl Iterator<Item = f64>) -> Result<f64, VectorError> {
    let mut largest = None;
    for (position, x) in values.enumerate() {
        if !x.is_finite() {
            return Err(VectorError::NotFinite { position });
        }
        largest = Some(x.abs().max(largest.unwrap_or(0.0)));
    }
    match largest {
        None => Err(VectorError::Empty),
        Some(0.0) => Err(VectorError::AllZero),
        Some(x) => Ok(x),
    }
}
