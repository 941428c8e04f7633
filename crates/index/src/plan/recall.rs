//! The recall of a plan: the share of the pairs at a distance that some table finds.

use super::Plan;
use super::catalogue::{choose, unions};
use crate::random::Random;

/// Up to this number of sets of differing bits, all are tried.
const MAX_COUNTED: u128 = 1 << 20;
/// The number of sets that are drawn if there are more.
const DRAWN: u32 = 1 << 17;

impl Plan {
    /// Returns the share of the pairs of fingerprints at a Hamming distance that some table finds by its whole key, if
    /// all bits differ equally often. It is 1 up to k if and only if the plan is exact. Tables with shorter addresses
    /// find more.
    ///
    /// The share is exact if there are at most 2²⁰ sets of differing bits. Otherwise it is that of 2¹⁷ random sets.
    ///
    /// ```
    /// use twinprint_index::Plan;
    ///
    /// let plan = Plan::even_parts(64, 3, 4)?;
    /// assert_eq!(plan.recall(3), 1.0);
    /// // Four differing bits can touch all four blocks.
    /// assert!(plan.recall(4) < 1.0);
    /// # Ok::<(), twinprint_index::plan::PlanError>(())
    /// ```
    pub fn recall(&self, distance: u32) -> f64 {
        let finds = |errors: u128| {
            let found = |table: &super::TableSpec| (errors & table.mask).count_ones() <= table.radius;
            self.tables.iter().any(found)
        };
        let distance = distance.min(self.bits);
        let (mut tried, mut found) = (0u32, 0u32);
        let mut attempt = |errors| {
            tried += 1;
            found += u32::from(finds(errors));
        };
        if choose(self.bits, distance) <= MAX_COUNTED {
            let bits: Vec<u128> = (0..self.bits).map(|bit| 1 << bit).collect();
            unions(&bits, distance as usize, 0, &mut attempt);
        } else {
            let mut random = Random(u64::from(distance));
            for _ in 0..DRAWN {
                attempt(random.subset(self.bits, distance));
            }
        }
        f64::from(found) / f64::from(tried)
    }
}
