//! The last row and the start offset of every page, by which the page of a row is found.
//!
//! *Lasts* are the last permuted fingerprints of the pages, uncompressed. *Starts* are the offsets at which the pages
//! begin in the section of rows, and the offset at which the last page ends, 40 bits each. Both lists ascend, which is
//! checked when the file is opened, so the search for a row ends at one page.

use std::marker::PhantomData;
use std::ops::Range;

use twinprint_fingerprint::Width;
use twinprint_fingerprint::kernel::prefetch_read;

use super::Mismatch;
use crate::segment::bits::{packed_bytes, row_at, word_at};

/// The number of bits of the offset at which a page starts.
pub(in crate::segment) const START_BITS: u32 = 40;
/// The first step of the search away from the guessed page, in pages: a cache line of 64-bit rows.
const GUESS_STEP: u32 = 8;

/// The last rows and the start offsets of all pages, as positions of their sections in the file.
#[derive(Debug)]
pub(super) struct PageEnds {
    pages: u32,
    lasts: Range<usize>,
    starts: Range<usize>,
}

impl PageEnds {
    /// Opens the last rows and the start offsets of `pages` pages. The bytes must have been verified.
    pub(super) fn open<W: Width>(
        pages: u32,
        lasts: Range<usize>,
        starts: Range<usize>,
        data: &[u8],
    ) -> Result<Self, Mismatch> {
        let (at, of) = (lasts.start as u64, starts.start as u64);
        if lasts.len() as u64 != packed_bytes(pages.into(), W::BITS) {
            return Err(Mismatch(at, "the ends of pages are missing"));
        }
        if starts.len() as u64 != packed_bytes(u64::from(pages) + 1, START_BITS) {
            return Err(Mismatch(of, "the starts of pages are missing"));
        }
        let ends = Self { pages, lasts, starts };
        let read = ends.read::<W>(data);
        // Every page is at least as long as its first row, which is stored uncompressed.
        let whole = u64::from(W::BITS / 8);
        if !(0..pages).all(|page| read.start(page).saturating_add(whole) <= read.start(page + 1)) {
            return Err(Mismatch(of, "the starts of pages do not ascend"));
        }
        if !(1..pages).all(|page| read.last(page - 1) < read.last(page)) {
            return Err(Mismatch(at, "the ends of pages do not ascend"));
        }
        Ok(ends)
    }

    /// Returns the offset at which the last page ends, or `None` if the first page does not begin at offset `first`.
    pub(super) fn bytes(&self, data: &[u8], first: u64) -> Option<u64> {
        let read = self.read::<u64>(data);
        (read.start(0) == first).then(|| read.start(self.pages))
    }

    #[inline]
    pub(super) fn read<'s, W>(&self, data: &'s [u8]) -> EndsReader<'s, W> {
        EndsReader {
            pages: self.pages,
            lasts: &data[self.lasts.clone()],
            starts: &data[self.starts.clone()],
            width: PhantomData,
        }
    }
}

/// Reads the last rows and the start offsets of pages from the bytes of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndsReader<'s, W> {
    pages: u32,
    lasts: &'s [u8],
    starts: &'s [u8],
    width: PhantomData<W>,
}

impl<W> EndsReader<'_, W> {
    /// The number of pages.
    #[inline]
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    #[inline]
    fn start(&self, page: u32) -> u64 {
        word_at(self.starts, page as usize * (START_BITS / 8) as usize) & ((1 << START_BITS) - 1)
    }

    /// The byte range of a page in the section of rows.
    #[inline]
    pub(super) fn bytes_of(&self, page: u32) -> Range<u64> {
        self.start(page)..self.start(page + 1)
    }
}

impl<W: Width> EndsReader<'_, W> {
    /// The last row of a page.
    #[inline]
    pub(super) fn last(&self, page: u32) -> W {
        row_at(self.lasts, page as usize * (W::BITS / 8) as usize)
    }

    /// Guesses the page of a row by assuming that rows are uniform.
    #[inline]
    fn guess(&self, row: W) -> u32 {
        let leading = if W::BITS < 32 {
            row.low_u64() << (32 - W::BITS)
        } else {
            (row >> (W::BITS - 32)).low_u64()
        };
        // The product is below the number of pages, because the leading bits are below 2^32.
        (((leading & u64::from(u32::MAX)) * u64::from(self.pages)) >> 32) as u32
    }

    /// Prefetches the bytes that [`EndsReader::page_of`] will read first.
    #[inline]
    pub(super) fn prefetch(&self, row: W) {
        prefetch_read(self.lasts, self.guess(row) as usize * (W::BITS / 8) as usize);
    }

    /// Returns the first page whose last row is not below `row`, which is the only page that can contain `row`. Returns
    /// the number of pages if no page can contain it. O(log of the error of the guess).
    pub(super) fn page_of(&self, row: W) -> u32 {
        // The page is in `low..=high`. Each step away from the guess is twice as long as the one before.
        let guess = self.guess(row);
        let (mut low, mut high, mut step) = (0, self.pages, GUESS_STEP);
        if guess < self.pages && self.last(guess) < row {
            low = guess + 1;
            while high - low > step {
                let at = low + step;
                if self.last(at) < row {
                    low = at + 1;
                    step *= 2;
                } else {
                    high = at;
                    break;
                }
            }
        } else {
            high = guess;
            while high - low > step {
                let at = high - step;
                if self.last(at) < row {
                    low = at + 1;
                    break;
                }
                high = at;
                step *= 2;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.last(middle) < row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::bits::Packer;
    use proptest::prelude::*;

    fn check<W: Width>(mut rows: Vec<W>, queries: &[W]) {
        rows.sort_unstable();
        rows.dedup();
        let mut packer = Packer::default();
        for row in &rows {
            packer.push(row.widen(), W::BITS);
        }
        let lasts = packer.finish();
        let read = EndsReader::<W> {
            pages: rows.len() as u32,
            lasts: &lasts,
            starts: &[],
            width: PhantomData,
        };
        for &row in queries.iter().chain(&rows) {
            read.prefetch(row);
            assert_eq!(
                read.page_of(row) as usize,
                rows.partition_point(|&last| last < row)
            );
        }
    }

    proptest! {
        #[test]
        fn the_page_equals_that_of_a_binary_search(lasts: Vec<u128>, clustered in prop::collection::vec(0u128..300, 0..200), queries: Vec<u128>, shift in 0u32..128) {
            let lasts: Vec<u128> = lasts.into_iter().chain(clustered.iter().map(|&row| row << shift)).collect();
            let queries: Vec<u128> = queries.into_iter().chain(clustered.iter().map(|&row| (row << shift).wrapping_add(1))).collect();
            check(lasts.clone(), &queries);
            let narrow = |rows: &[u128]| rows.iter().map(|&row| (row ^ row >> 64) as u64).collect::<Vec<_>>();
            check(narrow(&lasts), &narrow(&queries));
            let narrow = |rows: &[u128]| rows.iter().map(|&row| (row ^ row >> 64) as u32).collect::<Vec<_>>();
            check(narrow(&lasts), &narrow(&queries));
            let narrow = |rows: &[u128]| rows.iter().map(|&row| (row ^ row >> 64) as u16).collect::<Vec<_>>();
            check(narrow(&lasts), &narrow(&queries));
        }
    }
}
