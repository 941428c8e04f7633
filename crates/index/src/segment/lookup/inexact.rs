//! Lookups in tables whose plan is not exact, such as random permutations, and the share of pairs that they find.
//!
//! These lookups probe every table with the radius that was planned, for every radius that is asked for. So the recall
//! of each distance is a property of the tables. A lookup that compares every row instead would find more than that.

use twinprint_fingerprint::Width;

use super::search::{SearchPlan, TableProbes};
use crate::plan::{Plan, TableSpec, leading_bits};
use crate::segment::Segment;
use crate::segment::table::StoredTable;

impl SearchPlan {
    /// The plan that probes every table with its planned radius.
    pub(super) fn as_planned<W: Width>(tables: &[StoredTable<W>]) -> Self {
        let probes = tables.iter().enumerate();
        let probes = probes.map(|(table, stored)| TableProbes::new(table, stored, stored.meta.spec.radius));
        Self::Probe(probes.collect())
    }
}

impl<W: Width> Segment<W> {
    /// Returns `true` if lookups find every fingerprint within the radius. Otherwise [`Segment::recall`] is the share
    /// that they find.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the share of the pairs of fingerprints at a Hamming distance that lookups by the directory find, if all
    /// bits differ equally often: 1 if the plan is exact. As [`Plan::recall`], but for the address bits of the tables.
    pub fn recall(&self, distance: u32) -> f64 {
        if self.exact {
            return 1.0;
        }
        let plan = &self.footer.plan;
        let tables = self.footer.tables.iter().map(|table| TableSpec {
            mask: leading_bits(table.spec.mask, table.address_bits),
            radius: table.spec.radius,
        });
        let addresses = Plan::new(plan.bits, plan.k, plan.name.clone(), tables.collect());
        addresses.map_or(0.0, |addresses| addresses.recall(distance))
    }
}
