//! The scan: compares every row with every other, in blocks that stay in cache.

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use super::closed::{IsClosed, NumberedRows, compare, compare_within};
use super::{Batch, JoinStats, Pair};

/// The size of a block in bytes. Two blocks and the buffers of the kernel fit a first- or second-level cache.
const BLOCK_BYTES: usize = 1 << 15;

pub(super) fn join<W: Width>(
    rows: &[W],
    k: u32,
    stop: &(dyn Fn() -> bool + Sync),
    is_closed: Option<&IsClosed<'_>>,
    sink: &(impl Fn(&[Pair]) + Sync),
) -> JoinStats {
    let len = BLOCK_BYTES / size_of::<W>();
    let blocks: Vec<&[W]> = rows.chunks(len).collect();
    let stats = (0..blocks.len())
        .into_par_iter()
        .flat_map(|i| (i..blocks.len()).into_par_iter().map(move |j| (i, j)))
        .map(|(i, j)| {
            if stop() {
                return JoinStats::default();
            }
            let (a, b) = (blocks[i], blocks[j]);
            let (x, y) = ((i * len) as u32, (j * len) as u32);
            let mut batch = Batch::new(sink);
            let both_closed =
                |a: u32, b: u32| is_closed.is_some_and(|is_closed| is_closed(a) && is_closed(b));
            let mut hit = |a: u32, b: u32, distance: u8| {
                if !both_closed(a, b) {
                    batch.push(a, b, distance);
                }
            };
            let (ids_of_a, ids_of_b) = (ids(x, a.len()), ids(y, b.len()));
            let (a_rows, b_rows) = (
                NumberedRows {
                    rows: a,
                    ids: &ids_of_a,
                },
                NumberedRows {
                    rows: b,
                    ids: &ids_of_b,
                },
            );
            if i == j {
                compare_within(a_rows, k, is_closed, &mut |p, q, d| hit(x + p, x + q, d));
            } else {
                compare(a_rows, b_rows, k, is_closed, &mut |p, q, d| hit(x + p, y + q, d));
            }
            batch.send();
            let (m, n) = (a.len() as u64, b.len() as u64);
            let comparisons = if i == j { m * (m - 1) / 2 } else { m * n };
            JoinStats {
                plan: String::new(),
                pairs: batch.sent,
                comparisons,
                bucket_pairs: 1,
            }
        })
        .reduce(JoinStats::default, |a, b| a.merged(&b));
    JoinStats {
        plan: "scan".into(),
        ..stats
    }
}

/// The numbers of `len` consecutive rows from `first`.
fn ids(first: u32, len: usize) -> Vec<u32> {
    (first..).take(len).collect()
}
