//! Plans of self-joins: a scan, or tables with their address widths.

use super::check::{Counterexample, is_exact};
use super::{MAX_ADDRESS_BITS, Plan, leading_bits};

/// The method of a self-join: a scan, or permuted tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinPlan {
    /// Compares every row with every other.
    Scan,
    /// Joins the buckets of these tables, one table after the other.
    Tables(JoinTables),
}

/// The tables of a plan, with the address bits of each table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinTables {
    pub(crate) name: String,
    pub(crate) bits: u32,
    pub(crate) k: u32,
    pub(crate) tables: Vec<JoinTable>,
}

/// A permuted table of a self-join: its address bits, and how many of them may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinTable {
    /// The mask of the address bits.
    pub(crate) address: u128,
    /// The largest number of address bits that may differ.
    pub(crate) radius: u32,
}

impl JoinPlan {
    /// Creates a plan that joins by the tables of `plan`. Table j is addressed by the `address_bits[j]` highest bits of
    /// its mask, or by all of them, up to 28, if the list is shorter. The result is correct for any address widths;
    /// they only affect the cost.
    ///
    /// # Errors
    /// If `plan` is not exact, an error set that it misses.
    pub fn from_plan(plan: &Plan, address_bits: &[u32]) -> Result<Self, Counterexample> {
        is_exact(plan)?;
        Ok(Self::from_exact(plan, address_bits))
    }

    /// Like [`JoinPlan::from_plan`] for a plan known to be exact.
    pub(crate) fn from_exact(plan: &Plan, address_bits: &[u32]) -> Self {
        let widths = address_bits.iter().copied().chain(std::iter::repeat(u32::MAX));
        let tables = plan
            .tables
            .iter()
            .zip(widths)
            .map(|(t, u)| JoinTable {
                address: leading_bits(t.mask, u.min(MAX_ADDRESS_BITS)),
                radius: t.radius,
            })
            .collect();
        Self::Tables(JoinTables {
            name: plan.name.clone(),
            bits: plan.bits,
            k: plan.k,
            tables,
        })
    }
}
