//! Checksums of sectors, verified when first touched or all at once.
//!
//! A sector is verified once, which a bit records; one flag records that all have been. So a file of gigabytes opens at
//! once, and no unverified byte is used.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::layout::SECTOR_BYTES;

/// The sectors of a file, with a bit for each that has been verified.
#[derive(Debug)]
pub(crate) struct Sectors {
    /// Bytes under checksums.
    covered: usize,
    sums: Checksums,
    seen: Vec<AtomicU64>,
    all: AtomicBool,
}

/// The checksums, four bytes each.
#[derive(Debug)]
pub(crate) enum Checksums {
    /// A section of the file.
    Within(Range<usize>),
    /// Of a file that is not whole yet.
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
    /// For `covered` bytes with these checksums; `None` if their number is not that of the sectors.
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

    /// Verifies the sectors of these bytes; the error is the offset of a wrong one.
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

    /// Verifies everything, in parallel; the offset of the first wrong sector.
    pub(crate) fn verify_all(&self, data: &[u8]) -> Result<(), u64> {
        self.verify_each(data, 0..self.covered)?;
        self.all.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Verifies the sectors of these bytes again, in parallel; the offset of the first wrong one.
    pub(crate) fn verify_each(&self, data: &[u8], bytes: Range<usize>) -> Result<(), u64> {
        (bytes.start / SECTOR_BYTES..bytes.end.div_ceil(SECTOR_BYTES))
            .into_par_iter()
            .with_min_len(256)
            .map(|sector| self.compute(data, sector))
            .reduce(|| Ok(()), Result::and)
    }
}
