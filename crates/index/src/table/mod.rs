//! Permuted tables in memory, which find every row within Hamming distance k of a query.
//!
//! Each table of a plan has the rows ordered by its address, with a directory (`bucket`). In each table, a lookup
//! visits the addresses within the table's radius of the query's own, and compares the rows there with the query.
//!
//! Only the first table has ids; the others have fingerprints alone. A match in another table is a fingerprint, whose
//! ids are in the first table at the fingerprint's own address. Matches are few and tables several, so this saves four
//! bytes per row and table and costs one more probe per match. It also makes the results distinct: the fingerprints
//! found are made distinct first, and each has its rows in the first table once.

#[cfg(test)]
mod tests;

use twinprint_fingerprint::{Width, kernel};

use crate::address::Address;
use crate::bucket::Buckets;
use crate::flips;
use crate::plan::MAX_ADDRESS_BITS;
use crate::plan::check::{Counterexample, is_exact};
use crate::plan::{Plan, leading_bits};

/// The number of candidates that are gathered for one kernel call.
const GATHER_ROWS: usize = 256;
/// Buckets of at least this number of rows are compared in place, without copying them.
const DIRECT_ROWS: usize = 32;
/// The number of probes before the rows of a bucket are read at which they are prefetched. The bounds of the bucket are
/// prefetched twice as early.
const PREFETCH_DISTANCE: usize = 8;

/// A row within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// The position of the row in the input.
    pub id: u32,
    /// The Hamming distance from the query.
    pub distance: u8,
}

/// Statistics of lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of addresses probed.
    pub probes: u64,
    /// The number of rows compared.
    pub candidates: u64,
}

/// Permuted tables in memory.
///
/// ```
/// use twinprint_index::planner::plan_lookup_of;
/// use twinprint_index::{Match, Tables};
///
/// let rows = [0b0000_u64, 0b0011, u64::MAX];
/// let plan = plan_lookup_of(&rows, 3, None)?.plan;
/// let tables = Tables::build(&rows, &plan)?;
///
/// let mut found = Vec::new();
/// tables.lookup(0b0001, 3, &mut found);
/// assert_eq!(found, [Match { id: 0, distance: 1 }, Match { id: 1, distance: 1 }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tables<W> {
    tables: Vec<Table<W>>,
    k: u32,
}

#[derive(Clone, Debug)]
struct Table<W> {
    buckets: Buckets<W>,
    flips: Vec<u32>,
}

impl<W: Width> Tables<W> {
    /// Builds the tables of an exact plan over `rows`. Each table is addressed by about log₂ n of its highest key bits.
    /// O(tables · n) time.
    ///
    /// # Errors
    /// If the plan is not exact, an error set that it misses.
    ///
    /// # Panics
    /// If `rows` has 2³² rows or more, because a row number has 32 bits.
    pub fn build(rows: &[W], plan: &Plan) -> Result<Self, Counterexample> {
        is_exact(plan)?;
        assert!(
            u32::try_from(rows.len()).is_ok(),
            "tables take fewer than 2^32 rows"
        );
        let wide = rows.len().max(2).ilog2().min(MAX_ADDRESS_BITS);
        let mut tables = Vec::new();
        for spec in &plan.tables {
            let address = Address::new(leading_bits(spec.mask, wide));
            let flips = flips::ball(address.bits(), spec.radius);
            let mut buckets = Buckets::new();
            buckets.order(rows, address);
            buckets.shrink();
            if !tables.is_empty() {
                buckets.ids = Vec::new();
            }
            tables.push(Table { buckets, flips });
        }
        Ok(Self { tables, k: plan.k })
    }

    /// The radius that the tables were built for.
    pub fn radius(&self) -> u32 {
        self.k
    }

    /// The number of bytes allocated.
    pub fn bytes(&self) -> usize {
        self.tables
            .iter()
            .map(|t| t.buckets.bytes() + t.flips.capacity() * 4)
            .sum()
    }

    /// Replaces `out` by the rows within Hamming distance `k` of `query`, each once, sorted by (distance, id). If `k`
    /// is greater than the radius of the plan, every row is compared.
    pub fn lookup(&self, query: W, k: u32, out: &mut Vec<Match>) -> Stats {
        out.clear();
        let mut stats = Stats::default();
        let Some(first) = self.tables.first() else {
            return stats;
        };
        let mut found = Vec::new();
        let mut near = Vec::new();
        if k > self.k {
            kernel::hamming_one_to_many(query, &first.buckets.rows, k, &mut near);
            stats.candidates = first.buckets.rows.len() as u64;
            out.extend(near.iter().filter_map(|hit| {
                Some(Match {
                    id: *first.buckets.ids.get(hit.row as usize)?,
                    distance: hit.distance,
                })
            }));
            out.sort_unstable_by_key(|m| (m.distance, m.id));
            return stats;
        }
        let mut gathered: Vec<W> = Vec::with_capacity(GATHER_ROWS);
        let mut compare = |rows: &[W], found: &mut Vec<(u8, W)>| {
            near.clear();
            kernel::hamming_one_to_many(query, rows, k, &mut near);
            found.extend(
                near.iter()
                    .filter_map(|hit| Some((hit.distance, *rows.get(hit.row as usize)?))),
            );
        };
        for table in &self.tables {
            let address = table.buckets.address().of(query);
            let mut far = table.flips.iter().skip(2 * PREFETCH_DISTANCE);
            let mut near = table.flips.iter().skip(PREFETCH_DISTANCE);
            for &flip in &table.flips {
                if let Some(&flip) = far.next() {
                    table.buckets.prefetch_bounds(address ^ flip);
                }
                if let Some(&flip) = near.next() {
                    table.buckets.prefetch_rows(address ^ flip);
                }
                let rows = &table.buckets.rows[table.buckets.bucket(address ^ flip)];
                stats.candidates += rows.len() as u64;
                if rows.len() >= DIRECT_ROWS {
                    compare(rows, &mut found);
                } else {
                    if gathered.len() + rows.len() > GATHER_ROWS {
                        compare(&gathered, &mut found);
                        gathered.clear();
                    }
                    gathered.extend_from_slice(rows);
                }
            }
            stats.probes += table.flips.len() as u64;
        }
        compare(&gathered, &mut found);
        found.sort_unstable();
        found.dedup();
        for (distance, row) in found {
            let bucket = first.buckets.bucket(first.buckets.address().of(row));
            for at in bucket {
                if first.buckets.rows[at] == row {
                    out.push(Match {
                        id: first.buckets.ids[at],
                        distance,
                    });
                }
            }
        }
        out.sort_unstable_by_key(|m| (m.distance, m.id));
        stats
    }
}
