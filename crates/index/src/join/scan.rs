//! The scan: compares every row with every other, in blocks that stay in cache.

use rayon::prelude::*;
use twinprint_fingerprint::{Width, kernel};

use super::{Batch, JoinStats, Pair};

/// The size of a block in bytes. Two blocks and the buffers of the kernel fit a first- or second-level cache.
const BLOCK_BYTES: usize = 1 << 15;

pub(super) fn join<W: Width>(
    rows: &[W],
    k: u32,
    stop: &(dyn Fn() -> bool + Sync),
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
            if i == j {
                kernel::hamming_within(a, k, &mut |p, q, d| batch.push(x + p, x + q, d));
            } else {
                kernel::hamming_many_to_many(a, b, k, &mut |p, q, d| batch.push(x + p, y + q, d));
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
