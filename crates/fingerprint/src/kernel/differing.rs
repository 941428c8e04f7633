//! The number of bits in which two long bit strings differ, up to a limit.

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::level::{Level, level};

/// The number of words that are compared between two checks of the limit.
const STRIDE: usize = 32;

/// Returns true if two strings differ in at most `limit` bits. Stops soon after they differ in more. The longer
/// string is cut to the length of the shorter one. Linear.
///
/// ```
/// use twinprint_fingerprint::kernel;
///
/// let (a, b) = ([0b1010, u64::MAX], [0b1000, 0]);
/// assert!(kernel::differ_in_at_most(&a, &b, 65));
/// assert!(!kernel::differ_in_at_most(&a, &b, 64));
/// ```
pub fn differ_in_at_most(a: &[u64], b: &[u64], limit: usize) -> bool {
    differ_in_at_most_at(level(), a, b, limit)
}

/// [`differ_in_at_most`] at a given SIMD level.
pub fn differ_in_at_most_at(level: Level, a: &[u64], b: &[u64], limit: usize) -> bool {
    let mut within = true;
    run(level, a, b, limit, &mut within);
    within
}

dispatch!(run [] [] (a: &[u64], b: &[u64], limit: usize, within: &mut bool) = run_body::<U64s>);

/// # Safety
/// The CPU has the instructions of `V`. The compiler uses them for the loop.
#[inline(always)]
unsafe fn run_body<V: WordVector>(a: &[u64], b: &[u64], limit: usize, within: &mut bool) {
    let mut sum = 0;
    let common = a.len().min(b.len());
    let ((a, more_a), (b, more_b)) = (
        a[..common].as_chunks::<STRIDE>(),
        b[..common].as_chunks::<STRIDE>(),
    );
    for (a, b) in a.iter().zip(b) {
        sum += differing(a, b);
        if sum > limit as u64 {
            *within = false;
            return;
        }
    }
    *within = sum + differing(more_a, more_b) <= limit as u64;
}

#[inline(always)]
fn differing(a: &[u64], b: &[u64]) -> u64 {
    let bits = a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones()));
    bits.sum()
}
