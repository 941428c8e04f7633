//! The join of two sets: finds all pairs of a row of the one and a row of the other within Hamming distance k.
//!
//! If the other set comes in chunks, the tables of a plan over the first set are built once ([`ChunkJoin::new`]). For each
//! table in turn, a chunk is sorted by the table's address, and its buckets are compared with those of the table. This is the
//! batch job of Manku, Jain and Das Sarma 2007: tables over the new fingerprints, and one scan of all the stored ones against
//! them. If both sets are in memory, one table after the other is built over both ([`join_sets`]).

use std::ops::Range;

use rayon::prelude::*;
use twinprint_fingerprint::{Width, kernel};

use super::{Batch, Pair};
use crate::address::Address;
use crate::bucket::Buckets;
use crate::flips;
use crate::plan::check::{Counterexample, is_exact};
use crate::plan::{Plan, TableSpec, leading_bits};

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
    /// The pairs that each table finds.
    reaches: Vec<Reach<W>>,
    k: u32,
    /// The sorted chunk, in a buffer that is reused.
    chunk: Buckets<W>,
}

#[derive(Debug)]
struct JoinSide<W> {
    buckets: Buckets<W>,
    reach: Reach<W>,
    flips: Vec<u32>,
}

/// The pairs that a table finds: those that differ in at most `radius` bits of `mask`.
#[derive(Clone, Copy, Debug)]
struct Reach<W> {
    mask: W,
    radius: u32,
}

impl<W: Width> JoinSide<W> {
    /// Sorts `rows` by at most `bits` bits of a table's mask.
    fn of(rows: &[W], table: TableSpec, bits: u32) -> Self {
        let mask = leading_bits(table.mask, bits);
        let mut buckets = Buckets::new();
        buckets.order(rows, Address::new(mask));
        buckets.shrink();
        Self {
            flips: flips::ball(buckets.address().bits(), table.radius),
            buckets,
            reach: Reach {
                mask: W::truncate(mask),
                radius: table.radius,
            },
        }
    }

    /// Compares a range of the sorted rows `theirs` with this table, in parallel. Leaves out the pairs that earlier tables
    /// find. Returns the number of comparisons.
    fn compare(
        &self,
        theirs: &Buckets<W>,
        earlier: &[Reach<W>],
        k: u32,
        sink: &(impl Fn(&[Pair]) + Sync),
    ) -> u64 {
        let rows = theirs.rows.len();
        let tiles = (0..rows.div_ceil(TILE)).into_par_iter();
        tiles
            .map(|tile| {
                let range = tile * TILE..((tile + 1) * TILE).min(rows);
                let mut batch = Batch::new(sink);
                let compared = self.compare_run(theirs, range, earlier, k, &mut |pair| batch.add(pair));
                batch.send();
                compared
            })
            .sum()
    }

    /// Like [`compare`](Self::compare), but on this thread.
    fn compare_run(
        &self,
        theirs: &Buckets<W>,
        range: Range<usize>,
        earlier: &[Reach<W>],
        k: u32,
        hit: &mut impl FnMut(Pair),
    ) -> u64 {
        let mut compared = 0;
        let mut start = range.start;
        while start < range.end {
            let address = self.buckets.address().of(theirs.rows[start]);
            let run = start..theirs.bucket(address).end.min(range.end);
            for &flip in &self.flips {
                let ours = self.buckets.bucket(address ^ flip);
                compared += (ours.len() * run.len()) as u64;
                let (a, b) = (&self.buckets.rows[ours.clone()], &theirs.rows[run.clone()]);
                kernel::hamming_many_to_many(a, b, k, &mut |i, j, distance| {
                    let differing = a[i as usize] ^ b[j as usize];
                    let seen = |reach: &Reach<W>| flips::reaches(differing, reach.mask, reach.radius);
                    if !earlier.iter().any(seen) {
                        hit(Pair {
                            a: self.buckets.ids[ours.start + i as usize],
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

/// Finds every pair of a row of `a` (`Pair::a`) and a row of `b` (`Pair::b`) within Hamming distance `k`, each once. Runs on the
/// current rayon pool. `sink` gets the pairs in batches, from several threads at once, in no particular order. Ends early
/// once `stop` returns `true`. Returns the number of comparisons.
///
/// One table at a time is in memory, with copies of the rows and ids of both sets.
///
/// ```
/// use std::sync::Mutex;
///
/// use twinprint_index::Pair;
/// use twinprint_index::join::join_sets;
///
/// let (a, b) = ([0b0000_u64, u64::MAX], [0b0111_u64, 0b1111, !1]);
/// let pairs = Mutex::new(Vec::new());
/// join_sets(&a, &b, 3, &|| false, &|batch: &[Pair]| {
///     pairs.lock().unwrap().extend_from_slice(batch);
/// });
/// let mut pairs = pairs.into_inner()?;
/// pairs.sort();
/// assert_eq!(pairs, [Pair { a: 0, b: 0, distance: 3 }, Pair { a: 1, b: 2, distance: 1 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `a` or `b` has 2³² rows or more.
pub fn join_sets<W: Width>(
    a: &[W],
    b: &[W],
    k: u32,
    stop: &(dyn Fn() -> bool + Sync),
    sink: &(impl Fn(&[Pair]) + Sync),
) -> u64 {
    assert_row_numbers(a);
    assert_row_numbers(b);
    let (plan, bits) = plan::<W>(a.len(), b.len(), k);
    let mut theirs = Buckets::new();
    let mut earlier = Vec::new();
    let mut compared = 0;
    for &table in &plan.tables {
        if stop() {
            break;
        }
        let side = JoinSide::of(a, table, bits);
        theirs.order(b, side.buckets.address().clone());
        theirs.shrink();
        compared += side.compare(&theirs, &earlier, k, sink);
        earlier.push(side.reach);
    }
    compared
}

fn assert_row_numbers<W>(rows: &[W]) {
    assert!(
        u32::try_from(rows.len()).is_ok(),
        "a join takes fewer than 2^32 rows"
    );
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
        assert_row_numbers(rows);
        let tables: Vec<JoinSide<W>> = plan
            .tables
            .iter()
            .map(|&table| JoinSide::of(rows, table, bits))
            .collect();
        Ok(Self {
            reaches: tables.iter().map(|side| side.reach).collect(),
            tables,
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
            let (side, earlier) = (&self.tables[t], &self.reaches[..t]);
            compared += side.compare_run(&self.chunk, 0..chunk.len(), earlier, self.k, &mut hit);
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
            compared += self.tables[t].compare(&self.chunk, &self.reaches[..t], self.k, sink);
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
        assert_row_numbers(chunk);
        let address = self.tables[t].buckets.address().clone();
        self.chunk.order(chunk, address);
    }
}

/// The number of rows of a chunk that one thread joins at a time. The kernel compares that many by tables.
const TILE: usize = kernel::MAX_PLANE_ROWS;

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
                tables: vec![TableSpec { mask: 1, radius: 1 }],
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
        let of_sets = Mutex::new(Vec::new());
        join_sets(a, b, k, &|| false, &|pairs| {
            of_sets.lock().unwrap().extend_from_slice(pairs);
        });
        let mut of_sets = of_sets.into_inner().unwrap();
        of_sets.sort_unstable();
        assert_eq!(of_sets, found, "of two sets within {k}");
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
