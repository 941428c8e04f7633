//! The join of stored fingerprints: all pairs of ids whose fingerprints are within k bits, of one index or file with itself or of two.
//!
//! Each side is joined as one segment, whose rows are distinct fingerprints. An index of one segment is used as it is. Any other side is
//! first written to a segment in the work directory. So memory is bounded, a fingerprint that occurs a million times is compared once, and
//! the number of rows is known before the first row is reported: pairs are sorted by fingerprint, on disk if they are many.
//!
//! A row is a pair of fingerprints with the ids of each, or, with [`JoinOptions::all_pairs`], a pair of ids. In a join of one side with itself
//! each pair is reported once, and `a` has the smaller first id. A fingerprint of several ids is then also a row at distance 0, with all of
//! them on both sides.

mod error;
mod memory;
mod side_segment;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use twinprint_index::join::{Pair, StoredJoin};
use twinprint_index::segment::{Segment, SegmentError};
use twinprint_index::sort::Sorter;
use twinprint_index::store::Snapshot;

pub use self::error::JoinError;
use self::side_segment::{CHECK_INTERVAL, SideSegment, check_cancelled};
use crate::progress::{Progress, Unit};
use crate::raw::RawFiles;
use crate::work::WorkDir;

/// An input of a join.
#[derive(Debug)]
pub enum JoinSide {
    /// The contents of an index.
    Index(Snapshot<u64>),
    /// The contents of files of fingerprints.
    Files(RawFiles),
}

/// The options of a join.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The largest Hamming distance of a pair.
    pub k: u32,
    /// Report a row for each pair of ids, in place of one for each pair of fingerprints with all ids of each.
    pub all_pairs: bool,
    /// The largest number of rows. A row of fingerprints counts as many as the ids of the fingerprint that has more.
    pub max_rows: u64,
    /// The approximate memory to use, in bytes. A value that is too small is an error.
    pub memory: u64,
    /// The directory of temporary files; `None` for that of the system.
    pub work_dir: Option<PathBuf>,
}

impl JoinSide {
    /// The number of ids, including deleted ones.
    fn len(&self) -> u64 {
        match self {
            Self::Index(snapshot) => snapshot.rows(),
            Self::Files(files) => files.len(),
        }
    }

    /// The segment of an index that consists of a single one.
    fn stored(&self) -> Option<&Segment<u64>> {
        match self {
            Self::Index(snapshot) => snapshot.single(),
            Self::Files(_) => None,
        }
    }
}

/// A row of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRow<'r> {
    /// The ids of the first fingerprint, ascending; a single id with [`JoinOptions::all_pairs`].
    pub a: &'r [u64],
    /// The ids of the second fingerprint, likewise.
    pub b: &'r [u64],
    /// The Hamming distance of the fingerprints.
    pub hamming: u32,
}

/// Joins `a` with `b`, or with itself, and calls `row` with every row, in the order of the fingerprints.
///
/// # Errors
/// [`JoinError`]; after the first row only for a damaged file or a cancelled join. The error of `row`.
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
/// let side = JoinSide::Files(RawFiles::open(&[path], &Ids::Own)?);
/// let options = JoinOptions {
///     k: 3,
///     all_pairs: true,
///     max_rows: 1_000,
///     memory: 1 << 30,
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
pub fn join<E: From<JoinError> + From<SegmentError>>(
    a: &JoinSide,
    b: Option<&JoinSide>,
    options: &JoinOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(JoinRow<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let sides: Vec<&JoinSide> = std::iter::once(a).chain(b).collect();
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

/// A join of two segments.
struct JoinJob<'j> {
    a: &'j Segment<u64>,
    /// The same segment as `a` in a join with itself.
    b: &'j Segment<u64>,
    is_self_join: bool,
    options: &'j JoinOptions,
    cancel: &'j AtomicBool,
}

/// A pair of row numbers as a number that sorts by `a`, then `b`: 32 bits for each and 8 for the distance.
fn packed(pair: Pair) -> u128 {
    u128::from(pair.a) << 40 | u128::from(pair.b) << 8 | u128::from(pair.distance)
}

/// The pairs that the threads of a join have found.
struct FoundPairs {
    sorter: Sorter,
    rows: u64,
    failed: Option<SegmentError>,
}

impl JoinJob<'_> {
    /// Finds all pairs.
    ///
    /// # Errors
    /// [`JoinError::TooManyRows`] once the rows exceed the limit; an error of reading or sorting.
    fn pairs(&self, work: &Path, progress: &dyn Progress) -> Result<Sorter, JoinError> {
        let last = self.a.rows().saturating_sub(1) as u32;
        let top = packed(Pair {
            a: last,
            b: u32::MAX,
            distance: u8::MAX,
        });
        // A quarter of the memory is for the pairs, the rest for the join.
        let pairs = Mutex::new(FoundPairs {
            sorter: Sorter::new(work, top, self.options.memory / 4),
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
            // Every critical section leaves the pairs consistent, so poisoning is ignored.
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
                join.work_with_itself::<u64>(self.a.rows()),
                Unit::Fingerprints,
            );
            join.with_itself(self.a, &sink)
                .and_then(|()| self.equal_fingerprints(&sink))
        } else {
            let work = join.work_between::<u64>(self.a.rows(), self.b.rows());
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

    /// The number of rows that a pair counts as.
    fn rows_of(&self, pair: Pair) -> Result<u64, SegmentError> {
        let (a, b) = (self.a.ids_count(pair.a)?, self.b.ids_count(pair.b)?);
        Ok(match self.options.all_pairs {
            false => a.max(b),
            true if self.is_self_join && pair.a == pair.b => a * a.saturating_sub(1) / 2,
            true => a.saturating_mul(b),
        })
    }

    /// Calls `sink` with a pair of each fingerprint of several ids with itself.
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

/// Turns pairs of row numbers into rows of ids.
struct RowReporter<'j> {
    job: &'j JoinJob<'j>,
    /// The row whose ids are in `a`.
    loaded: Option<u32>,
    a: Vec<u64>,
    b: Vec<u64>,
}

impl RowReporter<'_> {
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
        // In a join with itself, the side with the smaller first id is `a`.
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
