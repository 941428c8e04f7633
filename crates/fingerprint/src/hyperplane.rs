//! Random-hyperplane fingerprints of vectors (Charikar 2002), such as embeddings.
//!
//! The function is SimHash with one random row of ±1 per dimension in place of the features' hashes. The row of
//! dimension i is the hash of i as eight little-endian bytes: a 1 bit is +1, and a 0 bit is −1. Bit b of the
//! fingerprint states on which side of the b-th random hyperplane the vector is.
//!
//! The vector is first quantised: its components are scaled so that the largest |x| becomes 32767, and rounded to
//! integers. All further steps are integer arithmetic, so the result is the same on every CPU. The fingerprint is scale
//! invariant: exactly for a factor that f32 multiplication represents without rounding (any power of two, short of
//! underflow), and up to one quantisation step per component (1/32767 of the largest) for any other positive factor.
//!
//! ```
//! use twinprint_fingerprint::{HashKey, Width, hyperplane};
//!
//! # fn main() -> Result<(), hyperplane::VectorError> {
//! let key = HashKey::PUBLIC;
//! let a: u128 = hyperplane::fingerprint_dense(&key, &[0.9, -0.2, 0.4])?;
//! let similar = hyperplane::fingerprint_dense(&key, &[0.8, -0.2, 0.4])?;
//! let opposite = hyperplane::fingerprint_dense(&key, &[-0.9, 0.2, -0.4])?;
//! assert!(a.distance(similar) < 32);
//! assert!(a.distance(opposite) > 96);
//! # Ok(())
//! # }
//! ```

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

/// Returns the random row of a dimension. Bit b is the coefficient of the dimension in hyperplane b: 1 for +1, 0 for
/// −1.
#[must_use]
pub fn row(key: &HashKey, dimension: u64) -> u128 {
    hash_one(key, &dimension.to_le_bytes())
}

/// Returns the random row of a dimension that has a name instead of a number. The row is the hash of the name's bytes
/// and a byte 0xFF, which no name contains. So it is not the row of any dimension below 2⁵⁶.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hyperplane};
///
/// # fn main() -> Result<(), hyperplane::VectorError> {
/// let key = HashKey::PUBLIC;
/// let rows = ["price", "size"].map(|name| hyperplane::row_of_name(&key, name));
/// let fingerprint: u64 = hyperplane::fingerprint_rows(&rows, &[0.5, -2.0])?;
/// assert_ne!(fingerprint, hyperplane::fingerprint_dense(&key, &[0.5, -2.0])?);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn row_of_name(key: &HashKey, name: &str) -> u128 {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0xFF);
    hash_one(key, &bytes)
}

/// Computes the fingerprint of a dense vector. Component i belongs to dimension i.
///
/// # Errors
/// [`VectorError`] if the vector is empty, all zero, or has a component that is not finite.
pub fn fingerprint_dense<W: Width>(key: &HashKey, vector: &[f32]) -> Result<W, VectorError> {
    let rows = (0u64..).map(|i| row(key, i));
    vote(rows, vector.iter().copied())
}

/// Computes the fingerprint of a sparse vector, given as (dimension, value) pairs in any order.
///
/// Equal to [`fingerprint_dense`] on the same values. A dimension that occurs twice counts with both values.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hyperplane};
///
/// # fn main() -> Result<(), hyperplane::VectorError> {
/// let key = HashKey::PUBLIC;
/// let sparse: u64 = hyperplane::fingerprint_sparse(&key, &[(2, -1.5), (0, 0.5)])?;
/// assert_eq!(sparse, hyperplane::fingerprint_dense(&key, &[0.5, 0.0, -1.5])?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`fingerprint_dense`].
pub fn fingerprint_sparse<W: Width>(key: &HashKey, vector: &[(u64, f32)]) -> Result<W, VectorError> {
    let rows = vector.iter().map(|&(dimension, _)| row(key, dimension));
    vote(rows, vector.iter().map(|&(_, x)| x))
}

/// Computes the fingerprint of a dense vector from precomputed rows, one for each component. The rows are those of
/// [`row`] or others of the caller's choice.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hyperplane};
///
/// # fn main() -> Result<(), hyperplane::VectorError> {
/// let key = HashKey::PUBLIC;
/// let rows: Vec<u128> = (0..3).map(|dimension| hyperplane::row(&key, dimension)).collect();
/// for vector in [[1.0, 2.0, 3.0], [0.5, -2.0, 1.0]] {
///     let fingerprint: u64 = hyperplane::fingerprint_rows(&rows, &vector)?;
///     assert_eq!(fingerprint, hyperplane::fingerprint_dense(&key, &vector)?);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`fingerprint_dense`], and [`VectorError::Dimensions`] if the two lengths differ.
pub fn fingerprint_rows<W: Width>(rows: &[u128], vector: &[f32]) -> Result<W, VectorError> {
    if rows.len() != vector.len() {
        return Err(VectorError::Dimensions {
            rows: rows.len(),
            vector: vector.len(),
        });
    }
    vote(rows.iter().copied(), vector.iter().copied())
}

/// Votes with the row of each component, weighted by the quantised value of the component.
///
/// # Errors
/// As for [`fingerprint_dense`].
fn vote<W: Width>(
    rows: impl Iterator<Item = u128>,
    values: impl Iterator<Item = f32> + Clone,
) -> Result<W, VectorError> {
    let largest = largest(values.clone())?;
    let mut votes = Votes::<W>::new();
    let mut hashes = [0u128; 64];
    let mut weights = [0u16; 64];
    let mut filled = 0;
    for (row, x) in rows.zip(values) {
        // A negative component votes with weight |x| for the complement of its row.
        let quantised = (f64::from(x) / largest * MAX_QUANTISED).round();
        hashes[filled] = if quantised < 0.0 { !row } else { row };
        weights[filled] = quantised.abs() as u16;
        filled += 1;
        if filled == hashes.len() {
            votes.add(&hashes, &weights);
            filled = 0;
        }
    }
    votes.add(&hashes[..filled], &weights[..filled]);
    Ok(votes.finish())
}

/// Returns the largest absolute value of the components, which is positive.
///
/// # Errors
/// As for [`fingerprint_dense`].
fn largest(values: impl Iterator<Item = f32>) -> Result<f64, VectorError> {
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
        Some(x) => Ok(f64::from(x)),
    }
}
