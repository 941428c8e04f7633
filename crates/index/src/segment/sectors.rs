//! The checksums of sectors, which are verified when a sector is first touched, or all at once.
//!
//! One bit for each sector records that it has been verified, and one flag records that all have been. So a file of
//! gigabytes opens immediately, and no unverified byte is used.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::layout::SECTOR_BYTES;

/// The sectors of a file, with a bit for each that has been verified.
#[derive(Debug)]
pub(crate) struct Sectors {
    /// The number of bytes at the beginning of the file that are under checksums.
    covered: usize,
    sums: Checksums,
    seen: Vec<AtomicU64>,
    all: AtomicBool,
}

/// The checksums, four bytes each.
#[derive(Debug)]
pub(crate) enum Checksums {
    /// The checksums are a section of the file, which has this range.
    Within(Range<usize>),
    /// The checksums of a file that is not complete yet are in memory.
    Apart(Vec<u8>),
}

impl Checksums {
    fn bytes<'s>(&'s self, data: &'s [u8]) -> Option<&'s [u8]> {
        match self {
            Self::Within(section) => data.get(section.clone()),
            Self::Apart(bytes) => Some(bytes),
        }
    }
}

impl Sectors {
    /// Creates the state in which no sector of the first `covered` bytes has been verified. Returns `None` if the
    /// number of checksums is not the number of sectors.
    pub(crate) fn new(covered: usize, sums: Checksums) -> Option<Self> {
        let count = covered.div_ceil(SECTOR_BYTES);
        let length = match &sums {
            Checksums::Within(section) => section.len(),
            Checksums::Apart(bytes) => bytes.len(),
        };
        (length == 4 * count).then(|| Self {
            covered,
            sums,
            seen: (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            all: AtomicBool::new(false),
        })
    }

    /// Returns `true` if every sector has been verified.
    #[inline]
    pub(crate) fn all(&self) -> bool {
        self.all.load(Ordering::Relaxed)
    }

    /// Verifies the sectors of a range of bytes, except for those verified before. The error is the offset of a damaged
    /// sector.
    #[inline]
    pub(crate) fn verify(&self, data: &[u8], bytes: Range<usize>) -> Result<(), u64> {
        if self.all() || bytes.is_empty() {
            return Ok(());
        }
        for sector in bytes.start / SECTOR_BYTES..bytes.end.div_ceil(SECTOR_BYTES) {
            let (word, bit) = (sector / 64, 1 << (sector % 64));
            if self
                .seen
                .get(word)
                .is_some_and(|w| w.load(Ordering::Relaxed) & bit != 0)
            {
                continue;
            }
            self.compute(data, sector)?;
        }
        Ok(())
    }

    #[cold]
    fn compute(&self, data: &[u8], sector: usize) -> Result<(), u64> {
        let start = sector * SECTOR_BYTES;
        let wrong = Err(start as u64);
        let end = (start + SECTOR_BYTES).min(self.covered);
        let sums = self.sums.bytes(data);
        let (Some(bytes), Some(&sum)) = (
            data.get(start..end),
            sums.and_then(|sums| sums.get(4 * sector..)?.first_chunk()),
        ) else {
            return wrong;
        };
        if crc32fast::hash(bytes) != u32::from_le_bytes(sum) {
            return wrong;
        }
        if let Some(word) = self.seen.get(sector / 64) {
            word.fetch_or(1 << (sector % 64), Ordering::Relaxed);
        }
        Ok(())
    }

    /// The number of bytes at the beginning of the file that are under checksums.
    pub(crate) fn covered(&self) -> usize {
        self.covered
    }

    /// Notes that every sector has been verified.
    pub(crate) fn set_all(&self) {
        self.all.store(true, Ordering::Relaxed);
    }

    /// Verifies the sectors of a range of bytes in parallel, including those verified before. The error is the offset
    /// of the first damaged sector.
    pub(crate) fn verify_each(&self, data: &[u8], bytes: Range<usize>) -> Result<(), u64> {
        (bytes.start / SECTOR_BYTES..bytes.end.div_ceil(SECTOR_BYTES))
            .into_par_iter()
            .with_min_len(256)
            .map(|sector| self.compute(data, sector))
            .reduce(|| Ok(()), Result::and)
    }
}
