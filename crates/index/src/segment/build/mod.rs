//! Builds a segment from fingerprints and ids in any order, within bounded memory.
//!
//! Tables are built one after the other. The records of the first table are divided by their leading bits as they come
//! ([`spill`]). Then the divisions are sorted, several at a time, and written in order; equal fingerprints become one
//! row with the ids of all. Each row that is written also goes to the divisions of the other tables, which need
//! fingerprints only. Memory is bounded ([`memory`]), unless a large share of the fingerprints agree in their first
//! eight bits, because a division is sorted as a whole.
//!
//! With [`Options::resume`], a build writes a journal after every table except the last, and a later build of the same
//! work resumes from it ([`resume`]).

mod encode;
mod memory;
mod records;
mod resume;
mod spill;
mod spool;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_fingerprint::Width;

pub use self::resume::{Interrupted, Resumable};
use self::spill::{DIVISION_BITS, DividedRecords, Spill};
use super::codec_kind::Codec;
use super::order::Order;
use super::{Segment, SegmentError, write};
use crate::plan::Plan;
use crate::plan::check::is_exact;
use crate::storage::{Storage, folder};

/// The number of bits of the row number in a posting.
pub(super) const ROW_BITS: u32 = 32;
/// The number of bits of the sum in a posting.
pub(super) const SUM_BITS: u32 = 64;

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The plan of the tables. `None` stands for two halves, planned for radius 3.
    pub plan: Option<Plan>,
    /// Allows a plan that is not exact, such as [`Plan::random`]. Lookups then miss matches: [`Segment::recall`] states
    /// the share that they find.
    pub allow_inexact: bool,
    /// The number of address bits of each table. A table without an entry gets about log₂ of the number of ids.
    pub address_bits: Vec<u32>,
    /// The storage format of rows.
    pub codec: Codec,
    /// The file system to write to. `None` stands for that of the operating system.
    pub storage: Option<Arc<dyn Storage>>,
    /// The memory in bytes that the build should not exceed. Data that does not fit goes to temporary files in the
    /// directory of the segment.
    pub memory: u64,
    /// An exclusive upper bound of all ids, if one is known. It makes the records of the build shorter.
    pub ids_below: Option<u64>,
    /// Once this is set, the build ends with [`SegmentError::Stopped`].
    pub stop: Option<Arc<AtomicBool>>,
    /// Called with the number of rows since the last call. Each row counts once for each table in which it is written,
    /// and once more when a resumed build reads it back.
    pub written: Option<ProgressCallback>,
    /// A description of everything that decides the bytes of the file, apart from these options. If it is given and the
    /// build ends after its first table, the complete tables stay on disk, and [`Interrupted::find`] finds them if it
    /// is given the same description. Facts that are known only after the input was read, such as a digest of it,
    /// belong in [`Builder::note`].
    pub resume: Option<Vec<u8>>,
}

/// A callback that a build calls with its progress.
#[derive(Clone)]
pub struct ProgressCallback(Arc<dyn Fn(u64) + Send + Sync>);

impl ProgressCallback {
    /// Creates a callback that calls `report` with the number of rows written since the last call.
    pub fn new(report: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl std::fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgressCallback")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plan: None,
            allow_inexact: false,
            address_bits: Vec::new(),
            codec: Codec::default(),
            storage: None,
            memory: 4 << 30,
            ids_below: None,
            stop: None,
            written: None,
            resume: None,
        }
    }
}

impl Options {
    /// Returns the plan and whether it is exact, after checking that it is for fingerprints of this width, and exact if
    /// it must be.
    fn plan<W: Width>(&self) -> Result<(Plan, bool), SegmentError> {
        let plan = match &self.plan {
            Some(plan) => plan.clone(),
            None => Plan::halves(W::BITS, 3)?,
        };
        let exact = match is_exact(&plan) {
            Ok(()) => true,
            Err(_) if self.allow_inexact => false,
            Err(missed) => return Err(missed.into()),
        };
        if plan.bits == W::BITS && !plan.tables.is_empty() {
            Ok((plan, exact))
        } else {
            Err(crate::plan::PlanError::Bits(plan.bits).into())
        }
    }

    /// Reports that `rows` more rows are done. Returns `Stopped` if the build is to stop.
    fn report_and_check_stop(&self, rows: usize) -> Result<(), SegmentError> {
        if let Some(ProgressCallback(report)) = &self.written {
            report(rows as u64);
        }
        let stop = self.stop.as_ref();
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(SegmentError::Stopped);
        }
        Ok(())
    }
}

/// Builds a segment from fingerprints and ids that are pushed in any order.
///
/// ```
/// use twinprint_index::segment::{Builder, Codec, DirectoryForm, Options};
///
/// let directory = tempfile::tempdir()?;
/// let options = Options {
///     codec: Codec::Packed(DirectoryForm::EliasFano),
///     memory: 1 << 30,
///     ..Options::default()
/// };
/// let mut builder = Builder::new(&directory.path().join("rows.seg"), &options)?;
/// builder.push(0b0000_u64, 17)?;
/// builder.push(0b0000_u64, 18)?;
/// let segment = builder.finish()?;
/// assert_eq!((segment.rows(), segment.len()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder<W> {
    path: PathBuf,
    options: Options,
    plan: Plan,
    exact: bool,
    order: Order<W>,
    spill: Spill,
    /// The records of the first table, divided by their leading bits.
    gathered: DividedRecords,
    id_bytes: usize,
    count: u64,
    /// The bitwise or of all ids.
    ids: u64,
    notes: Vec<u8>,
}

impl<W: Width> Builder<W> {
    /// Creates a builder of a segment at `path`. The file appears there only when it is complete. With
    /// [`Options::resume`], the files of an earlier interrupted build are removed.
    ///
    /// # Errors
    /// `Inexact` if the plan would miss neighbours; `Plan` if it is for another width.
    pub fn new(path: &Path, options: &Options) -> Result<Self, SegmentError> {
        let (plan, exact) = options.plan::<W>()?;
        let first = plan.tables.first().map_or(0, |table| table.mask);
        if options.resume.is_some() {
            write::remove_unfinished(path, options.storage.as_ref());
        }
        let id_bytes = options.id_bytes();
        Ok(Self {
            path: path.to_owned(),
            order: Order::new(first, DIVISION_BITS),
            spill: Spill::new(
                folder(path),
                (options.for_records(plan.tables.len()) / 5 * 2) as usize,
            ),
            gathered: DividedRecords::new(records::bytes::<W>() + id_bytes),
            options: options.clone(),
            plan,
            exact,
            id_bytes,
            count: 0,
            ids: 0,
            notes: Vec::new(),
        })
    }

    /// Adds a fingerprint with its id. Equal fingerprints are stored once, with the ids of all. If an id is pushed
    /// twice with the same fingerprint, it is stored twice.
    ///
    /// # Errors
    /// `Io` if a temporary file cannot be written; `TooMany` if [`Options::ids_below`] excludes the id.
    #[inline]
    pub fn push(&mut self, fingerprint: W, id: u64) -> Result<(), SegmentError> {
        let permuted = self.order.permute(fingerprint);
        if self.id_bytes < 8 && id >> (8 * self.id_bytes) > 0 {
            return Err(SegmentError::TooMany);
        }
        let mut record = [0; 24];
        let length = records::write(&mut record, permuted, id, self.id_bytes);
        self.count += 1;
        self.ids |= id;
        let division = records::division(permuted);
        self.gathered.push(division, &record[..length], &mut self.spill)
    }

    /// Sets notes about the input, which are stored for a build that resumes this one; see [`Interrupted::notes`].
    pub fn note(&mut self, notes: Vec<u8>) {
        self.notes = notes;
    }

    /// Writes the segment and opens it.
    ///
    /// # Errors
    /// `Io`; `TooMany` distinct fingerprints; `Stopped` if [`Options::stop`] was set. With [`Options::resume`],
    /// complete tables stay on disk after any error, and [`Interrupted::find`] finds them.
    pub fn finish(self) -> Result<Segment<W>, SegmentError> {
        let path = self.path.clone();
        self.write()?;
        Segment::open(&path)
    }
}
