//! Resumes an interrupted build.
//!
//! The journal names the tables that are complete. All their bytes are verified; the rows of the last complete table
//! are read back and divided for the remaining tables, and the build continues as if it had just written that table. A
//! table depends on the set of rows only, so the finished file is, byte for byte, that of an uninterrupted build. Input
//! is not read again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use twinprint_fingerprint::Width;

use super::spill::Spill;
use super::tables::{TableWriter, divide, metas, orders};
use super::{Options, write};
use crate::segment::journal::{self, Journal};
use crate::segment::layout::TableMeta;
use crate::segment::mapping::Mapping;
use crate::segment::sectors::{Checksums, Sectors};
use crate::segment::write::SegmentWriter;
use crate::segment::{Segment, SegmentError};
use crate::storage::folder;

/// The number of bytes that are verified between two checks of [`Options::stop`].
const VERIFIED_BYTES: usize = 64 << 20;

/// The result of a search for the files of an interrupted build.
#[derive(Debug)]
pub enum Resumable<W> {
    /// There is no journal, so there is no build to resume.
    Nothing,
    /// The files of an interrupted build cannot be used: they belong to other work, are damaged, or are of another
    /// version, as the error states. A new build removes them.
    Unusable(SegmentError),
    /// There is an interrupted build with complete tables.
    Tables(Box<Interrupted<W>>),
}

/// An interrupted build with at least one complete table, which can be resumed.
///
/// ```
/// use twinprint_index::segment::{Builder, Interrupted, Options, Resumable};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("rows.seg");
/// let options = Options {
///     resume: Some(b"rows of 2024".to_vec()),
///     ..Options::default()
/// };
/// let segment = match Interrupted::<u64>::find(&path, &options)? {
///     Resumable::Tables(interrupted) => interrupted.finish()?,
///     Resumable::Nothing | Resumable::Unusable(_) => {
///         let mut builder = Builder::new(&path, &options)?;
///         builder.push(7, 0)?;
///         builder.finish()?
///     }
/// };
/// assert_eq!(segment.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Interrupted<W> {
    path: PathBuf,
    options: Options,
    journal: Journal,
    /// The tables that are complete, opened as a segment.
    so_far: Segment<W>,
}

impl<W: Width> Interrupted<W> {
    /// Looks for an interrupted build of a segment at `path`. It must have been started with the same plan, address
    /// bits, codec and [`Options::resume`]. Without [`Options::resume`], returns [`Resumable::Nothing`]. Reads and
    /// verifies all complete tables.
    ///
    /// # Errors
    /// `Stopped` if [`Options::stop`] was set. Files that cannot be read or verified are not an error but
    /// [`Resumable::Unusable`].
    pub fn find(path: &Path, options: &Options) -> Result<Resumable<W>, SegmentError> {
        let Some(work) = &options.resume else {
            return Ok(Resumable::Nothing);
        };
        let journal = journal::place(path);
        match fs::read(&journal) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Resumable::Nothing),
            Err(error) => Ok(Resumable::Unusable(SegmentError::io(&journal)(error))),
            Ok(bytes) => match Self::verified(path, options, work, &bytes) {
                Ok(interrupted) => Ok(Resumable::Tables(Box::new(interrupted))),
                Err(SegmentError::Stopped) => Err(SegmentError::Stopped),
                Err(error) => Ok(Resumable::Unusable(error)),
            },
        }
    }

    fn verified(path: &Path, options: &Options, work: &[u8], journal: &[u8]) -> Result<Self, SegmentError> {
        let place = journal::place(path);
        let journal = Journal::decode(journal, &place)?;
        if journal.work != work || !same_tables::<W>(&journal, options)? {
            return Err(SegmentError::OtherWork { path: place });
        }
        let file = write::temporary(path);
        let damaged = |offset, what| SegmentError::Damaged {
            path: file.clone(),
            offset,
            what,
        };
        let data = Mapping::map_in_order(&file)?;
        let length = usize::try_from(journal.length).unwrap_or(usize::MAX);
        let sectors = Sectors::new(length, Checksums::Apart(journal.sums.clone()));
        let sectors = sectors.filter(|_| length <= data.len());
        let sectors = sectors.ok_or_else(|| damaged(data.len() as u64, "its end is missing"))?;
        for from in (0..length).step_by(VERIFIED_BYTES) {
            let bytes = from..length.min(from + VERIFIED_BYTES);
            let wrong = |offset| damaged(offset, "a checksum does not match");
            sectors.verify_each(&data, bytes).map_err(wrong)?;
            options.report_and_check_stop(0)?;
        }
        let mut footer = journal.footer.clone();
        footer.tables.truncate(journal.whole as usize);
        Ok(Self {
            so_far: Segment::of(&file, data, footer, sectors)?,
            path: path.to_owned(),
            options: options.clone(),
            journal,
        })
    }

    /// The number of complete tables.
    pub fn whole(&self) -> usize {
        self.journal.whole as usize
    }

    /// The number of tables of the complete segment.
    pub fn tables(&self) -> usize {
        self.journal.footer.tables.len()
    }

    /// The notes given to [`super::Builder::note`].
    pub fn notes(&self) -> &[u8] {
        &self.journal.notes
    }

    /// The number of ids that were pushed before the interruption.
    pub fn len(&self) -> u64 {
        self.so_far.len()
    }

    /// Returns `true` if no id was pushed.
    pub fn is_empty(&self) -> bool {
        self.so_far.is_empty()
    }

    /// Writes the missing tables and opens the segment.
    ///
    /// # Errors
    /// The same as for [`super::Builder::finish`].
    pub fn finish(self) -> Result<Segment<W>, SegmentError> {
        let whole = self.whole();
        let Self {
            path,
            options,
            journal,
            so_far,
        } = self;
        let orders = orders(&journal.footer.plan, &options, journal.footer.ids);
        let budget = options.for_records(orders.len()) / 5 * 2;
        let mut spill = Spill::new(folder(&path), budget as usize);
        let mut others = TableWriter::none_divided(&orders[whole..]);
        let mut walk = so_far.walk(whole - 1);
        let mut rows = Vec::new();
        while walk.fill(&mut rows)? {
            for &row in &rows {
                let fingerprint = orders[whole - 1].restore(row);
                divide(fingerprint, &orders[whole..], &mut others, &mut spill)?;
            }
            options.report_and_check_stop(rows.len())?;
        }
        // The mapping is dropped before the file that it maps is written to.
        drop(so_far);
        let file = SegmentWriter::cut(&path, &journal, options.storage.clone())?;
        let opened = path.clone();
        let tables = TableWriter {
            path,
            options,
            notes: journal.notes,
            orders,
            footer: journal.footer,
            file,
            spill,
            others,
        };
        tables.rest(whole)?;
        Segment::open(&opened)
    }
}

/// Returns `true` if a build with these options would create the tables that the journal lists.
fn same_tables<W: Width>(journal: &Journal, options: &Options) -> Result<bool, SegmentError> {
    let (plan, _) = options.plan::<W>()?;
    let footer = &journal.footer;
    if plan != footer.plan {
        return Ok(false);
    }
    let orders = orders::<W>(&plan, options, footer.ids);
    // A complete table may have another codec than the requested one, so codecs are compared for missing tables only.
    let asked = |table: &TableMeta| (table.spec, table.address_bits);
    let metas = metas(&plan, &orders, options.codec);
    let (whole, to_come) = footer.tables.split_at(journal.whole as usize);
    Ok(metas[whole.len()..] == *to_come
        && metas
            .iter()
            .map(asked)
            .take(whole.len())
            .eq(whole.iter().map(asked)))
}
