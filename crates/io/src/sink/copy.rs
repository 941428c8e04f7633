//! Writes the records of the inputs again, unchanged and in order, to `kept/` and `removed/`.
//!
//! The second pass reads with the same splitter as the first, so that ordinals agree. Whole files are copied as they
//! are. Tables are written anew (see `table`). Files of records keep their layout, format and codec: each record goes out with its own bytes. What stands
//! around records follows them, by the parts that the scanner tells apart: what opens and closes a file goes to both
//! sides, a separator goes out between two records of one side, blank lines stay in `kept/`. Of files with a record a
//! line, a last line without line feed gets one, so that outputs can be joined. A file of records always has its
//! place in `kept/`, and one in `removed/` only if a record goes there. Rejects go nowhere. What is kept of files with a record a
//! line can be [put in another order](super::arrange).

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use twinprint_text::charset::Charset;

use super::arrange::{Order, Zstd};
use super::changed::{changed, unchanged};
use super::dir::OutputDir;
use super::edit::{Edit, edited};
use super::error::SinkError;
use super::records::{RecordFile, place};
#[cfg(feature = "tables")]
use super::table::TableCopy;
use crate::source::{Chunk, ChunkContent, RecordBlock, SourceFile, Sources};

/// Bytes of one batch of the second pass.
const BATCH: usize = 8 << 20;

/// Where a record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// To `kept/`.
    Keep,
    /// To `removed/`.
    Remove,
    /// Nowhere: it is no document.
    Reject,
    /// To `annotated/`.
    Annotate,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the records kept: unpacked, with their line ends, and whole files as they are on disk.
    pub kept_bytes: u64,
    /// The same of the records removed.
    pub removed_bytes: u64,
    /// Records kept.
    pub kept_records: u64,
    /// Records removed.
    pub removed_records: u64,
    /// What is kept packed with zstd, where it was put in order.
    pub zstd: Zstd,
}

impl Written {
    pub(super) fn add(&mut self, fate: Fate, bytes: u64, records: u64) {
        match fate {
            Fate::Keep | Fate::Annotate => {
                self.kept_bytes += bytes;
                self.kept_records += records;
            }
            Fate::Remove => {
                self.removed_bytes += bytes;
                self.removed_records += records;
            }
            Fate::Reject => {}
        }
    }
}

/// Copies every record to where `fate` sends it, into `kept/` and `removed/` below `out_dir`. See [`copy_records_to`].
///
/// # Errors
/// As [`copy_records_to`], or the directory cannot be made.
pub fn copy_records(
    sources: &Sources,
    fate: &dyn Fn(u64) -> Fate,
    out_dir: &Path,
    progress: &dyn Fn(u64),
) -> Result<Written, SinkError> {
    copy_records_to(sources, fate, &OutputDir::open(out_dir)?, progress)
}

/// As [`copy_records`], into an output directory at hand.
///
/// `fate` is asked once for each record in order, by its ordinal: documents and rejects over all sources from 0;
/// it need not be asked for rejects that hold no bytes, and is never asked beyond the records that the first reading
/// counted. `progress` is told the bytes on disk as they are read, in parts. Linear time; memory for a few batches.
///
/// # Errors
/// [`SinkError::Changed`] when an input's length, time of change or number of records is not what it was;
/// [`SinkError::Cancelled`]; what writing meets. No file is left under its final name unless it is whole.
pub fn copy_records_to(
    sources: &Sources,
    fate: &dyn Fn(u64) -> Fate,
    out: &OutputDir,
    progress: &dyn Fn(u64),
) -> Result<Written, SinkError> {
    let how = Copying {
        fate,
        main: Fate::Keep,
        edit: None,
        order: None,
    };
    copy_all(sources, how, out, progress)
}

/// Where records go, and what becomes of them on the way.
#[derive(Clone, Copy)]
pub struct Copying<'a> {
    /// As in [`copy_records_to`].
    pub fate: &'a dyn Fn(u64) -> Fate,
    /// The fate of records that are not removed, [`Fate::Keep`] or [`Fate::Annotate`].
    pub main: Fate,
    /// Rewrites records.
    pub edit: Option<&'a dyn Edit>,
    /// Puts what is kept in order, in files with a record a line.
    pub order: Option<Order<'a>>,
}

/// As [`copy_records_to`], with all that can be done to records.
pub fn copy_all(
    sources: &Sources,
    how: Copying<'_>,
    out: &OutputDir,
    progress: &dyn Fn(u64),
) -> Result<Written, SinkError> {
    out.expect_bytes(sources.total_bytes());
    let mut copy = Copy {
        sources,
        how,
        out,
        written: Written::default(),
        counted: 0,
        records: None,
        #[cfg(feature = "tables")]
        table: None,
    };
    for batch in sources.reread(BATCH) {
        let mut batch = batch?;
        let edited: Vec<Option<RecordBlock>> = batch
            .chunks
            .par_iter()
            .map(|chunk| how.edit.map_or(Ok(None), |edit| edited(chunk, edit)))
            .collect::<Result<_, SinkError>>()?;
        for (chunk, edited) in batch.chunks.iter().zip(&edited) {
            while let Some((source, records)) = batch.finished.pop_front_if(|end| end.0 < chunk.source()) {
                copy.end(source, records)?;
            }
            copy.chunk(chunk, edited.as_ref())?;
        }
        for &(source, records) in &batch.finished {
            copy.end(source, records)?;
        }
        progress(batch.input_bytes());
    }
    Ok(copy.written)
}

/// The state of a copy.
struct Copy<'a> {
    sources: &'a Sources,
    how: Copying<'a>,
    out: &'a OutputDir,
    written: Written,
    /// Records so far of the file being gone through.
    counted: u64,
    /// The outputs of the file of records being written.
    records: Option<RecordFile<'a>>,
    /// The table being gone through.
    #[cfg(feature = "tables")]
    table: Option<TableCopy<'a>>,
}

impl<'a> Copy<'a> {
    fn chunk(&mut self, chunk: &Chunk, edited: Option<&RecordBlock>) -> Result<(), SinkError> {
        match &chunk.body {
            ChunkContent::Files(range) => return self.files(range.clone(), chunk.first_ordinal()),
            ChunkContent::Rejected { source, .. } => self.counted(*source, 1)?,
            ChunkContent::Bytes { source, block, .. } => {
                self.counted(*source, chunk.records())?;
                let mut ordinals = chunk.first_ordinal()..;
                let Copying { fate, order, .. } = self.how;
                let next = || match ordinals.next() {
                    Some(ordinal) => (fate(ordinal), order.map_or(0, |order| (order.rank)(ordinal))),
                    // The range has no end.
                    None => (Fate::Reject, 0),
                };
                let mut written = std::mem::take(&mut self.written);
                self.record_file(*source)?
                    .split(edited.unwrap_or(block), next, &mut written)?;
                self.written = written;
            }
            #[cfg(feature = "tables")]
            ChunkContent::Rows { source, row_range } => {
                self.counted(*source, chunk.records())?;
                self.table
                    .get_or_insert_with(|| TableCopy::new(row_range.table(), self.how.edit))
                    .note(row_range, chunk.first_ordinal(), self.how.fate);
            }
        }
        Ok(())
    }

    /// Counts records of a file; no more than the first reading did.
    fn counted(&mut self, source: u32, records: u64) -> Result<(), SinkError> {
        self.counted += records;
        let now = self.counted;
        match self.sources.records(source) {
            Some(before) if now > before => Err(changed(
                self.file(source),
                format!("it had {before} records and has more now"),
            )),
            _ => Ok(()),
        }
    }

    /// The outputs of a file of records, begun if need be.
    fn record_file(&mut self, source: u32) -> Result<&mut RecordFile<'a>, SinkError> {
        if self.records.is_none() {
            let charset = self.sources.charset(source).unwrap_or(Charset::UTF_8);
            let outputs = RecordFile::new(
                self.file(source),
                charset,
                self.out,
                self.how.main,
                self.how.order,
            )?;
            self.records = Some(outputs);
        }
        Ok(self.records.as_mut().expect("it was begun above"))
    }

    /// Ends a file, of which the second reading counted `records`.
    fn end(&mut self, source: u32, records: u64) -> Result<(), SinkError> {
        let input = self.file(source);
        if input.format.is_whole_file() {
            return Ok(());
        }
        self.counted = 0;
        unchanged(input)?;
        if let Some(before) = self.sources.records(source).filter(|&before| before != records) {
            return Err(changed(
                input,
                format!("it had {before} records and has {records} now"),
            ));
        }
        #[cfg(feature = "tables")]
        if input.format.is_table() {
            return self.end_table(input);
        }
        self.record_file(source)?;
        if let Some(outputs) = self.records.take() {
            let sources = self.sources;
            let zstd = outputs.finish(&|| sources.cancelled())?;
            self.written.zstd.before += zstd.before;
            self.written.zstd.after += zstd.after;
        }
        Ok(())
    }

    /// Writes a table, of which all fates are known. One that could not be read at all has no rows to write.
    #[cfg(feature = "tables")]
    fn end_table(&mut self, input: &SourceFile) -> Result<(), SinkError> {
        if let Some(table) = self.table.take() {
            let written = table.finish(input, self.sources, self.out, self.how.main)?;
            self.written
                .add(self.how.main, written.kept_bytes, written.kept_records);
            self.written
                .add(Fate::Remove, written.removed_bytes, written.removed_records);
        }
        Ok(())
    }

    /// Copies whole files, several at a time: small ones wait for the file system more than for the disk.
    fn files(&mut self, range: Range<u32>, first_ordinal: u64) -> Result<(), SinkError> {
        let jobs: Vec<_> = range
            .zip(first_ordinal..)
            .map(|(source, o)| (source, (self.how.fate)(o)))
            .collect();
        let (sources, out) = (self.sources, self.out);
        let copied: Vec<_> = jobs
            .into_par_iter()
            .map(|(source, fate)| {
                if sources.cancelled() {
                    return Err(SinkError::Cancelled);
                }
                let bytes = copy_file(&sources.list()[source as usize], fate, out)?;
                Ok((fate, bytes))
            })
            .collect::<Result<_, _>>()?;
        for (fate, bytes) in copied {
            self.written.add(fate, bytes, 1);
        }
        Ok(())
    }

    fn file(&self, source: u32) -> &'a SourceFile {
        &self.sources.list()[source as usize]
    }
}

/// Copies one file as it is; its bytes.
fn copy_file(input: &SourceFile, fate: Fate, out: &OutputDir) -> Result<u64, SinkError> {
    if fate == Fate::Reject {
        return Ok(0);
    }
    let lost = |error| changed(input, format!("it can no longer be read: {error}"));
    let mut from = File::open(&input.path).map_err(lost)?;
    let mut to = out.file(place(input, fate))?;
    let mut buffer = vec![0; input.bytes.clamp(1, 1 << 20) as usize];
    loop {
        let read = from.read(&mut buffer).map_err(lost)?;
        if read == 0 {
            break;
        }
        to.append(&buffer[..read])?;
    }
    unchanged(input)?;
    if to.bytes() != input.bytes {
        return Err(changed(
            input,
            format!("it had {} bytes and has {} now", input.bytes, to.bytes()),
        ));
    }
    to.finish()
}
