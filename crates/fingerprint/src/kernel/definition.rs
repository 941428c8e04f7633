//! The Hamming kernels as plain loops, for fingerprints of 16 bits.
//!
//! Fingerprints of 16 bits serve small tables, for which plain loops are fast enough. The kernels of the other
//! widths report hits in the same order as these loops.

use crate::hits::{PairHit, RowDistance};
use crate::level::Level;
use crate::width::{HammingKernels, Width};

/// The number of rows of the first set that [`hamming`](super::hamming) keeps in registers. The documented order of
/// hits depends on it, so it must not change.
pub(super) const GROUP: usize = 4;

/// Calls `hit(i, j, distance)` for every pair with distance ≤ k that `is_wanted` accepts, in the order that
/// [`hamming_many_to_many`](super::hamming_many_to_many) documents.
fn by_definition<W: Width>(
    a: &[W],
    b: &[W],
    k: u32,
    is_wanted: impl Fn(u32, u32) -> bool,
    hit: &mut PairHit,
) {
    for (group, first) in a.chunks(GROUP).zip((0u32..).step_by(GROUP)) {
        for (&y, j) in b.iter().zip(0u32..) {
            for (&x, i) in group.iter().zip(first..) {
                let distance = x.distance(y);
                if is_wanted(i, j) && distance <= k {
                    hit(i, j, distance as u8);
                }
            }
        }
    }
}

macro_rules! plain_kernels {
    ($($int:ident)*) => {$(
        impl HammingKernels for $int {
            fn one_to_many(self, _: Level, rows: &[Self], k: u32, out: &mut Vec<RowDistance>) {
                by_definition(&[self], rows, k, |_, _| true, &mut |_, row, distance| out.push(RowDistance { row, distance }));
            }

            fn many_to_many(_: Level, a: &[Self], b: &[Self], k: u32, hit: &mut PairHit) {
                by_definition(a, b, k, |_, _| true, hit);
            }

            fn within(_: Level, rows: &[Self], k: u32, hit: &mut PairHit) {
                by_definition(rows, rows, k, |i, j| i < j, hit);
            }
        }
    )*};
}
plain_kernels!(u16);
