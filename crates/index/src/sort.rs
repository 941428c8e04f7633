//! An external sort of integers, pairs of an id and a fingerprint, or other rows: runs are sorted in memory, then merged
//! in one pass.
//!
//! A full run is appended to one unnamed file, with a fixed number of bytes for each item. If all items fit into
//! memory, nothing is written. While items are pushed, one run is in memory; while runs are merged, one buffer for each
//! run is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use crate::positioned::PositionedFile;
use crate::segment::SegmentError;

/// The minimum number of items in a run.
const MIN_RUN_ITEMS: u64 = 1 << 12;
/// The maximum size in bytes of the read buffers of all runs together while runs are merged. It is exceeded if there
/// are so many runs that each gets only the minimum, [`MIN_READ_BYTES`].
const MAX_MERGE_BYTES: u64 = 64 << 20;
/// The number of items that are passed to the caller at a time.
const BATCH_ITEMS: usize = 1 << 12;

/// An item that a [`Sorter`] can sort. Implemented for `u128` and for [`IdRow`].
pub trait SortItem: Copy + Ord + Send {
    /// Returns the number of bytes in which every item up to `top` can be stored.
    fn stored_bytes(top: Self) -> usize;

    /// Writes the item to `out`, whose length is that of [`stored_bytes`](Self::stored_bytes) for an item not below this
    /// one.
    fn write_to(self, out: &mut [u8]);

    /// Returns the item that [`write_to`](Self::write_to) wrote to these bytes.
    fn read_from(bytes: &[u8]) -> Self;
}

impl SortItem for u128 {
    fn stored_bytes(top: Self) -> usize {
        (Self::BITS - top.leading_zeros()).div_ceil(8).max(1) as usize
    }

    #[inline]
    fn write_to(self, out: &mut [u8]) {
        let bytes = self.to_le_bytes();
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = from;
        }
    }

    #[inline]
    fn read_from(bytes: &[u8]) -> Self {
        let mut number = [0; 16];
        for (to, from) in number.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self::from_le_bytes(number)
    }
}

/// An id and its fingerprint, ordered by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdRow<W> {
    /// The id.
    pub id: u64,
    /// The fingerprint.
    pub fingerprint: W,
}

impl<W: Width> IdRow<W> {
    /// The largest row.
    pub fn largest() -> Self {
        Self {
            id: u64::MAX,
            fingerprint: W::truncate(u128::MAX),
        }
    }
}

impl<W: Width> SortItem for IdRow<W> {
    fn stored_bytes(_top: Self) -> usize {
        (u64::BITS + W::BITS) as usize / 8
    }

    #[inline]
    fn write_to(self, out: &mut [u8]) {
        let (id, fingerprint) = out.split_at_mut(8);
        id.copy_from_slice(&self.id.to_le_bytes());
        self.fingerprint.widen().write_to(fingerprint);
    }

    #[inline]
    fn read_from(bytes: &[u8]) -> Self {
        let (id, fingerprint) = bytes.split_at(8);
        Self {
            id: u128::read_from(id) as u64,
            fingerprint: W::truncate(u128::read_from(fingerprint)),
        }
    }
}

/// An external sorter of integers or other items.
///
/// ```
/// use twinprint_index::segment::SegmentError;
/// use twinprint_index::sort::Sorter;
///
/// let directory = tempfile::tempdir()?;
/// let mut sorter = Sorter::new(directory.path(), 1 << 40, 64 << 20);
/// for number in [30, 10, 20] {
///     sorter.push(number)?;
/// }
/// let mut sorted = Vec::new();
/// sorter.finish(|numbers| {
///     sorted.extend_from_slice(numbers);
///     Ok::<(), SegmentError>(())
/// })?;
/// assert_eq!(sorted, [10, 20, 30]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sorter<N = u128> {
    directory: PathBuf,
    /// The size of an item on disk, in bytes.
    width: usize,
    /// The maximum number of items in a run.
    run_items: usize,
    items: Vec<N>,
    file: Option<PositionedFile>,
    /// The end of each run in the file.
    ends: Vec<u64>,
    merge_bytes: u64,
}

/// The minimum number of bytes read at a time from a run.
const MIN_READ_BYTES: u64 = 1 << 12;

impl<N: SortItem> Sorter<N> {
    /// The size of an item in memory, in bytes.
    const ITEM_BYTES: u64 = size_of::<N>() as u64;

    /// Returns the approximate minimum memory in bytes for sorting `count` items: enough for a run while items are
    /// pushed, and for a buffer for each run while runs are merged.
    pub fn least_memory(count: u64) -> u64 {
        // In a memory of m bytes, a run has m / (2 · ITEM_BYTES) items, and each run needs a buffer of MIN_READ_BYTES
        // when runs are merged. All buffers fit into m bytes if m² ≥ 2 · ITEM_BYTES · MIN_READ_BYTES · count.
        let all = count.saturating_mul(2 * Self::ITEM_BYTES);
        let merge_bytes = u64::isqrt(all.saturating_mul(MIN_READ_BYTES));
        merge_bytes.max(2 * Self::ITEM_BYTES * MIN_RUN_ITEMS).min(all)
    }

    /// Creates a sorter of items up to `top` that takes about `memory` bytes. If the items do not fit into memory, runs
    /// go to an unnamed file in `directory`.
    pub fn new(directory: &Path, top: N, memory: u64) -> Self {
        // Half of the memory is for the items of a run, which are sorted in place. The other half is for the bytes that
        // are written.
        let run_items = (memory / 2 / Self::ITEM_BYTES).max(MIN_RUN_ITEMS);
        Self {
            directory: directory.to_owned(),
            width: N::stored_bytes(top),
            run_items: usize::try_from(run_items).unwrap_or(usize::MAX),
            items: Vec::new(),
            file: None,
            ends: Vec::new(),
            merge_bytes: memory.min(MAX_MERGE_BYTES),
        }
    }

    /// Adds an item, which must not exceed the `top` of [`Sorter::new`].
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    #[inline]
    pub fn push(&mut self, item: N) -> Result<(), SegmentError> {
        if self.items.len() >= self.run_items {
            self.end_run()?;
        }
        self.items.push(item);
        Ok(())
    }

    #[cold]
    fn end_run(&mut self) -> Result<(), SegmentError> {
        self.items.par_sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file =
                    tempfile::tempfile_in(&self.directory).map_err(SegmentError::io(&self.directory))?;
                none.insert(PositionedFile::new(file))
            }
        };
        let mut at = self.ends.last().copied().unwrap_or_default();
        let mut bytes = Vec::new();
        for stretch in self.items.chunks(1 << 16) {
            bytes.resize(stretch.len() * self.width, 0);
            for (item, out) in stretch.iter().zip(bytes.chunks_exact_mut(self.width)) {
                item.write_to(out);
            }
            file.write_all_at(&bytes, at)
                .map_err(SegmentError::io(&self.directory))?;
            at += bytes.len() as u64;
        }
        self.ends.push(at);
        self.items.clear();
        Ok(())
    }

    /// Calls `each` with all items in ascending order, some thousand at a time. An item that was pushed several times
    /// is passed as often.
    ///
    /// # Errors
    /// `Io` if the file cannot be read or written; any error of `each`.
    pub fn finish<E: From<SegmentError>>(
        mut self,
        mut each: impl FnMut(&[N]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.ends.is_empty() {
            self.items.par_sort_unstable();
            return self.items.chunks(BATCH_ITEMS).try_for_each(each);
        }
        if !self.items.is_empty() {
            self.end_run()?;
        }
        self.items = Vec::new();
        let Some(file) = &self.file else {
            return Ok(());
        };
        let a_run = (self.merge_bytes / self.ends.len() as u64).max(MIN_READ_BYTES) as usize / self.width;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut runs: Vec<RunReader<'_>> = starts
            .zip(&self.ends)
            .map(|(from, &to)| RunReader {
                file,
                directory: &self.directory,
                width: self.width,
                at_once: a_run * self.width,
                from,
                to,
                bytes: Vec::new(),
                next: 0,
            })
            .collect();
        let mut heads = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next()?.map(|item: N| Reverse((item, i))));
        }
        let mut stretch = Vec::with_capacity(BATCH_ITEMS);
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((item, i)) = *head;
            stretch.push(item);
            match runs.get_mut(i).map(RunReader::next).transpose()?.flatten() {
                Some(next) => *head = Reverse((next, i)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
            if stretch.len() == BATCH_ITEMS {
                each(&stretch)?;
                stretch.clear();
            }
        }
        if stretch.is_empty() {
            Ok(())
        } else {
            each(&stretch)
        }
    }
}

/// Reads a sorted run from the file while runs are merged.
struct RunReader<'s> {
    file: &'s PositionedFile,
    directory: &'s Path,
    width: usize,
    /// The number of bytes that are read at a time.
    at_once: usize,
    /// The bytes of the file from `from` up to `to` are still to be read.
    from: u64,
    to: u64,
    bytes: Vec<u8>,
    /// The position of the next item in `bytes`.
    next: usize,
}

impl RunReader<'_> {
    fn next<N: SortItem>(&mut self) -> Result<Option<N>, SegmentError> {
        if self.next == self.bytes.len() {
            let length = (self.to - self.from).min(self.at_once as u64);
            self.bytes.resize(length as usize, 0);
            self.file
                .read_exact_at(&mut self.bytes, self.from)
                .map_err(SegmentError::io(self.directory))?;
            self.from += length;
            self.next = 0;
        }
        let Some(bytes) = self.bytes.get(self.next..self.next + self.width) else {
            return Ok(None);
        };
        let item = N::read_from(bytes);
        self.next += self.width;
        Ok(Some(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Random;

    #[test]
    fn numbers_are_sorted_in_memory_and_on_disk() {
        let directory = tempfile::tempdir().unwrap();
        let mut random = Random(5);
        for (top, count) in [
            (0u128, 10_000),
            (1000, 30_000),
            (u128::from(u64::MAX), 30_001),
            (u128::MAX, 20_000),
            (5, 0),
        ] {
            for memory in [0, 1 << 18, 1 << 30] {
                let mut expected: Vec<u128> = (0..count)
                    .map(|_| random.wide() & (u128::MAX >> top.leading_zeros().min(127)))
                    .map(|number| number.min(top))
                    .collect();
                let mut sorter = Sorter::new(directory.path(), top, memory);
                for &number in &expected {
                    sorter.push(number).unwrap();
                }
                assert_eq!(sorter.ends.is_empty(), count == 0 || memory > 1 << 20);
                let mut sorted = Vec::new();
                sorter
                    .finish(|stretch| {
                        sorted.extend_from_slice(stretch);
                        Ok::<_, SegmentError>(())
                    })
                    .unwrap();
                expected.sort_unstable();
                assert!(sorted == expected, "{count} up to {top} within {memory}");
            }
        }
    }

    fn rows_are_sorted<W: Width>() {
        let directory = tempfile::tempdir().unwrap();
        let mut random = Random(7);
        for memory in [0, 1 << 30] {
            let mut expected: Vec<IdRow<W>> = (0..20_000)
                .map(|_| IdRow {
                    id: random.next() >> (random.below(60)),
                    fingerprint: W::truncate(random.wide()),
                })
                .chain([IdRow::largest()])
                .collect();
            let mut sorter = Sorter::new(directory.path(), IdRow::largest(), memory);
            for &row in &expected {
                sorter.push(row).unwrap();
            }
            assert_eq!(sorter.ends.is_empty(), memory > 0);
            let mut sorted = Vec::new();
            sorter
                .finish(|rows| {
                    sorted.extend_from_slice(rows);
                    Ok::<_, SegmentError>(())
                })
                .unwrap();
            expected.sort_unstable_by_key(|row| (row.id, row.fingerprint));
            assert!(sorted == expected, "{} bits", W::BITS);
        }
    }

    #[test]
    fn rows_of_every_width_are_sorted_by_id_in_memory_and_on_disk() {
        rows_are_sorted::<u32>();
        rows_are_sorted::<u64>();
        rows_are_sorted::<u128>();
    }

    #[test]
    fn the_minimum_memory_fits_a_buffer_for_every_run() {
        assert_eq!(
            [0, 1, 4096, 100_000].map(<Sorter>::least_memory),
            [0, 32, 1 << 17, 1 << 17]
        );
        for count in [1 << 20, 1 << 30, 1 << 40] {
            let least = <Sorter>::least_memory(count);
            let sorter = Sorter::new(Path::new("."), u128::MAX, least);
            let runs = count.div_ceil(sorter.run_items as u64);
            let buffers = runs * MIN_READ_BYTES;
            assert!(
                buffers > least / 2 && buffers <= least + least / 100,
                "{count}: {buffers} and {least}"
            );
        }
    }

    #[test]
    fn the_callback_can_stop_the_merge() {
        let directory = tempfile::tempdir().unwrap();
        for memory in [0, 1 << 30] {
            let mut sorter = Sorter::new(directory.path(), 99_999, memory);
            for number in 0..100_000 {
                sorter.push(number).unwrap();
            }
            let mut received = 0;
            let ended = sorter.finish(|stretch| {
                received += stretch.len();
                Err(SegmentError::Stopped)
            });
            assert!(matches!(ended, Err(SegmentError::Stopped)) && received < 10_000);
        }
    }
}
