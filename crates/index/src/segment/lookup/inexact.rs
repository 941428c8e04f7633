//! Lookups in tables whose plan is not exact, such as random permutations, and the share of pairs that they find.
//!
//! These lookups probe every table with the radius that was planned, for every radius that is asked for. So the recall
//! of each distance is a property of the tables. A lookup that compares every row instead would find more than that.

use twinprint_fingerprint::Width;

use super::keys::Search;
use super::search::{SearchPlan, TableProbes};
use crate::plan::{Plan, Recall, TableSpec, leading_bits};
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
    /// Returns `true` if lookups find every fingerprint within the radius. Otherwise [`Segment::recalls`] is the share
    /// that they find.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the share of the pairs of fingerprints at a Hamming distance that lookups find, if all bits differ equally
    /// often, for each distance from 0 to `largest`; see [`Plan::recalls`]. The share is 1 if the plan is exact. Lookups by
    /// the directory find more than those by whole keys.
    pub fn recalls(&self, search: Search, largest: u32) -> Vec<Recall> {
        let plan = &self.footer.plan;
        let all = || vec![Recall::ALL; largest.min(plan.bits) as usize + 1];
        match search {
            _ if self.exact => all(),
            Search::Variations | Search::Scan => all(),
            Search::Binary | Search::Interpolation => plan.recalls(largest),
            Search::Directory => {
                let tables = self.footer.tables.iter().map(|table| TableSpec {
                    mask: leading_bits(table.spec.mask, table.address_bits),
                    radius: table.spec.radius,
                });
                let addresses = Plan::new(plan.bits, plan.k, plan.name.clone(), tables.collect());
                // Leading bits of valid masks are valid masks; whole keys find no more than they do.
                addresses.as_ref().unwrap_or(plan).recalls(largest)
            }
        }
    }
}
