//! Joins stored fingerprints: finds all pairs of ids whose fingerprints are within Hamming distance k. Each side is an
//! index or files of fingerprints. A side can be joined with itself or with another side.
//!
//! Each side is joined as one segment, whose rows are distinct fingerprints. The segment of an index with a single
//! segment is used directly. Any other side is first written to a new segment in the work directory. This bounds the
//! memory, and a fingerprint that occurs a million times is compared once. Pairs are sorted by fingerprint before the
//! first one is reported, on disk if necessary, so the number of rows is checked against the limit before any output.
//!
//! A row of the result is a pair of fingerprints with all ids of each or, with [`JoinOptions::all_pairs`], a pair of
//! ids. In a self-join, each pair is reported once, and `a` is the fingerprint with the smaller first id. A fingerprint
//! with several ids is then also reported as a pair with itself at distance 0, with all its ids on both sides.

mod error;
mod memory;
mod side_segment;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use twinprint_fingerprint::Width;
use twinprint_index::join::{Pair, StoredJoin};
use twinprint_index::segment::{Segment, SegmentError};
use twinprint_index::sort::Sorter;
use twinprint_index::store::Snapshot;

pub use self::error::JoinError;
use self::side_segment::{CHECK_INTERVAL, SideSegment, check_cancelled};
use crate::progress::{Progress, Unit};
use crate::raw::RawFiles;
use crate::work::WorkDir;

/// One side of a join.
#[derive(Debug)]
pub enum JoinSide<W> {
    /// The fingerprints and ids of an index, at one snapshot.
    Index(Snapshot<W>),
    /// The fingerprints and ids of files, whose width must be `W`.
    Files(RawFiles),
}

/// The options of a join.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The largest Hamming distance of a reported pair.
    pub k: u32,
    /// If true, a row is reported for each pair of ids. Otherwise one row is reported for each pair of fingerprints,
    /// with all ids of both.
    pub all_pairs: bool,
    /// The largest number of rows. A row of two fingerprints counts as the larger of their two numbers of ids.
    pub max_rows: u64,
    /// The approximate memory to use, in bytes. If it is too small, the join fails at the start.
    pub memory: u64,
    /// The part of that memory that the caller uses during the join, in bytes, such as the names of ids.
    pub held: u64,
    /// The parent directory of the temporary files, or `None` for the temporary directory of the system.
    pub work_dir: Option<PathBuf>,
}

impl<W: Width> JoinSide<W> {
    /// The number of ids on this side, including deleted ids.
    fn len(&self) -> u64 {
        match self {
            Self::Index(snapshot) => snapshot.rows(),
            Self::Files(files) => files.len(),
        }
    }

    /// Returns the segment of an index that has a single segment and can be joined directly.
    fn stored(&self) -> Option<&Segment<W>> {
        match self {
            Self::Index(snapshot) => snapshot.single(),
            Self::Files(_) => None,
        }
    }
}

/// A row of the result of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRow<'r> {
    /// The ids of the first fingerprint, in ascending order. With [`JoinOptions::all_pairs`] it is a single id.
    pub a: &'r [u64],
    /// The ids of the second fingerprint, in ascending order. With [`JoinOptions::all_pairs`] it is a single id.
    pub b: &'r [u64],
    /// The Hamming distance between the two fingerprints.
    pub hamming: u32,
}

/// Joins `a` with `b`, or with itself if `b` is `None`. Calls `row` for every row of the result, ordered by
/// fingerprint.
///
/// # Errors
/// [`JoinError`], and the error of `row`. Once the first row was reported, the join fails only if a file is damaged,
/// the join is cancelled, or `row` fails.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// use twinprint_io::jobs::index_join::{JoinOptions, JoinSide, join};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::raw::{Ids, RawFiles};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// // Fingerprints as little-endian numbers: the ids are their positions.
/// let path = room.path().join("fingerprints.u64");
/// let fingerprints = [0x00_u64, 0xffff, 0x01, 0xffff];
/// std::fs::write(&path, fingerprints.map(u64::to_le_bytes).concat())?;
/// let side = JoinSide::<u64>::Files(RawFiles::open(&[path], &Ids::Own)?);
/// let options = JoinOptions {
///     k: 3,
///     all_pairs: true,
///     max_rows: 1_000,
///     memory: 1 << 30,
///     held: 0,
///     work_dir: None,
/// };
/// let mut pairs = Vec::new();
/// let cancel = Arc::new(AtomicBool::new(false));
/// join(&side, None, &options, &Silent, &cancel, |row| {
///     pairs.push((row.a[0], row.b[0], row.hamming));
///     Ok::<_, Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(pairs, [(0, 2, 1), (1, 3, 0)]);
/// # Ok(())
/// # }
/// ```
pub fn join<W: Width, E: From<JoinError> + From<SegmentError>>(
    a: &JoinSide<W>,
    b: Option<&JoinSide<W>>,
    options: &JoinOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(JoinRow<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let sides: Vec<&JoinSide<W>> = std::iter::once(a).chain(b).collect();
    options.check_memory(&sides).map_err(JoinError::from)?;
    let work = match &options.work_dir {
        Some(path) => WorkDir::create(path),
        None => WorkDir::temporary(),
    };
    let work = work.map_err(JoinError::from)?;
    let gather = |side, name: &str| {
        let segment = work.path().join(name);
        SideSegment::new(side, &segment, options, progress, cancel)
    };
    let a = gather(a, "a.seg")?;
    let b = b.map(|b| gather(b, "b.seg")).transpose()?;
    let join_job = JoinJob {
        a: a.segment(),
        b: b.as_ref().map_or(a.segment(), SideSegment::segment),
        is_self_join: b.is_none(),
        options,
        cancel,
    };
    let pairs = join_job.pairs(work.path(), progress)?;
    progress.stage("write", 0, Unit::Steps);
    let mut reporter = RowReporter {
        job: &join_job,
        loaded: None,
        a: Vec::new(),
        b: Vec::new(),
    };
    pairs.finish(|pairs| {
        join_job.check_cancelled()?;
        pairs.iter().try_for_each(|&pair| reporter.rows(pair, &mut row))
    })
}

/// Joins two segments, or a segment with itself.
struct JoinJob<'j, W> {
    a: &'j Segment<W>,
    /// The second segment. In a self-join it is the same segment as `a`.
    b: &'j Segment<W>,
    is_self_join: bool,
    options: &'j JoinOptions,
    cancel: &'j AtomicBool,
}

/// Encodes a pair of row numbers as an integer that sorts by `a`, then by `b`: 32 bits for each row number and 8 bits
/// for the distance.
fn packed(pair: Pair) -> u128 {
    u128::from(pair.a) << 40 | u128::from(pair.b) << 8 | u128::from(pair.distance)
}

/// The pairs that the threads of a join have found so far.
struct FoundPairs {
    sorter: Sorter,
    rows: u64,
    failed: Option<SegmentError>,
}

impl<W: Width> JoinJob<'_, W> {
    /// Finds all pairs and returns them in a sorter.
    ///
    /// # Errors
    /// [`JoinError::TooManyRows`] once the number of rows exceeds the limit; a segment cannot be read; or the pairs
    /// cannot be sorted.
    fn pairs(&self, work: &Path, progress: &dyn Progress) -> Result<Sorter, JoinError> {
        let last = self.a.rows().saturating_sub(1) as u32;
        let top = packed(Pair {
            a: last,
            b: u32::MAX,
            distance: u8::MAX,
        });
        // The sorter of the pairs gets a quarter of the memory. The search for pairs gets the rest.
        let pairs = Mutex::new(FoundPairs {
            sorter: Sorter::new(work, top, self.options.for_pairs()),
            rows: 0,
            failed: None,
        });
        let enough = AtomicBool::new(false);
        let stop = || enough.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed);
        let join = StoredJoin {
            k: self.options.k,
            memory: self.options.for_join(),
            stop: &stop,
            done: &|rows| progress.advance(rows),
        };
        let sink = |some: &[Pair]| {
            let rows = some.iter().try_fold(0u64, |rows, &pair| {
                let counted = self.rows_of(pair)?;
                Ok::<_, SegmentError>(rows.saturating_add(counted))
            });
            // Poisoning of the lock is ignored, because every critical section leaves the found pairs consistent.
            let mut pairs = pairs.lock().unwrap_or_else(PoisonError::into_inner);
            let added = rows.and_then(|rows| {
                pairs.rows = pairs.rows.saturating_add(rows);
                some.iter().try_for_each(|&pair| pairs.sorter.push(packed(pair)))
            });
            let failed = added.err();
            if failed.is_some() || pairs.rows > self.options.max_rows {
                enough.store(true, Ordering::Relaxed);
                pairs.failed = pairs.failed.take().or(failed);
            }
        };
        let joined = if self.is_self_join {
            progress.stage(
                "join",
                join.work_with_itself::<W>(self.a.rows()),
                Unit::Fingerprints,
            );
            join.with_itself(self.a, &sink)
                .and_then(|()| self.equal_fingerprints(&sink))
        } else {
            let work = join.work_between::<W>(self.a.rows(), self.b.rows());
            progress.stage("join", work, Unit::Fingerprints);
            join.between(self.a, self.b, &sink)
        };
        let pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failed) = pairs.failed {
            return Err(failed.into());
        }
        self.check_cancelled()?;
        if pairs.rows > self.options.max_rows {
            return Err(JoinError::TooManyRows {
                rows: pairs.rows,
                limit: self.options.max_rows,
                all_pairs: self.options.all_pairs,
            });
        }
        joined?;
        Ok(pairs.sorter)
    }

    /// Returns the number of rows that a pair of fingerprints counts as.
    fn rows_of(&self, pair: Pair) -> Result<u64, SegmentError> {
        let (a, b) = (self.a.ids_count(pair.a)?, self.b.ids_count(pair.b)?);
        Ok(match self.options.all_pairs {
            false => a.max(b),
            true if self.is_self_join && pair.a == pair.b => a * a.saturating_sub(1) / 2,
            true => a.saturating_mul(b),
        })
    }

    /// Calls `sink` for each fingerprint that has several ids, with the pair of the fingerprint and itself.
    fn equal_fingerprints(&self, sink: &impl Fn(&[Pair])) -> Result<(), SegmentError> {
        if self.a.len() == self.a.rows() {
            return Ok(());
        }
        let (mut row, mut before, mut reported) = (0u32, None, false);
        for next in self.a {
            let (fingerprint, _) = next?;
            if before == Some(fingerprint) {
                if !std::mem::replace(&mut reported, true) {
                    sink(&[Pair {
                        a: row,
                        b: row,
                        distance: 0,
                    }]);
                }
                continue;
            }
            if before.replace(fingerprint).is_some() {
                row += 1;
            }
            reported = false;
            if row % CHECK_INTERVAL as u32 == 0 && self.cancel.load(Ordering::Relaxed) {
                return Err(SegmentError::Stopped);
            }
        }
        Ok(())
    }

    fn check_cancelled(&self) -> Result<(), JoinError> {
        check_cancelled(self.cancel)
    }
}

/// Translates pairs of row numbers into rows of ids.
struct RowReporter<'j, W> {
    job: &'j JoinJob<'j, W>,
    /// The number of the row whose ids are in the buffer `a`.
    loaded: Option<u32>,
    a: Vec<u64>,
    b: Vec<u64>,
}

impl<W: Width> RowReporter<'_, W> {
    fn rows<E: From<SegmentError>>(
        &mut self,
        pair: u128,
        row: &mut impl FnMut(JoinRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (first, second, hamming) = ((pair >> 40) as u32, (pair >> 8) as u32, (pair & 0xff) as u32);
        if self.loaded != Some(first) {
            self.loaded = None;
            self.a.clear();
            self.job.a.ids_at(first, |id| self.a.push(id))?;
            self.loaded = Some(first);
        }
        let equal = self.job.is_self_join && first == second;
        self.b.clear();
        if equal {
            self.b.extend_from_slice(&self.a);
        } else {
            self.job.b.ids_at(second, |id| self.b.push(id))?;
        }
        // In a self-join, the fingerprint with the smaller first id is reported as `a`.
        let exchanged = self.job.is_self_join && self.a.first() > self.b.first();
        let (a, b) = if exchanged {
            (&self.b, &self.a)
        } else {
            (&self.a, &self.b)
        };
        if !self.job.options.all_pairs {
            return row(JoinRow { a, b, hamming });
        }
        for (i, &x) in a.iter().enumerate() {
            for &y in b.iter().skip(if equal { i + 1 } else { 0 }) {
                let (x, y) = if self.job.is_self_join && x > y {
                    (y, x)
                } else {
                    (x, y)
                };
                let (a, b) = (&[x], &[y]);
                row(JoinRow { a, b, hamming })?;
            }
        }
        Ok(())
    }
}
