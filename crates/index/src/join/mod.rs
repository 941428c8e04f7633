//! Self-join: finds every pair of rows within Hamming distance k, each exactly once.
//!
//! There are two methods. The *scan* compares every row with every other, block against block in cache. The *parts*
//! method takes the tables of a plan in turn, sorts the rows by the table's address, and joins each bucket with itself
//! and with the buckets within the table's radius of flips (each unordered pair of buckets once). A pair is emitted
//! only if no earlier table would have found it, so pairs need not be stored or sorted; one sorted copy of the rows is
//! in memory. [`crate::planner`] chooses the method and the plan. Two sets are joined by [`join_sets`] and [`ChunkJoin`], segments on
//! disk by [`StoredJoin`].

pub(crate) mod between;
mod closed;
mod parts;
mod scan;
mod stored;
#[cfg(test)]
mod tests;

use twinprint_fingerprint::Width;

pub use self::between::{ChunkJoin, join_sets};
pub use self::stored::StoredJoin;
pub use crate::plan::{JoinPlan, JoinTables};

/// Two rows within the radius of a join, with their Hamming distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// In the join of one set, the smaller row number; in the join of two sets, the row number in the first one.
    pub a: u32,
    /// In the join of one set, the larger row number; in the join of two sets, the row number in the second one.
    pub b: u32,
    /// Their Hamming distance.
    pub distance: u8,
}

/// Statistics of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinStats {
    /// The name of the plan that the join followed.
    pub plan: String,
    /// The number of pairs emitted.
    pub pairs: u64,
    /// The number of comparisons of two fingerprints.
    pub comparisons: u64,
    /// The number of pairs of buckets, or of blocks of a scan, that were joined.
    pub bucket_pairs: u64,
}

impl JoinStats {
    /// Adds the counts of another part of the same join.
    fn merged(mut self, other: &Self) -> Self {
        self.pairs += other.pairs;
        self.comparisons += other.comparisons;
        self.bucket_pairs += other.bucket_pairs;
        self
    }
}

/// Finds every pair of `rows` at Hamming distance at most `k`, by the plan with the lowest estimated cost.
///
/// Runs on the current rayon pool. `sink` gets the pairs in batches, from several threads at once, in no particular
/// order. The set of pairs is exact, and each pair comes once. The join takes memory in addition to `rows`: two copies
/// of rows and ids while they are sorted, and a directory. Equal rows are pairs at distance 0, and m equal rows are
/// m²/2 pairs, so callers should merge equal rows first.
///
/// ```
/// use std::sync::Mutex;
///
/// use twinprint_index::{Pair, self_join};
///
/// let rows = [0b0000_u64, u64::MAX, 0b0011];
/// let pairs = Mutex::new(Vec::new());
/// let stats = self_join(&rows, 3, &|batch: &[Pair]| {
///     pairs.lock().unwrap().extend_from_slice(batch);
/// });
/// assert_eq!(stats.pairs, 1);
/// assert_eq!(pairs.into_inner()?, [Pair { a: 0, b: 2, distance: 2 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `rows` has 2³² rows or more, because a row number has 32 bits.
pub fn self_join<W: Width>(rows: &[W], k: u32, sink: &(impl Fn(&[Pair]) + Sync)) -> JoinStats {
    let plan = crate::planner::plan_join(rows, k).plan;
    self_join_with(rows, k, &plan, sink)
}

/// Like [`self_join`], but by a given plan. If the plan was made for another width or a smaller radius, all rows are
/// compared instead, and the statistics say so.
///
/// # Panics
/// If `rows` has 2³² rows or more.
pub fn self_join_with<W: Width>(
    rows: &[W],
    k: u32,
    plan: &JoinPlan,
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    self_join_until(rows, k, plan, &|| false, sink)
}

/// Like [`self_join_with`], but ends early, with the pairs found so far, once `stop` returns `true`.
///
/// # Panics
/// If `rows` has 2³² rows or more.
pub fn self_join_until<W: Width>(
    rows: &[W],
    k: u32,
    plan: &JoinPlan,
    stop: &(dyn Fn() -> bool + Sync),
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    join_by(rows, k, plan, stop, None, sink)
}

/// Like [`self_join_with`], but leaves out the pairs of two *closed* rows: those for which `is_closed` returns `true`,
/// given the number of a row. A row may be closed while the join runs, but not opened again. A pair whose rows are closed
/// during the join may be left out or not. A pair with a row that is never closed is always emitted.
///
/// So a caller that closes each row with more than m neighbours gets all pairs of the other rows, and in a crowd of n
/// similar rows the join takes about n·m steps instead of n².
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use twinprint_index::join::{Pair, self_join_of_open};
/// use twinprint_index::planner::plan_join;
///
/// let rows = [0b000_u64, 0b001, 0b011];
/// let plan = plan_join(&rows, 3).plan;
/// let pairs = AtomicU64::new(0);
/// self_join_of_open(&rows, 3, &plan, &|row| row < 2, &|batch: &[Pair]| {
///     pairs.fetch_add(batch.len() as u64, Ordering::Relaxed);
/// });
/// // The first two rows are closed, so only their pairs with the third one remain.
/// assert_eq!(pairs.into_inner(), 2);
/// ```
///
/// # Panics
/// If `rows` has 2³² rows or more.
pub fn self_join_of_open<W: Width>(
    rows: &[W],
    k: u32,
    plan: &JoinPlan,
    is_closed: &(dyn Fn(u32) -> bool + Sync),
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    join_by(rows, k, plan, &|| false, Some(is_closed), sink)
}

fn join_by<W: Width>(
    rows: &[W],
    k: u32,
    plan: &JoinPlan,
    stop: &(dyn Fn() -> bool + Sync),
    is_closed: Option<&closed::IsClosed<'_>>,
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    assert!(
        u32::try_from(rows.len()).is_ok(),
        "a join takes fewer than 2^32 rows"
    );
    match plan {
        JoinPlan::Tables(p) if p.bits == W::BITS && p.k >= k => {
            parts::join(rows, k, p, stop, is_closed, sink)
        }
        _ => scan::join(rows, k, stop, is_closed, sink),
    }
}

/// A buffer of pairs, which passes them to `sink` in batches.
struct Batch<'s, S> {
    pairs: Vec<Pair>,
    sent: u64,
    sink: &'s S,
}

impl<'s, S: Fn(&[Pair]) + Sync> Batch<'s, S> {
    const LEN: usize = 8192;

    fn new(sink: &'s S) -> Self {
        Self {
            pairs: Vec::new(),
            sent: 0,
            sink,
        }
    }

    #[inline]
    fn push(&mut self, x: u32, y: u32, distance: u8) {
        self.add(Pair {
            a: x.min(y),
            b: x.max(y),
            distance,
        });
    }

    #[inline]
    fn add(&mut self, pair: Pair) {
        self.pairs.push(pair);
        if self.pairs.len() >= Self::LEN {
            self.send();
        }
    }

    fn send(&mut self) {
        if !self.pairs.is_empty() {
            self.sent += self.pairs.len() as u64;
            (self.sink)(&self.pairs);
            self.pairs.clear();
        }
    }
}
