//! The recall of a plan: the share of the pairs at a distance that some table finds.
//!
//! The pairs that no table finds are counted without listing them. Bits that the same masks contain are an atom, and a
//! choice of e_a errors for each atom stands for Π C(|a|, e_a) sets of differing bits. The atoms are taken one after the
//! other. A *state* is the number of errors so far, with the number of further errors with which each table misses the
//! set; equal states are merged, and their sets are added up. A state is dropped once a table finds its sets: if the
//! table has no atoms left, or if too few errors are left. For disjoint parts only the current part distinguishes
//! states, so this is the product of one polynomial for each part.
//!
//! If there are too many states, as for many overlapping random keys, the share is estimated from random sets.

use std::collections::HashMap;

use super::atoms::atoms;
use super::catalogue::choose;
use super::{Plan, TableSpec};
use crate::random::Random;

/// The largest number of steps from one state to another by which the sets that a plan misses are counted.
const MAX_STEPS: u64 = 1 << 20;
/// The largest number of steps, times the number of tables: each state has a byte for each table.
const MAX_STATE_BYTES: u64 = 1 << 27;
/// The number of sets that an estimate draws.
const DRAWN: u32 = 1 << 17;

/// The share of the pairs at a distance that a plan finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recall {
    /// The share. If it is counted, it is 1 if and only if the plan finds every pair at the distance.
    pub share: f64,
    /// The standard error of the share; 0 if the share is counted and not estimated.
    pub standard_error: f64,
}

impl Recall {
    /// The recall of a search that finds every pair.
    pub const ALL: Self = Self {
        share: 1.0,
        standard_error: 0.0,
    };

    /// Returns `true` if the share is estimated from random sets of differing bits.
    ///
    /// ```
    /// use twinprint_index::Plan;
    ///
    /// assert!(!Plan::even_parts(128, 40, 41)?.recall(50).is_estimated());
    /// # Ok::<(), twinprint_index::plan::PlanError>(())
    /// ```
    pub fn is_estimated(&self) -> bool {
        self.standard_error > 0.0
    }

    /// The share that `missed` of `all` sets of differing bits leave.
    fn counted(missed: u128, all: u128) -> Self {
        let share = (all - missed.min(all)) as f64 / all.max(1) as f64;
        Self {
            // A share just below 1 must not be rounded to 1.
            share: if missed == 0 {
                1.0
            } else {
                share.min(1.0 - f64::EPSILON)
            },
            standard_error: 0.0,
        }
    }

    /// The share that is estimated from `found` of [`DRAWN`] sets.
    fn estimated(found: u32) -> Self {
        // Laplace's rule of succession: the error of a share of 0 or 1 is not zero either.
        let likely = (f64::from(found) + 1.0) / (f64::from(DRAWN) + 2.0);
        Self {
            share: f64::from(found) / f64::from(DRAWN),
            standard_error: (likely * (1.0 - likely) / f64::from(DRAWN)).sqrt(),
        }
    }
}

impl Plan {
    /// Returns the share of the pairs of fingerprints at a Hamming distance that some table finds by its whole key, if
    /// all bits differ equally often. It is 1 up to k if and only if the plan is exact. Tables with shorter addresses
    /// find more.
    ///
    /// The share is exact for every plan whose atoms (sets of bits in the same masks) are few or disjoint, and for a few
    /// differing bits. Otherwise it is estimated from 2¹⁷ random sets of differing bits. It never increases with the
    /// distance.
    ///
    /// ```
    /// use twinprint_index::Plan;
    ///
    /// let plan = Plan::even_parts(64, 3, 4)?;
    /// assert_eq!(plan.recall(3).share, 1.0);
    /// // Four differing bits touch all four blocks of 16 bits in 16⁴ of C(64, 4) cases.
    /// assert_eq!(plan.recall(4).share, 1.0 - 65_536.0 / 635_376.0);
    /// # Ok::<(), twinprint_index::plan::PlanError>(())
    /// ```
    pub fn recall(&self, distance: u32) -> Recall {
        let mut recalls = self.recalls(distance);
        recalls.pop().unwrap_or(Recall::ALL)
    }

    /// Returns the [recall](Self::recall) at each distance from 0 to `largest`, or to the width if that is smaller.
    pub fn recalls(&self, largest: u32) -> Vec<Recall> {
        let largest = largest.min(self.bits);
        let counted = |missed: Vec<u128>| -> Vec<Recall> {
            (0..)
                .zip(missed)
                .map(|(distance, missed)| Recall::counted(missed, choose(self.bits, distance)))
                .collect()
        };
        if let Some(missed) = self.missed(largest) {
            return counted(missed);
        }
        // The number of steps increases with the distance.
        let last = (0..largest).map_while(|distance| self.missed(distance)).last();
        let mut recalls = last.map_or_else(Vec::new, counted);
        let found = self.found_of_drawn(largest);
        for &found in found.iter().skip(recalls.len()) {
            let mut recall = Recall::estimated(found);
            // A plan that finds a set of differing bits finds its subsets too.
            if let Some(nearer) = recalls.last() {
                recall.share = recall.share.min(nearer.share);
            }
            recalls.push(recall);
        }
        recalls
    }

    /// Returns the number of sets of 0 to `largest` differing bits that no table finds. `None` if that takes too many
    /// steps.
    fn missed(&self, largest: u32) -> Option<Vec<u128>> {
        let needed = |table: &TableSpec| u8::try_from(table.radius.saturating_add(1)).unwrap_or(u8::MAX);
        let start: Vec<u8> = self.tables.iter().map(needed).collect();
        let atoms = atoms(self);
        let mut states = States {
            by_errors: vec![HashMap::new(); largest as usize + 1],
            left: MAX_STEPS.min(MAX_STATE_BYTES / start.len().max(1) as u64),
        };
        states.by_errors[0].insert(start, 1);
        for (i, atom) in atoms.iter().enumerate() {
            states.add_errors(&atom.tables, atom.bits.count_ones())?;
            let is_last = |table: &&u32| !atoms[i + 1..].iter().any(|later| later.tables.contains(table));
            let complete: Vec<usize> = atom.tables.iter().filter(is_last).map(|&j| j as usize).collect();
            states.keep_missed(&complete);
        }
        let missed = states.by_errors.iter().map(|states| states.values().sum());
        Some(missed.collect())
    }

    /// Draws [`DRAWN`] sets of differing bits that grow one bit at a time. Returns the number of those that some table
    /// finds, for each number of differing bits from 0 to `largest`.
    fn found_of_drawn(&self, largest: u32) -> Vec<u32> {
        let is_found = |errors: u128| {
            let found = |table: &TableSpec| (errors & table.mask).count_ones() <= table.radius;
            self.tables.iter().any(found)
        };
        let mut found = vec![0; largest as usize + 1];
        for drawn in 0..DRAWN {
            let mut random = Random(u64::from(drawn) << 32);
            let mut errors = 0u128;
            for found in &mut found {
                // A set that no table finds stays so when it grows.
                if !is_found(errors) {
                    break;
                }
                *found += 1;
                while errors.count_ones() < self.bits {
                    let bit = 1 << random.below(u64::from(self.bits));
                    if errors & bit == 0 {
                        errors |= bit;
                        break;
                    }
                }
            }
        }
        found
    }
}

/// The states after some atoms, and the number of sets of differing bits in each.
struct States {
    /// The states by their number of errors. A state has, for each table, the number of further errors with which it
    /// misses the set.
    by_errors: Vec<HashMap<Vec<u8>, u128>>,
    /// The number of further steps that are allowed.
    left: u64,
}

impl States {
    /// Puts every possible number of errors into an atom of `size` bits that is in the masks of `tables`. `None` if that
    /// takes too many steps.
    fn add_errors(&mut self, tables: &[u32], size: u32) -> Option<()> {
        let largest = self.by_errors.len() - 1;
        // States with more errors come first, so that no state gets errors of the same atom twice.
        for errors in (0..largest).rev() {
            let (fewer, more) = self.by_errors.split_at_mut(errors + 1);
            let from = fewer.last()?;
            for (more, added) in more.iter_mut().zip(1..=size) {
                let remaining = largest - errors - added as usize;
                for (state, &sets) in from {
                    self.left = self.left.checked_sub(1)?;
                    let mut state = state.clone();
                    for &table in tables {
                        let needed = state.get_mut(table as usize)?;
                        *needed = needed.saturating_sub(u8::try_from(added).unwrap_or(u8::MAX));
                    }
                    if state.iter().any(|&needed| usize::from(needed) > remaining) {
                        continue;
                    }
                    *more.entry(state).or_default() += sets * choose(size, added);
                }
            }
        }
        Some(())
    }

    /// Drops the states that one of these tables finds, because it gets no further errors.
    fn keep_missed(&mut self, complete: &[usize]) {
        if complete.is_empty() {
            return;
        }
        let misses = |state: &Vec<u8>| complete.iter().all(|&table| state.get(table) == Some(&0));
        for states in &mut self.by_errors {
            states.retain(|state, _| misses(state));
        }
    }
}
