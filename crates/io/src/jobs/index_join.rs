//! The join of stored fingerprints: all pairs of ids whose fingerprints lie within k bits, of one index or file with itself or of two.
//!
//! Whatever a side is, it is joined as one segment, whose rows are distinct fingerprints: an index of one segment as it lies, everything else
//! gathered into a segment in the work directory first. So memory is bounded, a fingerprint that comes a million times is compared once, and what
//! it costs is known before a row is written: pairs are sorted by the fingerprints, on disk where they are many, and only then told.
//!
//! A row is a pair of fingerprints with the ids of either, or ([`JoinOptions::all_pairs`]) a pair of ids. Of a side joined with itself each pair
//! comes once, the one with the smaller (first) id as a; a fingerprint that several ids have is a row of its own at distance 0, with all of them on both
//! sides.

mod memory;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use twinprint_index::join::{Pair, StoredJoin};
use twinprint_index::segment::{self, Builder, Segment, SegmentError};
use twinprint_index::sort::Sorter;
use twinprint_index::store::{Snapshot, StoreError};

use crate::progress::{Progress, Unit};
use crate::raw::{RawError, RawFiles};
use crate::work::{WorkDir, WorkError};

/// One of the two.
#[derive(Debug)]
pub enum Side {
    /// What an index holds.
    Index(Snapshot<u64>),
    /// What files hold.
    Files(RawFiles),
}

/// How to join.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// Most bits that may differ.
    pub k: u32,
    /// Rows of two ids, in place of rows of two fingerprints with all ids of either.
    pub all_pairs: bool,
    /// Rows at most; a fingerprint with many ids counts as so many.
    pub max_rows: u64,
    /// Bytes of memory to stay within, about; too few are refused.
    pub memory: u64,
    /// Where what does not fit goes; the system's place for temporary files unless given.
    pub work_dir: Option<PathBuf>,
}

impl Side {
    /// Ids, deleted ones counted.
    fn len(&self) -> u64 {
        match self {
            Self::Index(snapshot) => snapshot.rows(),
            Self::Files(files) => files.len(),
        }
    }

    /// The one segment that is all there is, if so.
    fn stored(&self) -> Option<&Segment<u64>> {
        match self {
            Self::Index(snapshot) => snapshot.single(),
            Self::Files(_) => None,
        }
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRow<'r> {
    /// The ids of the one fingerprint, ascending; one alone where all pairs are told.
    pub a: &'r [u64],
    /// Those of the other.
    pub b: &'r [u64],
    /// In how many bits they differ.
    pub hamming: u32,
}

/// Why there is no join.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A file of fingerprints.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// An index.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A segment, of an index or in the work directory.
    #[error(transparent)]
    Segment(SegmentError),
    /// The work directory.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// More rows than are wanted.
    #[error(
        "the join has {rows} rows or more (the limit is {limit}): ask for a smaller radius, or allow more rows{}",
        if *.all_pairs { "; rows of distinct fingerprints are fewer than rows of all pairs of ids" } else { "" }
    )]
    TooManyRows {
        /// Rows known to be needed.
        rows: u64,
        /// The limit.
        limit: u64,
        /// Whether each pair of ids is a row.
        all_pairs: bool,
    },
    /// Told to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<SegmentError> for JoinError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Stopped => Self::Interrupted,
            error => Self::Segment(error),
        }
    }
}

/// Joins `a` with `b`, or with itself, and calls `row` with every row, in the order of the fingerprints.
///
/// # Errors
/// [`JoinError`], before any row is told but for a damaged file and an interrupt; whatever `row` gives.
pub fn join<E: From<JoinError> + From<SegmentError>>(
    a: &Side,
    b: Option<&Side>,
    options: &JoinOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(JoinRow<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let sides: Vec<&Side> = std::iter::once(a).chain(b).collect();
    options.check_memory(&sides).map_err(JoinError::from)?;
    let work = match &options.work_dir {
        Some(path) => WorkDir::create(path),
        None => WorkDir::temporary(),
    };
    let work = work.map_err(JoinError::from)?;
    let gather = |side, name: &str| {
        let segment = work.path().join(name);
        Gathered::of(side, &segment, options, progress, cancel)
    };
    let a = gather(a, "a.seg")?;
    let b = b.map(|b| gather(b, "b.seg")).transpose()?;
    let job = Job {
        a: a.segment(),
        b: b.as_ref().map_or(a.segment(), Gathered::segment),
        itself: b.is_none(),
        options,
        cancel,
    };
    let pairs = job.pairs(work.path(), progress)?;
    progress.stage("write", 0, Unit::Steps);
    let mut telling = Telling {
        job: &job,
        held: None,
        a: Vec::new(),
        b: Vec::new(),
    };
    pairs.finish(|pairs| {
        job.go_on()?;
        pairs.iter().try_for_each(|&pair| telling.rows(pair, &mut row))
    })
}

/// A side as a segment.
enum Gathered<'s> {
    Stored(&'s Segment<u64>),
    Made(Box<Segment<u64>>),
}

impl<'s> Gathered<'s> {
    fn of(
        side: &'s Side,
        path: &Path,
        options: &JoinOptions,
        progress: &dyn Progress,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, JoinError> {
        if let Some(segment) = side.stored() {
            return Ok(Self::Stored(segment));
        }
        let build = segment::Options {
            stop: Some(Arc::clone(cancel)),
            ..options.gathering(side)?
        };
        let mut builder = Builder::new(path, &build)?;
        progress.stage("gather", side.len(), Unit::Fingerprints);
        match side {
            Side::Index(snapshot) => {
                for (i, row) in (1..).zip(snapshot.iter()) {
                    let (fingerprint, id) = row?;
                    builder.push(fingerprint, id)?;
                    if i % STRETCH == 0 {
                        progress.advance(STRETCH);
                        go_on(cancel)?;
                    }
                }
            }
            Side::Files(files) => files.read(0, |fingerprints, ids| {
                go_on(cancel)?;
                for (&fingerprint, &id) in fingerprints.iter().zip(ids) {
                    builder.push(fingerprint, id)?;
                }
                progress.advance(fingerprints.len() as u64);
                Ok::<_, JoinError>(())
            })?,
        }
        Ok(Self::Made(Box::new(builder.finish()?)))
    }

    fn segment(&self) -> &Segment<u64> {
        match self {
            Self::Stored(segment) => segment,
            Self::Made(segment) => segment,
        }
    }
}

fn go_on(cancel: &AtomicBool) -> Result<(), JoinError> {
    if cancel.load(Ordering::Relaxed) {
        Err(JoinError::Interrupted)
    } else {
        Ok(())
    }
}

/// Two segments to be joined.
struct Job<'j> {
    a: &'j Segment<u64>,
    /// The same where it is joined with itself.
    b: &'j Segment<u64>,
    itself: bool,
    options: &'j JoinOptions,
    cancel: &'j AtomicBool,
}

/// Pairs of row numbers as numbers that sort by a, then b: 32 bits of either, and 8 of the distance.
fn packed(pair: Pair) -> u128 {
    u128::from(pair.a) << 40 | u128::from(pair.b) << 8 | u128::from(pair.distance)
}

/// What the threads of a join gather.
struct Pairs {
    sorter: Sorter,
    rows: u64,
    failed: Option<SegmentError>,
}

impl Job<'_> {
    /// All pairs, and no more of them than may be told.
    fn pairs(&self, work: &Path, progress: &dyn Progress) -> Result<Sorter, JoinError> {
        let last = self.a.rows().saturating_sub(1) as u32;
        let top = packed(Pair {
            a: last,
            b: u32::MAX,
            distance: u8::MAX,
        });
        // A quarter for the pairs, the rest for the join.
        let pairs = Mutex::new(Pairs {
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
            // A panic elsewhere leaves what was gathered whole.
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
        let joined = if self.itself {
            progress.stage(
                "join",
                join.work_with_itself::<u64>(self.a.rows()),
                Unit::Fingerprints,
            );
            join.with_itself(self.a, &sink).and_then(|()| self.equal(&sink))
        } else {
            let work = join.work_between::<u64>(self.a.rows(), self.b.rows());
            progress.stage("join", work, Unit::Fingerprints);
            join.between(self.a, self.b, &sink)
        };
        let pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failed) = pairs.failed {
            return Err(failed.into());
        }
        self.go_on()?;
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

    /// As how many rows a pair counts.
    fn rows_of(&self, pair: Pair) -> Result<u64, SegmentError> {
        let (a, b) = (self.a.ids_count(pair.a)?, self.b.ids_count(pair.b)?);
        Ok(match self.options.all_pairs {
            false => a.max(b),
            true if self.itself && pair.a == pair.b => a * a.saturating_sub(1) / 2,
            true => a.saturating_mul(b),
        })
    }

    /// Gives every fingerprint that several ids have as a pair with itself.
    fn equal(&self, sink: &impl Fn(&[Pair])) -> Result<(), SegmentError> {
        if self.a.len() == self.a.rows() {
            return Ok(());
        }
        let (mut row, mut before, mut told) = (0u32, None, false);
        for next in self.a {
            let (fingerprint, _) = next?;
            if before == Some(fingerprint) {
                if !std::mem::replace(&mut told, true) {
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
            told = false;
            if row % STRETCH as u32 == 0 && self.cancel.load(Ordering::Relaxed) {
                return Err(SegmentError::Stopped);
            }
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), JoinError> {
        go_on(self.cancel)
    }
}

/// Rows between two looks whether to go on.
const STRETCH: u64 = 1 << 16;

/// From pairs of row numbers to ids.
struct Telling<'j> {
    job: &'j Job<'j>,
    /// The row of which `a` holds the ids.
    held: Option<u32>,
    a: Vec<u64>,
    b: Vec<u64>,
}

impl Telling<'_> {
    fn rows<E: From<SegmentError>>(
        &mut self,
        pair: u128,
        row: &mut impl FnMut(JoinRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (first, second, hamming) = ((pair >> 40) as u32, (pair >> 8) as u32, (pair & 0xff) as u32);
        if self.held != Some(first) {
            self.held = None;
            self.a.clear();
            self.job.a.ids_at(first, |id| self.a.push(id))?;
            self.held = Some(first);
        }
        let equal = self.job.itself && first == second;
        self.b.clear();
        if equal {
            self.b.extend_from_slice(&self.a);
        } else {
            self.job.b.ids_at(second, |id| self.b.push(id))?;
        }
        // The smaller id is a's where a and b could be exchanged.
        let exchanged = self.job.itself && self.a.first() > self.b.first();
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
                let (x, y) = if self.job.itself && x > y { (y, x) } else { (x, y) };
                let (a, b) = (&[x], &[y]);
                row(JoinRow { a, b, hamming })?;
            }
        }
        Ok(())
    }
}
