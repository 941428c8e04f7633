//! An external sort of integers: runs are sorted in memory, then merged in one pass.
//!
//! A full run is appended to one unnamed file, with a fixed number of bytes for each number. If all numbers fit into
//! memory, nothing is written. While numbers are pushed, one run is in memory; while runs are merged, one buffer for
//! each run is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::positioned::PositionedFile;
use crate::segment::SegmentError;

/// The size of a number in memory, in bytes.
const NUMBER_BYTES: u64 = size_of::<u128>() as u64;
/// The minimum number of numbers in a run.
const MIN_RUN_NUMBERS: u64 = 1 << 12;
/// The maximum size in bytes of the read buffers of all runs together while runs are merged. It is exceeded if there
/// are so many runs that each gets only the minimum, [`MIN_READ_BYTES`].
const MAX_MERGE_BYTES: u64 = 64 << 20;
/// The number of numbers that are passed to the caller at a time.
const BATCH_NUMBERS: usize = 1 << 12;

/// An external sorter of integers.
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
pub struct Sorter {
    directory: PathBuf,
    /// The size of a number on disk, in bytes.
    width: usize,
    /// The maximum number of numbers in a run.
    run_numbers: usize,
    numbers: Vec<u128>,
    file: Option<PositionedFile>,
    /// The end of each run in the file.
    ends: Vec<u64>,
    merge_bytes: u64,
}

/// The minimum number of bytes read at a time from a run.
const MIN_READ_BYTES: u64 = 1 << 12;

impl Sorter {
    /// Returns the approximate minimum memory in bytes for sorting `count` numbers: enough for a run while numbers are
    /// pushed, and for a buffer for each run while runs are merged.
    pub fn least_memory(count: u64) -> u64 {
        // In a memory of m bytes, a run has m / (2 · NUMBER_BYTES) numbers, and each run needs a buffer of
        // MIN_READ_BYTES when runs are merged. All buffers fit into m bytes if m² ≥ 2 · NUMBER_BYTES · MIN_READ_BYTES ·
        // count.
        let all = count.saturating_mul(2 * NUMBER_BYTES);
        let merge_bytes = u64::isqrt(all.saturating_mul(MIN_READ_BYTES));
        merge_bytes.max(2 * NUMBER_BYTES * MIN_RUN_NUMBERS).min(all)
    }

    /// Creates a sorter of numbers up to `top` that takes about `memory` bytes. If the numbers do not fit into memory,
    /// runs go to an unnamed file in `directory`.
    pub fn new(directory: &Path, top: u128, memory: u64) -> Self {
        // Half of the memory is for the numbers of a run, which are sorted in place. The other half is for the bytes
        // that are written.
        let run_numbers = (memory / 2 / NUMBER_BYTES).max(MIN_RUN_NUMBERS);
        Self {
            directory: directory.to_owned(),
            width: (u128::BITS - top.leading_zeros()).div_ceil(8).max(1) as usize,
            run_numbers: usize::try_from(run_numbers).unwrap_or(usize::MAX),
            numbers: Vec::new(),
            file: None,
            ends: Vec::new(),
            merge_bytes: memory.min(MAX_MERGE_BYTES),
        }
    }

    /// Adds a number, which must not exceed the `top` of [`Sorter::new`].
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    #[inline]
    pub fn push(&mut self, number: u128) -> Result<(), SegmentError> {
        if self.numbers.len() >= self.run_numbers {
            self.end_run()?;
        }
        self.numbers.push(number);
        Ok(())
    }

    #[cold]
    fn end_run(&mut self) -> Result<(), SegmentError> {
        self.numbers.par_sort_unstable();
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
        for stretch in self.numbers.chunks(1 << 16) {
            bytes.clear();
            for number in stretch {
                bytes.extend_from_slice(&number.to_le_bytes()[..self.width]);
            }
            file.write_all_at(&bytes, at)
                .map_err(SegmentError::io(&self.directory))?;
            at += bytes.len() as u64;
        }
        self.ends.push(at);
        self.numbers.clear();
        Ok(())
    }

    /// Calls `each` with all numbers in ascending order, some thousand at a time. A number that was pushed several
    /// times is passed as often.
    ///
    /// # Errors
    /// `Io` if the file cannot be read or written; any error of `each`.
    pub fn finish<E: From<SegmentError>>(
        mut self,
        mut each: impl FnMut(&[u128]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.ends.is_empty() {
            self.numbers.par_sort_unstable();
            return self.numbers.chunks(BATCH_NUMBERS).try_for_each(each);
        }
        if !self.numbers.is_empty() {
            self.end_run()?;
        }
        self.numbers = Vec::new();
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
            heads.extend(run.next()?.map(|number| Reverse((number, i))));
        }
        let mut stretch = Vec::with_capacity(BATCH_NUMBERS);
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((number, i)) = *head;
            stretch.push(number);
            match runs.get_mut(i).map(RunReader::next).transpose()?.flatten() {
                Some(next) => *head = Reverse((next, i)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
            if stretch.len() == BATCH_NUMBERS {
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
    /// The position of the next number in `bytes`.
    next: usize,
}

impl RunReader<'_> {
    fn next(&mut self) -> Result<Option<u128>, SegmentError> {
        if self.next == self.bytes.len() {
            let length = (self.to - self.from).min(self.at_once as u64);
            self.bytes.resize(length as usize, 0);
            self.file
                .read_exact_at(&mut self.bytes, self.from)
                .map_err(SegmentError::io(self.directory))?;
            self.from += length;
            self.next = 0;
        }
        let mut number = [0; NUMBER_BYTES as usize];
        let Some(bytes) = self.bytes.get(self.next..self.next + self.width) else {
            return Ok(None);
        };
        number[..self.width].copy_from_slice(bytes);
        self.next += self.width;
        Ok(Some(u128::from_le_bytes(number)))
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

    #[test]
    fn the_minimum_memory_fits_a_buffer_for_every_run() {
        assert_eq!(
            [0, 1, 4096, 100_000].map(Sorter::least_memory),
            [0, 32, 1 << 17, 1 << 17]
        );
        for count in [1 << 20, 1 << 30, 1 << 40] {
            let least = Sorter::least_memory(count);
            let sorter = Sorter::new(Path::new("."), u128::MAX, least);
            let runs = count.div_ceil(sorter.run_numbers as u64);
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
