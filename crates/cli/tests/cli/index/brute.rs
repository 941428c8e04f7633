//! Fingerprints of every width, and the results of queries and joins by brute force.

use super::number;
use crate::sandbox::Sandbox;

/// The pairs of ids and fingerprints of an index or a file.
pub(super) type Stored = Vec<(u64, u128)>;

pub(super) fn wide(i: u64, bits: u32) -> u128 {
    (u128::from(number(i)) << 64 | u128::from(number(i ^ 1 << 40))) >> (128 - bits)
}

/// Fingerprints with a distribution of neighbours.
pub(super) fn shape(name: &str, n: u64, seed: u64, bits: u32) -> Vec<u128> {
    let random = |i: u64| number(seed * 1_000_003 + i);
    let flip = |i: u64| 1 << (random(i) % u64::from(bits));
    (0..n)
        .map(|i| match name {
            "uniform" if i % 3 == 0 => wide(i / 9, bits) ^ flip(i) ^ flip(i + n),
            "uniform" => wide(seed * 1_000_003 + i, bits),
            "clumped" => wide(i % 3, bits) ^ flip(i) ^ flip(i + n),
            "equal" => wide(0, bits),
            _ => wide(0, bits) ^ if i % 2 == 0 { 0 } else { flip(i) },
        })
        .collect()
}

pub(super) fn bytes(fingerprints: impl IntoIterator<Item = u128>, bits: u32) -> Vec<u8> {
    let bytes = fingerprints.into_iter().map(u128::to_le_bytes);
    bytes
        .flat_map(|bytes| bytes.into_iter().take(bits as usize / 8))
        .collect()
}

/// The rows that a query must find: queries in order, matches by distance, then id.
pub(super) fn brute(stored: &Stored, queries: &[u128], k: u32) -> Vec<(u64, u64, u64)> {
    let mut found = Vec::new();
    for (q, query) in (0..).zip(queries) {
        let distances = stored.iter().map(|(id, x)| ((x ^ query).count_ones(), *id));
        let mut near: Vec<(u32, u64)> = distances.filter(|near| near.0 <= k).collect();
        near.sort_unstable();
        found.extend(near.into_iter().map(|(hamming, id)| (q, id, hamming.into())));
    }
    found
}

/// All pairs of ids within `k`, of one set of fingerprints or of two. Within one set the smaller id is first.
pub(super) fn brute_pairs<F: Copy + Into<u128>>(
    a: &[(u64, F)],
    b: Option<&[(u64, F)]>,
    k: u32,
) -> Vec<(u64, u64, u64)> {
    let mut pairs = Vec::new();
    for &(id, x) in a {
        for &(other, y) in b.unwrap_or(a) {
            let distance = (x.into() ^ y.into()).count_ones();
            if distance <= k && (b.is_some() || id < other) {
                pairs.push((id, other, distance.into()));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The pairs that `index join` finds.
pub(super) fn joined(sandbox: &Sandbox, args: &str) -> Vec<(u64, u64, u64)> {
    let args = format!("index join {args} --all-pairs --format csv -q");
    super::pairs(&sandbox.run(&args).ok().stdout)
}
