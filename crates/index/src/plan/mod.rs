//! Plans: sets of permuted tables that find every fingerprint within radius k.
//!
//! A plan is a list of masks M₁…M_T over the bit positions, each with a radius ρ. A table keyed by mask M finds a
//! fingerprint if at most ρ of the differing bits are in M. The plan is *exact* for k iff for every set E of at most k
//! bit positions some j has |E ∩ M_j| ≤ ρ_j; [`check::is_exact`] decides this.
//!
//! **Truncation.** A table may address its rows by any subset A_j ⊆ M_j of its key bits. Then |E ∩ A_j| ≤ |E ∩ M_j|, so
//! whatever table j finds by its whole key it also finds by the shorter one, and an exact plan stays exact. Only the
//! number of candidates grows. So a plan fixes the masks once, and the width of an address follows the number of rows.
//!
//! Constructions: Manku, Jain, Das Sarma 2007 (block designs); Norouzi, Punjani, Fleet 2012 and Qin et al. 2018
//! (disjoint parts, general pigeonhole); Pagh 2016 and finite geometry (half-spaces).

mod atoms;
mod catalogue;
pub mod check;
mod design;
mod join;
mod recall;
#[cfg(test)]
mod tests;

use std::fmt;

pub use catalogue::MAX_TABLES;
pub(crate) use catalogue::choose;
pub(crate) use catalogue::even_radii;
pub use design::{Design, DesignError};
pub use join::{JoinPlan, JoinTables};
pub use recall::Recall;

/// The maximum width of an address of a table in memory, in bits, so that a directory has at most 2²⁸ entries.
pub(crate) const MAX_ADDRESS_BITS: u32 = 28;

/// One permuted table of a plan: the bits of its key and how many of them may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// The key bits of the table: bit i of the mask stands for bit i of the fingerprint.
    pub mask: u128,
    /// The largest number of key bits that may differ between a query and a row that the table finds.
    pub radius: u32,
}

/// A named set of tables for fingerprints of `bits` bits and radius `k`.
///
/// ```
/// use twinprint_index::Plan;
/// use twinprint_index::plan::check::is_exact;
///
/// // Four blocks of 16 bits: three errors leave one of them clean.
/// let plan = Plan::even_parts(64, 3, 4)?;
/// assert_eq!(plan.tables.len(), 4);
/// assert!(is_exact(&plan).is_ok());
/// # Ok::<(), twinprint_index::plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Width of the fingerprints.
    pub bits: u32,
    /// The Hamming radius that the plan is meant for.
    pub k: u32,
    /// The name of the construction, for display, such as `parts [2,2,2,1]` or `QR-11`.
    pub name: String,
    /// The tables, in the order in which they are probed and joined.
    pub tables: Vec<TableSpec>,
}

/// The reason why a plan cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The width of the fingerprints is not 1 to 128 bits.
    #[error("a fingerprint has 1 to 128 bits, not {0}")]
    Bits(u32),
    /// The mask of a table is empty or has bits that the fingerprint does not have.
    #[error(
        "table {table} of the plan: its mask {mask:#x} is empty or has bits beyond the {bits} bits of a fingerprint"
    )]
    Mask {
        /// The position of the table in the plan.
        table: usize,
        /// The refused mask.
        mask: u128,
        /// Width of the fingerprints.
        bits: u32,
    },
    /// The requested number of blocks or points is greater than the number of bits, or too small for the radius.
    #[error("the plan \"{what}\" does not exist for {parts} blocks, {bits} bits and radius {k}")]
    Blocks {
        /// The construction.
        what: &'static str,
        /// The requested number of blocks, parts or points.
        parts: u32,
        /// Width of the fingerprints.
        bits: u32,
        /// The requested radius.
        k: u32,
    },
    /// The radii of disjoint parts do not have the required sum.
    #[error(
        "the radii of the {parts} parts must add up to k - parts + 1 = {expected}, but they add up to {got}"
    )]
    Radii {
        /// Number of parts.
        parts: usize,
        /// The required sum of the radii.
        expected: i64,
        /// The sum of the given radii.
        got: i64,
    },
    /// The widths of disjoint parts are not those of a fingerprint.
    #[error("the widths of the parts must be positive and add up to {bits}, but they add up to {sum}")]
    Widths {
        /// The sum of the given widths.
        sum: u64,
        /// Width of the fingerprints.
        bits: u32,
    },
    /// A random key would have no bits or more than a fingerprint.
    #[error("a random key of a fingerprint of {bits} bits has 1 to {bits} bits, not {key_bits}")]
    KeyBits {
        /// The requested number of bits.
        key_bits: u32,
        /// Width of the fingerprints.
        bits: u32,
    },
    /// The construction would need more tables than [`MAX_TABLES`].
    #[error(
        "the plan \"{what}\" would have {tables} tables, and at most {MAX_TABLES} are allowed; choose another plan"
    )]
    Tables {
        /// The construction.
        what: &'static str,
        /// The number of tables that it would need.
        tables: u128,
    },
    /// The construction exists for some radii only.
    #[error("the plan \"{what}\" exists for a radius of at most {limit}, not for {k}; choose another plan")]
    Radius {
        /// The construction.
        what: &'static str,
        /// The largest radius for which the construction exists.
        limit: u32,
        /// The requested radius.
        k: u32,
    },
}

impl PlanError {
    /// The same error about the construction `name`, which uses the refused one.
    fn of(mut self, name: &'static str) -> Self {
        if let Self::Blocks { what, .. } | Self::Tables { what, .. } = &mut self {
            *what = name;
        }
        self
    }
}

impl Plan {
    /// Creates a plan after checking its width and masks. [`check::is_exact`] checks that it is exact.
    ///
    /// # Errors
    /// `Bits` for a width outside 1..=128, `Mask` for a mask that is empty or too wide.
    pub fn new(
        bits: u32,
        k: u32,
        name: impl Into<String>,
        tables: Vec<TableSpec>,
    ) -> Result<Self, PlanError> {
        let all = all_bits(bits)?;
        for (table, spec) in tables.iter().enumerate() {
            if spec.mask == 0 || spec.mask & !all != 0 {
                return Err(PlanError::Mask {
                    table,
                    mask: spec.mask,
                    bits,
                });
            }
        }
        Ok(Self {
            bits,
            k,
            name: name.into(),
            tables,
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} bits, k = {}, {} tables)",
            self.name,
            self.bits,
            self.k,
            self.tables.len()
        )
    }
}

/// Returns a mask of the `bits` lowest bits, which are all bits of a fingerprint of that width.
pub(crate) fn all_bits(bits: u32) -> Result<u128, PlanError> {
    match bits {
        1..=127 => Ok((1 << bits) - 1),
        128 => Ok(u128::MAX),
        _ => Err(PlanError::Bits(bits)),
    }
}

/// Returns the `u` highest bits of `mask`, or all of them if there are no more. By default they are the address bits of
/// a table.
pub fn leading_bits(mask: u128, u: u32) -> u128 {
    let mut rest = mask;
    for _ in 0..mask.count_ones().saturating_sub(u) {
        rest &= rest - 1;
    }
    rest
}
