//! Reading a mapped file before it is touched.
//!
//! A page of a mapped file that is not in memory is read when it is touched, and the thread waits for it. A lookup that
//! touches one page after the other waits once for each. So while a segment is *cold*, lookups first name all pages that
//! they are about to touch, and the system reads them at the same time (`lookup::cold`).
//!
//! To read a page at random takes as long as to read several pages in order. So an area of a table is read as a whole,
//! in order, as soon as its reads at random, past and expected, would take as long ([`AreaReads::should_be_whole`]).
//! That takes at most twice as long as the better choice made in advance, as in the ski-rental problem (Karlin et al.
//! 1988). A batch of very many queries is thereby answered at the sequential speed of the disk.
//!
//! Nothing here changes an answer: pages that are not read ahead are read when they are touched.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use twinprint_fingerprint::Width;

use super::Segment;
use super::codec::TableAreas;
use super::layout::SECTOR_BYTES;

/// The number of pages that are read in order in the time of one page that is read at random, while others are in
/// flight.
pub(crate) const PAGES_IN_ORDER: u64 = 6;
/// The number of bytes that are read ahead at a time when a file is read in order.
const WINDOW_BYTES: usize = 8 << 20;
/// A segment is no longer cold after this number of steps of lookups that found all pages in memory.
const CALM_STEPS: u32 = 8;

/// The reads of one area of a table.
#[derive(Debug)]
pub(super) struct AreaReads {
    bytes: Range<usize>,
    /// The number of pages that were read at random.
    random: AtomicU64,
    is_whole: AtomicBool,
}

impl AreaReads {
    fn new(bytes: Range<usize>) -> Self {
        Self {
            is_whole: AtomicBool::new(bytes.is_empty()),
            bytes,
            random: AtomicU64::new(0),
        }
    }

    /// Returns `true` if the area was read as a whole.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// Counts `now` pages that are read at random, and returns `true` if the area should be read as a whole instead,
    /// because it will not take longer than these pages, those before and `later` ones that are expected.
    fn should_be_whole(&self, now: u64, later: u64) -> bool {
        let before = self.random.fetch_add(now, Ordering::Relaxed);
        let pages = self.bytes.len().div_ceil(SECTOR_BYTES) as u64;
        before.saturating_add(now).saturating_add(later) >= pages.div_ceil(PAGES_IN_ORDER)
    }
}

/// The state of reading ahead in a segment: whether lookups should, and the reads of each area so far.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// True if lookups should read ahead.
    is_cold: AtomicBool,
    /// The number of steps of lookups in a row that found all pages in memory.
    calm: AtomicU32,
    /// For each table, its coarse part, its fine part and its rows.
    tables: Vec<[AreaReads; 3]>,
    /// Held while an area is read as a whole.
    reading: Mutex<()>,
}

impl ReadAhead {
    /// Creates the state of a segment with these tables, of which nothing is in memory if it is `cold`.
    pub(super) fn new(tables: impl Iterator<Item = TableAreas>, cold: bool) -> Self {
        let areas = |areas: TableAreas| [areas.coarse, areas.fine, areas.rows].map(AreaReads::new);
        Self {
            is_cold: AtomicBool::new(cold),
            calm: AtomicU32::new(0),
            tables: tables.map(areas).collect(),
            reading: Mutex::new(()),
        }
    }

    /// Returns `true` if lookups should read ahead.
    #[inline]
    pub(super) fn is_cold(&self) -> bool {
        self.is_cold.load(Ordering::Relaxed)
    }

    /// Notes that pages are missing in memory: lookups read ahead from now on.
    pub(super) fn set_cold(&self) {
        for area in self.tables.iter().flatten().filter(|area| !area.bytes.is_empty()) {
            area.random.store(0, Ordering::Relaxed);
            area.is_whole.store(false, Ordering::Relaxed);
        }
        self.calm.store(0, Ordering::Relaxed);
        self.is_cold.store(true, Ordering::Relaxed);
    }

    /// Notes that all pages are in memory: lookups no longer read ahead.
    pub(super) fn set_warm(&self) {
        self.is_cold.store(false, Ordering::Relaxed);
    }

    /// Notes that a step of lookups in some tables found `missing` pages missing in memory.
    pub(super) fn note(&self, missing: u64, mut tables: impl Iterator<Item = usize>) {
        if missing > 0 {
            self.calm.store(0, Ordering::Relaxed);
        }
        let is_whole = |t: usize| {
            let areas = self.tables.get(t);
            areas.is_none_or(|areas| areas.iter().all(AreaReads::is_whole))
        };
        if self.calm.fetch_add(1, Ordering::Relaxed) >= CALM_STEPS || tables.all(is_whole) {
            self.set_warm();
        }
    }

    /// The areas of a table: its coarse part, its fine part and its rows.
    pub(super) fn areas(&self, table: usize) -> Option<&[AreaReads; 3]> {
        self.tables.get(table)
    }
}

/// The number of pages of a table, and an estimate of the number that is not in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TablePages {
    pub(crate) pages: f64,
    pub(crate) missing: f64,
}

/// The number of pages of an area that are looked at to estimate how many are missing.
const SAMPLED_PAGES: usize = 64;

impl<W: Width> Segment<W> {
    /// Estimates the pages of each table that are not in memory.
    pub(crate) fn missing_pages(&self) -> Vec<TablePages> {
        let of = |areas: &[AreaReads; 3]| {
            let mut table = TablePages::default();
            for AreaReads { bytes, .. } in areas {
                let step = bytes.len().div_ceil(SAMPLED_PAGES).max(1);
                let sample = || bytes.clone().step_by(step);
                let missing = sample().filter(|&at| !self.data.is_present(at)).count();
                let pages = bytes.len().div_ceil(SECTOR_BYTES) as f64;
                table.pages += pages;
                table.missing += pages * missing as f64 / sample().count().max(1) as f64;
            }
            table
        };
        self.reads.tables.iter().map(of).collect()
    }

    /// Verifies the first `covered` bytes of the file, in order. The error is the offset of the first damaged sector.
    pub(super) fn verify_in_order(&self, covered: usize) -> Result<(), u64> {
        let mut ahead = InOrder::new(0..covered);
        for start in (0..covered).step_by(WINDOW_BYTES) {
            ahead.advance(self, start);
            let window = start..(start + WINDOW_BYTES).min(covered);
            self.sectors.verify_each(&self.data, window)?;
        }
        Ok(())
    }

    /// Starts to read the pages of an area that are missing in memory, and returns their number. `pages` are numbers of
    /// pages of the file, in ascending order; `later` is the number of pages that are expected to be read afterwards. If
    /// there are many, the whole area is read.
    pub(super) fn read_pages(&self, area: &AreaReads, pages: &[usize], later: u64) -> u64 {
        if area.is_whole() {
            return 0;
        }
        let is_missing = |page: usize| !self.data.is_present(page * SECTOR_BYTES);
        let mut missing = 0;
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            let count = run.iter().filter(|&&page| is_missing(page)).count();
            if let (Some(first), Some(last), 1..) = (run.first(), run.last(), count) {
                self.data
                    .will_need(first * SECTOR_BYTES..(last + 1) * SECTOR_BYTES);
                missing += count as u64;
            }
        }
        if missing > 0 && area.should_be_whole(missing, later) {
            self.read_whole(area);
        }
        missing
    }

    /// Reads an area in order, if the system has enough memory to keep it.
    fn read_whole(&self, area: &AreaReads) {
        let _one = self.reads.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if area.is_whole() {
            return;
        }
        if available_memory().is_some_and(|available| area.bytes.len() as u64 > available / 4 * 3) {
            area.random.store(0, Ordering::Relaxed);
            return;
        }
        let mut ahead = InOrder::new(area.bytes.clone());
        for start in area.bytes.clone().step_by(WINDOW_BYTES) {
            ahead.advance(self, start);
            let window = start..(start + WINDOW_BYTES).min(area.bytes.end);
            // A damaged sector is reported by the lookup that touches it.
            let _ = self.sectors.verify(&self.data, window);
        }
        area.is_whole.store(true, Ordering::Relaxed);
    }
}

/// A range of the file that is read in order, and the position up to which it has been read ahead.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    bytes: Range<usize>,
    ahead: usize,
}

impl InOrder {
    pub(super) fn new(bytes: Range<usize>) -> Self {
        Self {
            ahead: bytes.start,
            bytes,
        }
    }

    /// Reads ahead of the position at a share of the range, from 0 to 1.
    pub(super) fn advance_to_share<W: Width>(&mut self, segment: &Segment<W>, share: f64) {
        self.advance(
            segment,
            self.bytes.start + (self.bytes.len() as f64 * share) as usize,
        );
    }

    /// Reads ahead of position `at`, from which on the bytes are about to be touched.
    pub(super) fn advance<W: Width>(&mut self, segment: &Segment<W>, at: usize) {
        while segment.data.is_mapped()
            && self.ahead < self.bytes.end
            && self.ahead < at.saturating_add(2 * WINDOW_BYTES)
        {
            let end = (self.ahead + WINDOW_BYTES).min(self.bytes.end);
            // A few pages of a window tell whether the window is in memory.
            let mut some = (self.ahead..end).step_by(WINDOW_BYTES / 8);
            if some.any(|at| !segment.data.is_present(at)) {
                segment.data.will_need(self.ahead..end);
            }
            self.ahead = end;
        }
    }
}

/// Returns the memory that programs and the cache of files can have, in bytes, or `None` if the system does not tell.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_read_as_a_whole_once_that_takes_as_long_as_its_random_reads() {
        let area = AreaReads::new(0..600 * SECTOR_BYTES);
        assert!(!area.should_be_whole(50, 0));
        assert!(!area.should_be_whole(40, 9));
        assert!(area.should_be_whole(1, 9));
        assert!(area.should_be_whole(9, 0));
        // Many queries are expected to read most of the area.
        assert!(AreaReads::new(0..600 * SECTOR_BYTES).should_be_whole(1, 99));
        assert!(AreaReads::new(0..0).is_whole());
    }

    #[test]
    fn lookups_stop_reading_ahead_when_nothing_was_missing_for_a_while() {
        let areas = TableAreas {
            rows: 0..1 << 20,
            ..TableAreas::default()
        };
        let reads = ReadAhead::new([areas].into_iter(), true);
        for _ in 0..CALM_STEPS {
            reads.note(0, 0..1);
            assert!(reads.is_cold());
        }
        reads.note(1, 0..1);
        assert!(reads.is_cold());
        for _ in 0..CALM_STEPS {
            reads.note(0, 0..1);
        }
        assert!(!reads.is_cold());
        reads.set_cold();
        assert!(reads.is_cold());
        // Areas that were read as a whole are in memory.
        for area in &reads.tables[0] {
            area.is_whole.store(true, Ordering::Relaxed);
        }
        reads.note(0, 0..1);
        assert!(!reads.is_cold());
    }
}
