//! The choice between a join and probes, and of the number of bits of a prefix.
//!
//! The sizes of buckets are taken from the directory, for a sample of the queries. So rows that share many leading bits
//! are counted as they are.

use twinprint_fingerprint::Width;

use super::super::search::TableProbes;
use super::{Compared, Join};
use crate::flips::{self, ball_size};
use crate::segment::codec::{AddressRange, RowBlocks};
use crate::segment::table::StoredTable;
use crate::segment::{Segment, SegmentError};

/// The minimum number of queries that are joined.
const MIN_QUERIES: usize = 4096;
/// The maximum number of bits of a prefix. The bounds of the lists of queries should fit the second-level cache.
const MAX_BITS: u32 = 22;
/// The number of queries whose buckets are counted.
const SAMPLE: usize = 128;

/// The cost of a probe for one of many queries, and of the comparison with one of its candidates, in nanoseconds of one
/// core. They are those of the planner.
const PROBE: f64 = 18.0;
const CANDIDATE: f64 = 1.0;

/// The costs of the steps of a join, in nanoseconds of one core. They were measured with the program `lookups` of
/// `bench`, at 10⁷ and 10⁸ rows of 64 bits and 10⁷ rows of 128.
#[derive(Clone, Copy, Debug)]
struct StepCosts {
    /// Sorting a query.
    sort: f64,
    /// Reading and unpacking a row.
    unpack: f64,
    /// Beginning a bucket.
    bucket: f64,
    /// Counting the queries of a list.
    list: f64,
    /// Copying a query.
    copy: f64,
    /// Comparing a row with a query.
    compare: f64,
    /// Comparing a pair in all bits below the address that is near in the compared ones.
    near: f64,
    /// Finding the address of a row that is near in all bits below the address.
    address: f64,
}

impl StepCosts {
    fn of(bits: u32, rest_bits: u32, compared: Compared) -> Self {
        let wide = if bits > 64 { 2.0 } else { 1.0 };
        let (copy, compare) = match compared {
            Compared::Low32 => (1.8, 0.035),
            Compared::All => (2.0 * wide, 0.06 * wide),
        };
        Self {
            sort: 12.0,
            unpack: if rest_bits > 64 { 4.0 } else { 0.8 },
            bucket: 40.0,
            list: 0.8,
            copy,
            compare,
            near: 5.0,
            address: 30.0,
        }
    }
}

/// Returns the join of queries with a table that should be made; `None` if probes are cheaper.
///
/// # Errors
/// `Damaged` if the directory is damaged.
pub(in crate::segment::lookup) fn choose<W: Width>(
    segment: &Segment<W>,
    rows: &impl RowBlocks<W>,
    queries: &[W],
    probing: &TableProbes,
    k: u32,
) -> Result<Option<Join>, SegmentError> {
    let table = &segment.tables[probing.table];
    let address_bits = table.order.address_bits();
    if queries.len() < MIN_QUERIES || address_bits == 0 {
        return Ok(None);
    }
    let count = queries.len() as f64;
    let rest_bits = table.order.rest_bits();
    let probed = mean_bucket(table, rows, queries, probing.radius, address_bits)?;
    let probes = count * ball_size(address_bits, probing.radius) * (PROBE + probed * CANDIDATE);
    let mut best = (probes, None);
    for compared in [Compared::Low32, Compared::All] {
        let steps = StepCosts::of(W::BITS, rest_bits, compared);
        let compared_bits = match compared {
            Compared::Low32 => rest_bits.min(32),
            Compared::All => rest_bits,
        };
        let near =
            binomial_share(compared_bits, k) * steps.near + binomial_share(rest_bits, k) * steps.address;
        // With shorter prefixes than the number of queries and rows calls for, only the comparisons grow.
        for bits in 1..=address_bits.min(MAX_BITS) {
            let lists = ball_size(bits, probing.radius);
            let fixed = count * steps.sort
                + segment.rows() as f64 * steps.unpack
                + 2f64.powi(bits as i32) * (steps.bucket + lists * steps.list)
                + count * lists * steps.copy;
            if fixed >= best.0 {
                continue;
            }
            let candidates = count * lists * mean_bucket(table, rows, queries, probing.radius, bits)?;
            let cost = fixed + candidates * (steps.compare + near);
            if cost < best.0 {
                best = (cost, Some(Join { bits, compared }));
            }
        }
    }
    Ok(best.1)
}

/// The mean number of rows of the buckets that a sample of the queries would be compared with, for prefixes of `bits`
/// bits.
fn mean_bucket<W: Width>(
    table: &StoredTable<W>,
    rows: &impl RowBlocks<W>,
    queries: &[W],
    radius: u32,
    bits: u32,
) -> Result<f64, SegmentError> {
    let patterns = flips::ball(bits, radius.min(2));
    let below = table.order.address_bits() - bits;
    let sampled = queries.len().min(SAMPLE);
    let mut sum = 0u64;
    for i in 0..sampled {
        let query = queries[i * (queries.len() / sampled)];
        let prefix = table.order.address(table.order.permute(query)) >> below;
        let first = (prefix ^ patterns[i % patterns.len()]) << below;
        let last = first | ((1 << below) - 1);
        let span = rows.rows_between(AddressRange { first, last })?;
        sum += u64::from(span.end - span.start);
    }
    Ok(sum as f64 / sampled.max(1) as f64)
}

/// The share of pairs of random numbers of `bits` bits whose distance is at most `k`.
fn binomial_share(bits: u32, k: u32) -> f64 {
    ball_size(bits, k) / 2f64.powi(bits as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_near_pairs_is_that_of_a_binomial_distribution() {
        assert!((binomial_share(3, 1) - 0.5).abs() < 1e-12);
        assert!((binomial_share(3, 3) - 1.0).abs() < 1e-12);
        assert!(binomial_share(48, 10) < 1e-4);
    }
}
