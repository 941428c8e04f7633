//! The buffers of dropped shingle sets, which new sets take over.
//!
//! The sets of a block are dropped and made at about the same rate. Their sizes differ, so an allocator would divide and join
//! blocks of memory for each of them. Here capacities are rounded up, by at most an eighth, so that many sets have the same one.

use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The buffers that wait for a new set, by their capacity. Threads share them.
#[derive(Default)]
pub(super) struct SetBuffers(Mutex<FxHashMap<usize, Vec<Vec<u64>>>>);

impl SetBuffers {
    /// An empty buffer for a set of `shingles` shingles.
    pub(super) fn take(&self, shingles: usize) -> Vec<u64> {
        let capacity = capacity_for(shingles);
        let kept = self
            .0
            .lock()
            .ok()
            .and_then(|mut kept| kept.get_mut(&capacity)?.pop());
        kept.unwrap_or_else(|| Vec::with_capacity(capacity))
    }

    /// Keeps the buffer of a set that was dropped, without its shingles.
    pub(super) fn put(&self, mut buffer: Vec<u64>) {
        buffer.clear();
        if let Ok(mut kept) = self.0.lock() {
            kept.entry(buffer.capacity()).or_default().push(buffer);
        }
    }

    /// Frees all buffers, on all threads.
    pub(super) fn clear(&mut self) {
        if let Ok(kept) = self.0.get_mut() {
            let buffers: Vec<Vec<u64>> = kept.drain().flat_map(|(_, buffers)| buffers).collect();
            buffers.into_par_iter().for_each(drop);
        }
    }
}

/// The capacity of the buffer for a set of `shingles` shingles.
fn capacity_for(shingles: usize) -> usize {
    let shingles = shingles.max(8);
    let step = 1 << (shingles.ilog2() - 3);
    shingles.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_rounded_up_by_at_most_an_eighth() {
        let mut distinct = std::collections::BTreeSet::new();
        for shingles in 0..10_000usize {
            let capacity = capacity_for(shingles);
            assert!(
                capacity >= shingles && capacity <= shingles.max(8) * 9 / 8,
                "{shingles}"
            );
            assert_eq!(capacity_for(capacity), capacity);
            distinct.insert(capacity);
        }
        assert!(distinct.len() < 100);
    }

    #[test]
    fn a_buffer_serves_sets_of_about_its_size() {
        let mut buffers = SetBuffers::default();
        let mut first = buffers.take(1001);
        first.extend(0..1001);
        let place = first.as_ptr();
        buffers.put(first);
        assert!(buffers.take(500).capacity() < 1000);
        let second = buffers.take(1010);
        assert_eq!((second.as_ptr(), second.len()), (place, 0));
        buffers.put(second);
        buffers.clear();
        assert!(buffers.0.into_inner().unwrap().is_empty());
    }
}
