//! Decides whether a plan is exact, and finds an error set that it misses if it is not.
//!
//! An *error set* is the set of bits in which two fingerprints differ. Bit positions that are in the same masks are
//! interchangeable: they form an *atom*. A missed error set is a choice of e_a errors for each atom a, 0 ≤ e_a ≤ |a|,
//! such that every mask has more errors than its radius, with Σ e_a ≤ k. So the question is a small covering problem
//! over atoms instead of one over C(f, ≤k) bit sets. It is solved by branch and bound: take an unsatisfied mask with
//! the fewest open atoms, put one more error into each of them in turn, and close an atom after its turn so that no
//! multiset is tried twice. A branch is cut if the errors left are too few for the most demanding mask, or for the sum
//! of all demands at the rate of the atom that is in most unsatisfied masks. For disjoint masks the answer is the
//! pigeonhole sum, found without search.

use std::fmt;

use super::Plan;
use super::atoms::atoms;

/// An error set that shows that a plan is not exact: at most k differing bits with which no table of the plan finds a
/// pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The differing bits of the pair, as a mask.
    pub errors: u128,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the plan is not exact: no table finds two fingerprints that differ in the bits {:#x}",
            self.errors
        )
    }
}

impl std::error::Error for Counterexample {}

/// Checks that a plan is exact: for every pair of fingerprints within the plan's k, at least one table finds it.
///
/// The answer is exact for every plan. For the plans of this crate the check takes well under a second; the worst case
/// is exponential in k.
///
/// ```
/// use twinprint_index::Plan;
/// use twinprint_index::plan::check::is_exact;
///
/// let mut plan = Plan::even_parts(64, 3, 4)?;
/// assert!(is_exact(&plan).is_ok());
/// plan.tables.pop();
/// assert!(is_exact(&plan).is_err());
/// # Ok::<(), twinprint_index::plan::PlanError>(())
/// ```
///
/// # Errors
/// If the plan is not exact, an error set of at most k bits that it misses.
pub fn is_exact(plan: &Plan) -> Result<(), Counterexample> {
    // A table finds every pair if its radius is not less than the number of bits in its mask.
    if plan.tables.iter().any(|t| t.radius >= t.mask.count_ones()) {
        return Ok(());
    }
    let mut atoms = atoms(plan);
    // Errors in bits that no mask contains make no table miss.
    atoms.retain(|atom| !atom.tables.is_empty());
    let mut search = Search {
        deficit: plan.tables.iter().map(|t| i64::from(t.radius) + 1).collect(),
        members: plan.tables.iter().map(|_| Vec::new()).collect(),
        open: atoms.iter().map(|atom| atom.bits.count_ones()).collect(),
        taken: vec![0; atoms.len()],
        tables_of: atoms.iter().map(|atom| atom.tables.clone()).collect(),
    };
    for (a, tables) in search.tables_of.iter().enumerate() {
        for &j in tables {
            search.members[j as usize].push(a);
        }
    }
    let disjoint = search.tables_of.iter().all(|tables| tables.len() == 1);
    let missed = if disjoint {
        search.pigeonhole(plan.k)
    } else {
        search.descend(plan.k)
    };
    if !missed {
        return Ok(());
    }
    let mut errors = 0;
    for (atom, &taken) in atoms.iter().zip(&search.taken) {
        errors |= super::leading_bits(atom.bits, taken);
    }
    Err(Counterexample { errors })
}

/// The state of the search for an error set that every table misses.
struct Search {
    /// For each table, the number of further errors with which it misses the error set; zero or less if it misses the
    /// set already.
    deficit: Vec<i64>,
    /// For each table, the atoms in its mask.
    members: Vec<Vec<usize>>,
    /// For each atom, the tables whose masks contain it.
    tables_of: Vec<Vec<u32>>,
    /// For each atom, the number of bits that may still become errors on this branch.
    open: Vec<u32>,
    /// For each atom, the number of errors put into it so far.
    taken: Vec<u32>,
}

/// The result of bounding a state of the search.
enum BoundOutcome {
    /// Every table misses the error set found so far.
    Missed,
    /// The errors that are left are too few to make every table miss.
    Hopeless,
    /// Undecided; branch on the mask of this table.
    Branch(usize),
}

impl Search {
    /// Returns `true` if a plan of disjoint masks misses an error set of `k` bits: radius + 1 errors in every mask.
    /// Every mask has room for them, because a plan in which some mask is no wider than its radius was accepted before.
    fn pigeonhole(&mut self, k: u32) -> bool {
        if self.deficit.iter().sum::<i64>() > i64::from(k) {
            return false;
        }
        for (atoms, &deficit) in self.members.iter().zip(&self.deficit) {
            if let [atom] = atoms[..] {
                self.taken[atom] = deficit as u32;
            }
        }
        true
    }

    /// Returns `true` if every table can be made to miss with `left` more errors; `taken` then has the error set.
    fn descend(&mut self, left: u32) -> bool {
        let table = match self.bound(left) {
            BoundOutcome::Missed => return true,
            BoundOutcome::Hopeless => return false,
            BoundOutcome::Branch(table) => table,
        };
        let turns: Vec<(usize, u32)> = self.members[table].iter().map(|&a| (a, self.open[a])).collect();
        for &(atom, open) in &turns {
            if open == 0 {
                continue;
            }
            self.open[atom] = open - 1;
            self.place(atom, 1);
            if self.descend(left - 1) {
                return true;
            }
            self.place(atom, -1);
            self.open[atom] = 0;
        }
        for (atom, open) in turns {
            self.open[atom] = open;
        }
        false
    }

    /// Puts an error into an atom (`by` = +1) or takes it back (`by` = −1).
    fn place(&mut self, atom: usize, by: i64) {
        self.taken[atom] = self.taken[atom].wrapping_add_signed(by as i32);
        for &j in &self.tables_of[atom] {
            self.deficit[j as usize] -= by;
        }
    }

    fn bound(&self, left: u32) -> BoundOutcome {
        let mut best: Option<(u32, usize)> = None;
        let mut total = 0;
        for (j, &deficit) in self.deficit.iter().enumerate().filter(|(_, d)| **d > 0) {
            let (room, width) = self.members[j].iter().fold((0, 0), |(r, w), &a| {
                (r + self.open[a], w + u32::from(self.open[a] > 0))
            });
            if deficit > i64::from(left.min(room)) {
                return BoundOutcome::Hopeless;
            }
            total += deficit;
            if best.is_none_or(|(fewest, _)| width < fewest) {
                best = Some((width, j));
            }
        }
        let Some((_, table)) = best else {
            return BoundOutcome::Missed;
        };
        let serves = |a: usize| {
            self.tables_of[a]
                .iter()
                .filter(|&&j| self.deficit[j as usize] > 0)
                .count()
        };
        let rate = (0..self.open.len())
            .filter(|&a| self.open[a] > 0)
            .map(serves)
            .max()
            .unwrap_or(0);
        if total > i64::from(left) * rate as i64 {
            return BoundOutcome::Hopeless;
        }
        BoundOutcome::Branch(table)
    }
}
