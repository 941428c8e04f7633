//! Hyperplanes with Gaussian normals.
//!
//! The coefficient of dimension d in the normal of bit b is the quantile of the normal distribution that 16 random bits
//! choose, in units of 1/4096. The random bits are the 16-bit number b mod 8 of the hash of d's bytes and a byte b / 8.
//! The bytes of a numbered dimension are the number, little-endian in eight bytes; those of a named one are the name
//! and a byte 0xFF, which no name contains. So a name never has the coefficients of a number below 2⁵⁶.
//!
//! Invariant: the sums are integers, so they do not depend on the order of the components or on the CPU.

use std::collections::HashMap;
use std::fmt;

use super::quantiles::{DEVIATION, quantile};
use super::{MAX_QUANTISED, VectorError, largest, quantise};
use crate::feature::hash_one;
use crate::key::HashKey;
use crate::width::Width;

/// The maximum number of dimensions whose coefficients are kept: 4 MiB at 128 bits.
const MAX_KEPT: usize = 1 << 14;

/// The number of coefficients that one hash gives.
const PER_HASH: u32 = 8;

/// A dimension of a vector space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// A number.
    Index(u64),
    /// A name.
    Name(String),
}

impl Dimension {
    /// The bytes that the coefficients are made from.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Index(index) => index.to_le_bytes().to_vec(),
            Self::Name(name) => [name.as_bytes(), &[0xFF]].concat(),
        }
    }

    /// A hash that identifies the dimension.
    #[must_use]
    pub fn hash(&self, key: &HashKey) -> u128 {
        hash_one(key, &self.bytes())
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// The fingerprint of a vector, and the sums that it is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorVotes {
    /// For each bit, the lowest first: the sum over all components of the value times the coefficient of the dimension.
    /// The bit is 1 if the sum is positive.
    pub sums: Vec<f64>,
    /// The fingerprint, in the low bits.
    pub fingerprint: u128,
}

/// Random hyperplanes with Gaussian normals, which make fingerprints of vectors. Keeps the coefficients of dimensions
/// that it has seen, so use one for many vectors.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_fingerprint::hyperplane::{Dimension, Hyperplanes, VectorError};
///
/// # fn main() -> Result<(), VectorError> {
/// let mut hyperplanes = Hyperplanes::new(HashKey::PUBLIC, 64);
/// let dense = hyperplanes.of_dense(&[0.5, 0.0, -1.5])?;
/// let sparse = [(Dimension::Index(2), -1.5), (Dimension::Index(0), 0.5)];
/// assert_eq!(hyperplanes.of(&sparse)?, dense);
///
/// let named = [(Dimension::Name("price".into()), 0.5), (Dimension::Name("size".into()), -1.5)];
/// assert_ne!(hyperplanes.of(&named)?.fingerprint, dense.fingerprint);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Hyperplanes {
    key: HashKey,
    bits: u32,
    kept: HashMap<Dimension, Box<[i16]>>,
}

impl Hyperplanes {
    /// Creates hyperplanes for fingerprints of `bits` bits, at most 128. A narrower fingerprint is the low part of a
    /// wider one under the same key.
    #[must_use]
    pub fn new(key: HashKey, bits: u32) -> Self {
        Self {
            key,
            bits: bits.min(u128::BITS),
            kept: HashMap::new(),
        }
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Computes the fingerprint of a vector, given by its components in any order. A dimension that occurs twice counts
    /// with both values. O(components · bits).
    ///
    /// # Errors
    /// [`VectorError`] if the vector is empty, all zero, or has a component that is not finite.
    pub fn of(&mut self, components: &[(Dimension, f64)]) -> Result<VectorVotes, VectorError> {
        let largest = largest(components.iter().map(|&(_, x)| x))?;
        let mut sums = vec![0i64; self.bits as usize];
        for (dimension, x) in components {
            self.add(&mut sums, dimension, quantise(*x, largest));
        }
        Ok(votes(&sums, largest))
    }

    /// Computes the fingerprint of a dense vector. Component i belongs to dimension i.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn of_dense(&mut self, vector: &[f32]) -> Result<VectorVotes, VectorError> {
        let largest = largest(vector.iter().map(|&x| f64::from(x)))?;
        let mut sums = vec![0i64; self.bits as usize];
        for (index, &x) in (0..).zip(vector) {
            self.add(&mut sums, &Dimension::Index(index), quantise(x.into(), largest));
        }
        Ok(votes(&sums, largest))
    }

    /// Adds the product of a component with each coefficient of its dimension.
    fn add(&mut self, sums: &mut [i64], dimension: &Dimension, value: i16) {
        let made;
        let coefficients: &[i16] = match self.kept.get(dimension) {
            Some(kept) => kept,
            None if self.kept.len() < MAX_KEPT => {
                let made = self.coefficients(dimension);
                self.kept.entry(dimension.clone()).or_insert(made)
            }
            None => {
                made = self.coefficients(dimension);
                &made
            }
        };
        for (sum, &coefficient) in sums.iter_mut().zip(coefficients) {
            *sum += i64::from(i32::from(value) * i32::from(coefficient));
        }
    }

    /// The coefficients of a dimension, in units of 1/4096.
    fn coefficients(&self, dimension: &Dimension) -> Box<[i16]> {
        let mut bytes = dimension.bytes();
        let mut coefficients = Vec::with_capacity(self.bits as usize);
        for block in 0..self.bits.div_ceil(PER_HASH) {
            bytes.push(block as u8);
            let hash = hash_one(&self.key, &bytes);
            bytes.pop();
            let chosen = (0..PER_HASH).map(|part| quantile((hash >> (16 * part)) as u16));
            coefficients.extend(chosen.take((self.bits - PER_HASH * block) as usize));
        }
        coefficients.into()
    }
}

/// The fingerprint that sums make. `largest` is the component that was scaled to the largest integer.
fn votes(sums: &[i64], largest: f64) -> VectorVotes {
    let unit = largest / MAX_QUANTISED / f64::from(DEVIATION);
    VectorVotes {
        sums: sums.iter().map(|&sum| sum as f64 * unit).collect(),
        fingerprint: u128::from_sums(sums),
    }
}
