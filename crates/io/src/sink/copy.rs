//! Copies the records of the inputs, unchanged and in order, to `kept/` and `removed/` in the output directory.
//!
//! The copy is the second pass over the inputs. It uses the same splitter as the first pass, so a record has the same
//! ordinal in both. Files that are one document are copied byte by byte. Tables are rewritten (see `table`). All other
//! files keep their layout, format and codec, and each record is written with its own bytes.
//!
//! Bytes between records are written according to the kind of span that the scanner assigned to them. The opening and
//! the closing of a file are written to both outputs. A separator is written between two records of one output. Blank
//! lines are written to `kept/`. In files with one record per line, a missing line feed after the last line is added,
//! so that outputs can be concatenated. Each input file has an output in `kept/`, and an output in `removed/` only if
//! one of its records is removed. Rejects are not written. The kept records of files with one record per line can be
//! written in [another order](super::arrange).

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use twinprint_text::charset::Charset;

use super::action::{CopyCounts, RecordAction, output_path};
use super::arrange::RecordOrder;
use super::changed::{changed, unchanged};
use super::dir::OutputDir;
use super::edit::{Edit, edited};
use super::error::SinkError;
use super::records::{RankedAction, RecordFile};
#[cfg(feature = "tables")]
use super::table::TableCopy;
use crate::source::{Chunk, ChunkContent, RecordBlock, SourceFile, Sources};

/// The number of input bytes that the copy reads per batch.
const BATCH_BYTES: usize = 8 << 20;

/// Copies every record to `kept/` or `removed/` in the directory `out_dir`. `action` decides which, by the ordinal of
/// the record. See [`copy_records_to`].
///
/// # Errors
/// The same as for [`copy_records_to`]; [`SinkError::Io`] if the directory cannot be created.
///
/// ```
/// use twinprint_io::sink::{RecordAction, copy_records};
/// use twinprint_io::source::{SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// let input = room.path().join("docs.jsonl");
/// std::fs::write(&input, "{\"text\":\"one\"}\n{\"text\":\"one\"}\n{\"text\":\"two\"}\n")?;
/// let inputs = [input.display().to_string()];
/// let sources = Sources::discover(&inputs, &SourceOptions::default(), room.path())?;
/// // The first reading counts the records, which the copy checks.
/// for batch in sources.read(1 << 20) {
///     for chunk in &batch?.chunks {
///         chunk.documents(sources.options(), &mut |_record| {});
///     }
/// }
/// let action = |ordinal| if ordinal == 1 { RecordAction::Remove } else { RecordAction::Keep };
/// let out = room.path().join("out");
/// let counts = copy_records(&sources, &action, &out, &|_bytes| {})?;
/// assert_eq!((counts.kept_records, counts.removed_records), (2, 1));
/// assert_eq!(std::fs::read_to_string(out.join("removed/docs.jsonl"))?, "{\"text\":\"one\"}\n");
/// # Ok(())
/// # }
/// ```
pub fn copy_records(
    sources: &Sources,
    action: &dyn Fn(u64) -> RecordAction,
    out_dir: &Path,
    progress: &dyn Fn(u64),
) -> Result<CopyCounts, SinkError> {
    copy_records_to(sources, action, &OutputDir::open(out_dir)?, progress)
}

/// Like [`copy_records`], but writes to an open output directory.
///
/// `action` is called with the ordinal of each record, in order. Ordinals count the documents and rejects of all
/// sources from 0. `action` may not be called for rejects that have no bytes, and is never called for records beyond
/// the number that the first reading counted. `progress` receives the number of bytes read from disk for each batch.
/// The copy takes linear time, and memory for a few batches.
///
/// # Errors
/// [`SinkError::Changed`] if the length, the modification time or the number of records of an input has changed since
/// the first reading; [`SinkError::Cancelled`]; or an output cannot be written. After an error only complete files have
/// their final names.
pub fn copy_records_to(
    sources: &Sources,
    action: &dyn Fn(u64) -> RecordAction,
    out: &OutputDir,
    progress: &dyn Fn(u64),
) -> Result<CopyCounts, SinkError> {
    let options = CopyOptions {
        action,
        main: RecordAction::Keep,
        edit: None,
        order: None,
    };
    copy_all(sources, options, out, progress)
}

/// The options of a copy.
#[derive(Clone, Copy)]
pub struct CopyOptions<'a> {
    /// Decides what is done with the record of a given ordinal, as in [`copy_records_to`].
    pub action: &'a dyn Fn(u64) -> RecordAction,
    /// The action on records that are not removed: [`RecordAction::Keep`] or [`RecordAction::Annotate`].
    pub main: RecordAction,
    /// Rewrites each record before it is written. `None` copies records unchanged.
    pub edit: Option<&'a dyn Edit>,
    /// The order in which the kept records of files with one record per line are written. `None` keeps the order of the
    /// input.
    pub order: Option<RecordOrder<'a>>,
}

/// Like [`copy_records_to`], but accepts all options of a copy.
///
/// # Errors
/// The same as for [`copy_records_to`]; the errors of the rewriter [`CopyOptions::edit`].
pub fn copy_all(
    sources: &Sources,
    options: CopyOptions<'_>,
    out: &OutputDir,
    progress: &dyn Fn(u64),
) -> Result<CopyCounts, SinkError> {
    out.expect_bytes(sources.total_bytes());
    let mut copy = Copy {
        sources,
        options,
        out,
        written: CopyCounts::default(),
        counted: 0,
        records: None,
        #[cfg(feature = "tables")]
        table: None,
    };
    for batch in sources.reread(BATCH_BYTES) {
        let mut batch = batch?;
        let edited: Vec<Option<RecordBlock>> = batch
            .chunks
            .par_iter()
            .map(|chunk| options.edit.map_or(Ok(None), |edit| edited(chunk, edit)))
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

/// The state of a copy while it reads the inputs.
struct Copy<'a> {
    sources: &'a Sources,
    options: CopyOptions<'a>,
    out: &'a OutputDir,
    written: CopyCounts,
    /// Number of records of the current file that have been read so far.
    counted: u64,
    /// The outputs of the current file, if it is a file of records.
    records: Option<RecordFile<'a>>,
    /// The rows of the current file, if it is a table.
    #[cfg(feature = "tables")]
    table: Option<TableCopy<'a>>,
}

impl<'a> Copy<'a> {
    fn chunk(&mut self, chunk: &Chunk, edited: Option<&RecordBlock>) -> Result<(), SinkError> {
        match &chunk.body {
            ChunkContent::Files(range) => return self.files(range.clone(), chunk.first_ordinal()),
            ChunkContent::Rejected { source, .. } => self.counted(*source, 1)?,
            // Records in memory can be read only once, so they are never copied.
            ChunkContent::Memory(_) => {}
            ChunkContent::Bytes { source, block, .. } => {
                self.counted(*source, chunk.records())?;
                let mut ordinals = chunk.first_ordinal()..;
                let CopyOptions { action, order, .. } = self.options;
                let next = || match ordinals.next() {
                    Some(ordinal) => RankedAction {
                        action: action(ordinal),
                        rank: order.map_or(0, |order| (order.rank)(ordinal)),
                    },
                    // Not reached, because the range of ordinals has no end.
                    None => RankedAction {
                        action: RecordAction::Reject,
                        rank: 0,
                    },
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
                    .get_or_insert_with(|| TableCopy::new(row_range.table(), self.options.edit))
                    .note(row_range, chunk.first_ordinal(), self.options.action);
            }
        }
        Ok(())
    }

    /// Adds `records` to the number of records read from a file.
    ///
    /// # Errors
    /// [`SinkError::Changed`] if the file now has more records than the first reading counted.
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

    /// Returns the outputs of a file of records. The first call for a file creates them.
    fn record_file(&mut self, source: u32) -> Result<&mut RecordFile<'a>, SinkError> {
        if self.records.is_none() {
            let charset = self.sources.charset(source).unwrap_or(Charset::UTF_8);
            let outputs = RecordFile::new(
                self.file(source),
                charset,
                self.out,
                self.options.main,
                self.options.order,
            )?;
            self.records = Some(outputs);
        }
        Ok(self.records.as_mut().expect("it was begun above"))
    }

    /// Finishes the outputs of an input file in which this reading counted `records` records.
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

    /// Writes the outputs of a table once the actions on all its rows are known. For a table that could not be read
    /// nothing is written.
    #[cfg(feature = "tables")]
    fn end_table(&mut self, input: &SourceFile) -> Result<(), SinkError> {
        if let Some(table) = self.table.take() {
            let written = table.finish(input, self.sources, self.out, self.options.main)?;
            self.written
                .add(self.options.main, written.kept_bytes, written.kept_records);
            self.written.add(
                RecordAction::Remove,
                written.removed_bytes,
                written.removed_records,
            );
        }
        Ok(())
    }

    /// Copies files that are one document each. Several are copied in parallel, because copying a small file waits for
    /// the file system rather than for the disk.
    fn files(&mut self, range: Range<u32>, first_ordinal: u64) -> Result<(), SinkError> {
        let jobs: Vec<_> = range
            .zip(first_ordinal..)
            .map(|(source, o)| (source, (self.options.action)(o)))
            .collect();
        let (sources, out) = (self.sources, self.out);
        let copied: Vec<_> = jobs
            .into_par_iter()
            .map(|(source, action)| {
                if sources.cancelled() {
                    return Err(SinkError::Cancelled);
                }
                let bytes = copy_file(sources.file(source), action, out)?;
                Ok((action, bytes))
            })
            .collect::<Result<_, _>>()?;
        for (action, bytes) in copied {
            self.written.add(action, bytes, 1);
        }
        Ok(())
    }

    fn file(&self, source: u32) -> &'a SourceFile {
        self.sources.file(source)
    }
}

/// Copies one file byte by byte. Returns its size in bytes.
fn copy_file(input: &SourceFile, action: RecordAction, out: &OutputDir) -> Result<u64, SinkError> {
    if action == RecordAction::Reject {
        return Ok(0);
    }
    let lost = |error| changed(input, format!("it can no longer be read: {error}"));
    let mut from = File::open(&input.path).map_err(lost)?;
    let mut to = out.file(output_path(input, action))?;
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
