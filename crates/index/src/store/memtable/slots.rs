//! Arrays that one thread fills while others read them.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_fingerprint::Width;

/// Creates an array of `n` atomic numbers that are zero.
pub(super) fn numbers<A: Default>(n: usize) -> Box<[A]> {
    std::iter::repeat_with(A::default).take(n).collect()
}

/// An array of fingerprints. Each is set once, before other threads learn its position.
#[derive(Debug)]
pub(super) struct RowSlots<W> {
    low: Box<[AtomicU64]>,
    /// The upper halves of the fingerprints; empty for widths up to 64.
    high: Box<[AtomicU64]>,
    width: PhantomData<W>,
}

impl<W: Width> RowSlots<W> {
    /// Creates an array with room for `n` fingerprints.
    pub(super) fn new(n: usize) -> Self {
        Self {
            low: numbers(n),
            high: numbers(if W::BITS > 64 { n } else { 0 }),
            width: PhantomData,
        }
    }

    pub(super) fn set(&self, at: usize, fingerprint: W) {
        self.low[at].store(fingerprint.low_u64(), Ordering::Relaxed);
        if let Some(high) = self.high.get(at) {
            high.store((fingerprint.widen() >> 64) as u64, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> W {
        let high = self.high.get(at).map_or(0, |high| high.load(Ordering::Relaxed));
        W::truncate(u128::from(high) << 64 | u128::from(self.low[at].load(Ordering::Relaxed)))
    }
}
