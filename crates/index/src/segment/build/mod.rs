//! Builds a segment from fingerprints and ids in any order, within bounded memory.
//!
//! Tables are built one after the other. The records of the first table are divided by their leading bits as they come
//! ([`spill`]). Then the divisions are sorted, several at a time, and written in order; equal fingerprints become one
//! row with the ids of all. Each row that is written also goes to the divisions of the other tables, which need
//! fingerprints only. Memory is bounded ([`memory`]), unless a large share of the fingerprints agree in their first
//! eight bits: a division is sorted as a whole.
//!
//! With [`Options::resume`], a build writes a journal after every table except the last, and a later build of the same work resumes from it ([`resume`]).

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

/// Bits of the row number of a posting.
pub(super) const ROW_BITS: u32 = 32;
/// Bits of a sum of a posting.
pub(super) const SUM_BITS: u32 = 64;

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The plan; `None` is two halves for radius 3.
    pub plan: Option<Plan>,
    /// Address bits of each table; empty is about log₂ n.
    pub address_bits: Vec<u32>,
    /// The storage format of rows.
    pub codec: Codec,
    /// The file system to write to; `None` is the one of the system.
    pub storage: Option<Arc<dyn Storage>>,
    /// Bytes of memory to stay within. Data that does not fit goes to temporary files in the directory of the segment.
    pub memory: u64,
    /// An exclusive upper bound of all ids, if known; it shortens the records.
    pub ids_below: Option<u64>,
    /// Once this is set, the build ends with [`SegmentError::Stopped`].
    pub stop: Option<Arc<AtomicBool>>,
    /// Called with the number of rows since the last call. Rows count when they are written, once for each table, and
    /// when a resumed build reads them back.
    pub written: Option<ProgressCallback>,
    /// A description of the work: everything that decides the bytes of the file, apart from these options. With it, a build that is ended after its
    /// first table leaves its tables, and [`Interrupted::find`] finds them for the same work only. Facts that are known only after the input was read,
    /// such as a digest of it, are for [`Builder::note`].
    pub resume: Option<Vec<u8>>,
}

/// A callback for progress.
#[derive(Clone)]
pub struct ProgressCallback(Arc<dyn Fn(u64) + Send + Sync>);

impl ProgressCallback {
    /// Calls `report` with the number of rows written since the last call.
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
    /// The plan, after checking that it is for this width.
    fn plan<W: Width>(&self) -> Result<Plan, SegmentError> {
        let plan = match &self.plan {
            Some(plan) => plan.clone(),
            None => Plan::halves(W::BITS, 3)?,
        };
        is_exact(&plan)?;
        if plan.bits == W::BITS && !plan.tables.is_empty() {
            Ok(plan)
        } else {
            Err(crate::plan::PlanError::Bits(plan.bits).into())
        }
    }

    /// Reports rows, and checks whether to stop.
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

/// A builder of a segment.
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
    order: Order<W>,
    spill: Spill,
    /// The records of the first table.
    gathered: DividedRecords,
    id_bytes: usize,
    count: u64,
    /// The bitwise or of all ids.
    ids: u64,
    notes: Vec<u8>,
}

impl<W: Width> Builder<W> {
    /// A builder of a file at `path`, which appears only when it is complete. With [`Options::resume`], the files of an interrupted build are removed.
    ///
    /// # Errors
    /// `Inexact` for a plan that would miss neighbours, `Plan` for one of another width.
    pub fn new(path: &Path, options: &Options) -> Result<Self, SegmentError> {
        let plan = options.plan::<W>()?;
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
            id_bytes,
            count: 0,
            ids: 0,
            notes: Vec::new(),
        })
    }

    /// Adds a fingerprint. Equal fingerprints are stored once with the ids of all; an id pushed twice with one fingerprint is stored twice.
    ///
    /// # Errors
    /// `Io`; `TooMany` for an id that [`Options::ids_below`] excluded.
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

    /// Stores notes about the input for a build that resumes this one; see [`Interrupted::notes`].
    pub fn note(&mut self, notes: Vec<u8>) {
        self.notes = notes;
    }

    /// Writes the segment and opens it.
    ///
    /// # Errors
    /// `Io`; `TooMany` distinct fingerprints; `Stopped` when [`Options::stop`] was set. With [`Options::resume`], whole tables stay on disk for
    /// [`Interrupted::find`] after any error.
    pub fn finish(self) -> Result<Segment<W>, SegmentError> {
        let path = self.path.clone();
        self.write()?;
        Segment::open(&path)
    }
}
