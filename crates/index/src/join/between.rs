//! The join of two sets: finds all pairs of a row of the one and a row of the other within Hamming distance k.
//!
//! The tables of a plan over one set are built once ([`ChunkJoin::new`]). The other set comes in chunks of any size.
//! For each table in turn, a chunk is sorted by the table's address, and its buckets are compared with those of the
//! table. This is the batch job of Manku, Jain and Das Sarma 2007: tables over the new fingerprints, and one scan of
//! all the stored ones against them.

use rayon::prelude::*;
use twinprint_fingerprint::{Width, kernel};

use super::{Batch, Pair};
use crate::address::Address;
use crate::bucket::Buckets;
use crate::flips;
use crate::plan::check::{Counterexample, is_exact};
use crate::plan::{Plan, leading_bits};

/// Permuted tables over one set of rows, which are joined with chunks of another set.
///
/// ```
/// use twinprint_index::Pair;
/// use twinprint_index::join::ChunkJoin;
///
/// let new = [0b0000_u64, u64::MAX];
/// let stored = [0b0111_u64, 0b1111, !1];
/// let mut join = ChunkJoin::new(&new, stored.len(), 3)?;
///
/// let mut pairs = Vec::new();
/// join.join(&stored, |pair| pairs.push(pair));
/// pairs.sort();
/// assert_eq!(pairs, [Pair { a: 0, b: 0, distance: 3 }, Pair { a: 1, b: 2, distance: 1 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChunkJoin<W> {
    tables: Vec<JoinSide<W>>,
    k: u32,
    /// The sorted chunk, in a buffer that is reused.
    chunk: Buckets<W>,
}

#[derive(Debug)]
struct JoinSide<W> {
    buckets: Buckets<W>,
    mask: W,
    radius: u32,
    flips: Vec<u32>,
}

impl<W: Width> ChunkJoin<W> {
    /// Builds tables over `rows` for joins within Hamming distance `k`, by the plan that is cheapest for chunks of
    /// about `chunk` rows.
    ///
    /// # Errors
    /// Only a plan that is not exact is an error, and the plans chosen here are exact.
    ///
    /// # Panics
    /// If `rows` has 2³² rows or more.
    pub fn new(rows: &[W], chunk: usize, k: u32) -> Result<Self, Counterexample> {
        let plan = plan::<W>(rows.len(), chunk, k);
        Self::with(rows, &plan.0, plan.1)
    }

    /// Like [`ChunkJoin::new`], but by a given plan. Each table is addressed by at most `bits` bits of its mask.
    ///
    /// # Errors
    /// If the plan is not exact, an error set that it misses.
    ///
    /// # Panics
    /// If `rows` has 2³² rows or more.
    pub fn with(rows: &[W], plan: &Plan, bits: u32) -> Result<Self, Counterexample> {
        is_exact(plan)?;
        assert!(
            u32::try_from(rows.len()).is_ok(),
            "a join takes fewer than 2^32 rows"
        );
        let side = |spec: &crate::plan::TableSpec| {
            let mask = leading_bits(spec.mask, bits);
            let mut buckets = Buckets::new();
            buckets.order(rows, Address::new(mask));
            buckets.shrink();
            JoinSide {
                flips: flips::ball(buckets.address().bits(), spec.radius),
                buckets,
                mask: W::truncate(mask),
                radius: spec.radius,
            }
        };
        Ok(Self {
            tables: plan.tables.iter().map(side).collect(),
            k: plan.k,
            chunk: Buckets::new(),
        })
    }

    /// Calls `hit` with every pair of a row of the tables (`Pair::a`) and a row of `chunk` (`Pair::b`) within the
    /// radius, each once, in no particular order. Returns the number of comparisons.
    ///
    /// # Panics
    /// If the chunk has 2³² rows or more.
    pub fn join(&mut self, chunk: &[W], mut hit: impl FnMut(Pair)) -> u64 {
        let mut compared = 0;
        for t in 0..self.tables.len() {
            self.order(chunk, t);
            compared += self.compare_run(t, 0..chunk.len(), &mut hit);
        }
        compared
    }

    /// Like [`ChunkJoin::join`], but on all threads of the current rayon pool. `sink` gets the pairs in batches, from
    /// several threads at once.
    ///
    /// # Panics
    /// If the chunk has 2³² rows or more.
    pub fn join_parallel(&mut self, chunk: &[W], sink: &(impl Fn(&[Pair]) + Sync)) -> u64 {
        let mut compared = 0;
        for t in 0..self.tables.len() {
            self.order(chunk, t);
            let this = &*self;
            let tiles = (0..chunk.len().div_ceil(TILE)).into_par_iter();
            compared += tiles
                .map(|tile| {
                    let rows = tile * TILE..((tile + 1) * TILE).min(chunk.len());
                    let mut batch = Batch::new(sink);
                    let compared = this.compare_run(t, rows, &mut |pair| batch.add(pair));
                    batch.send();
                    compared
                })
                .sum::<u64>();
        }
        compared
    }

    /// The memory in bytes for each row of a join with `tables` tables.
    pub(super) fn bytes_a_row(tables: usize) -> u64 {
        let ordered = u64::from(W::BITS / 8) + 4;
        // Each table has the row, its id and up to two bounds. The table that is being sorted also has the output of
        // the first sorting pass.
        tables as u64 * (ordered + 8) + ordered
    }

    /// The number of tables that [`ChunkJoin::new`] builds over `rows` rows.
    pub(super) fn tables_for(rows: usize, chunk: usize, k: u32) -> usize {
        plan::<W>(rows, chunk, k).0.tables.len()
    }

    fn order(&mut self, chunk: &[W], t: usize) {
        assert!(
            u32::try_from(chunk.len()).is_ok(),
            "a join takes fewer than 2^32 rows"
        );
        let address = self.tables[t].buckets.address().clone();
        self.chunk.order(chunk, address);
    }

    /// Joins a range of the sorted chunk with table `t`. Returns the number of comparisons.
    fn compare_run(&self, t: usize, range: std::ops::Range<usize>, hit: &mut impl FnMut(Pair)) -> u64 {
        let (side, earlier, theirs) = (&self.tables[t], &self.tables[..t], &self.chunk);
        let mut compared = 0;
        let mut start = range.start;
        while start < range.end {
            let address = side.buckets.address().of(theirs.rows[start]);
            let run = start..theirs.bucket(address).end.min(range.end);
            for &flip in &side.flips {
                let ours = side.buckets.bucket(address ^ flip);
                compared += (ours.len() * run.len()) as u64;
                let (a, b) = (&side.buckets.rows[ours.clone()], &theirs.rows[run.clone()]);
                kernel::hamming_many_to_many(a, b, self.k, &mut |i, j, distance| {
                    let differing = a[i as usize] ^ b[j as usize];
                    let seen = |s: &JoinSide<W>| flips::reaches(differing, s.mask, s.radius);
                    if !earlier.iter().any(seen) {
                        hit(Pair {
                            a: side.buckets.ids[ours.start + i as usize],
                            b: theirs.ids[run.start + j as usize],
                            distance,
                        });
                    }
                });
            }
            start = run.end;
        }
        compared
    }
}

/// The number of rows of a chunk that one thread joins at a time.
const TILE: usize = 1 << 13;

/// Estimates the nanoseconds that one core takes to join a chunk with tables over `rows` rows.
pub(crate) fn cost<W: Width>(rows: usize, chunk: usize, k: u32) -> f64 {
    let (plan, bits) = plan::<W>(rows, chunk, k);
    cost_of(&plan, bits, rows, chunk)
}

/// Chooses the cheapest plan and address width for joining tables over `rows` rows with chunks. The cost of a chunk is
/// that of sorting its rows once per table, of visiting the buckets within the radius of each run of equal addresses,
/// and of comparing the rows of the two.
fn plan<W: Width>(rows: usize, chunk: usize, k: u32) -> (Plan, u32) {
    let mut best: Option<(f64, Plan, u32)> = None;
    for parts in 1..=(k + 1).min(W::BITS) {
        let Ok(plan) = Plan::even_parts(W::BITS, k, parts) else {
            continue;
        };
        for bits in 1..=22 {
            let radius = plan.tables.iter().map(|t| t.radius).max().unwrap_or(0);
            if flips::ball_size(bits, radius) > 1e6 {
                break;
            }
            let cost = cost_of(&plan, bits, rows, chunk);
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, plan.clone(), bits));
            }
        }
    }
    match best {
        Some((_, plan, bits)) => (plan, bits),
        // This arm is never reached, because a plan of one part exists for every width. Its plan, a scan, is correct
        // for any rows.
        None => (
            Plan {
                bits: W::BITS,
                k,
                name: "scan".into(),
                tables: vec![crate::plan::TableSpec { mask: 1, radius: 1 }],
            },
            1,
        ),
    }
}

/// Estimates the cost of joining a chunk by a plan, in nanoseconds of one core.
fn cost_of(plan: &Plan, bits: u32, rows: usize, chunk: usize) -> f64 {
    // The constants of this cost model differ from those of a self-join.
    const ORDER_NANOSECONDS: f64 = 12.0;
    const RUN_NANOSECONDS: f64 = 12.0;
    const COMPARISON_NANOSECONDS: f64 = 0.06;
    let (n, m) = (rows.max(1) as f64, chunk.max(1) as f64);
    plan.tables
        .iter()
        .map(|t| {
            let u = bits.min(t.mask.count_ones());
            let (ball, space) = (flips::ball_size(u, t.radius), 2f64.powi(u as i32));
            let runs = space * -(-m / space).exp_m1();
            ORDER_NANOSECONDS * m
                + runs * ball * RUN_NANOSECONDS
                + m * n * ball / space * COMPARISON_NANOSECONDS
                + space
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;
    use crate::samples::{Shape, at_every_width, fewer, for_random, rows, shape};

    fn brute<W: Width>(a: &[W], b: &[W], k: u32) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (i, &x) in (0..).zip(a) {
            for (j, &y) in (0..).zip(b) {
                if x.distance(y) <= k {
                    pairs.push(Pair {
                        a: i,
                        b: j,
                        distance: x.distance(y) as u8,
                    });
                }
            }
        }
        pairs.sort_unstable();
        pairs
    }

    fn check<W: Width>(all: &[W], k: u32, chunk: usize) {
        let (a, b) = all.split_at(all.len() / 3);
        let mut join = ChunkJoin::new(a, chunk, k).unwrap();
        let mut found = Vec::new();
        for (c, rows) in b.chunks(chunk).enumerate() {
            join.join(rows, |pair| {
                found.push(Pair {
                    b: pair.b + (c * chunk) as u32,
                    ..pair
                });
            });
        }
        found.sort_unstable();
        assert_eq!(found, brute(a, b, k), "within {k}");
        let at_once = Mutex::new(Vec::new());
        join.join_parallel(b, &|pairs| at_once.lock().unwrap().extend_from_slice(pairs));
        let mut at_once = at_once.into_inner().unwrap();
        at_once.sort_unstable();
        assert_eq!(at_once, found, "on all threads within {k}");
    }

    fn pairs_are_those_of_brute_force<W: Width>() {
        let any = (shape(), 0usize..200, 0..=W::BITS / 5, 1usize..120, any::<u64>());
        for_random::<W, _>(24, &any, |(shape, n, k, chunk, seed)| {
            check::<W>(&rows(shape, n, k, seed), k, chunk);
        });
    }

    fn large_sets_of_several_plans<W: Width>() {
        let sample = rows::<W>(Shape::Clumped, fewer::<W>(6000), 6, 3);
        for k in [3, 6] {
            check(&sample, k, 2500);
        }
        let (plan, bits) = plan::<W>(1_000_000, 1 << 22, 3);
        assert!(plan.tables.len() > 1 && bits > 8, "{plan} by {bits}");
    }

    at_every_width! {
        pairs_are_those_of_brute_force
        large_sets_of_several_plans
    }

    at_every_width! {
        bits_16: u16,
        pairs_are_those_of_brute_force
    }
}
