//! Writes the records of the inputs again, unchanged and in order, to `kept/` and `removed/`.
//!
//! The second pass reads with the same splitter as the first, so that ordinals agree. Whole files are copied as they
//! are. Line files keep their layout, format and codec: each line goes out with its own bytes and line end; a last
//! line without line feed gets one, so that outputs can be joined. Blank lines and a byte order mark belong to the
//! file and stay in `kept/`. A line file always has its place in `kept/`, and one in `removed/` only if a record goes
//! there. Rejects go nowhere.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::changed::{changed, unchanged};
use super::dir::OutputDir;
use super::encode::Packed;
use super::error::SinkError;
use crate::source::{BOM, Body, Chunk, Lines, SourceFile, Sources, content, is_record};

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
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the records kept: unpacked lines with their line ends, and whole files as they are on disk.
    pub kept_bytes: u64,
    /// The same of the records removed.
    pub removed_bytes: u64,
    /// Records kept.
    pub kept_records: u64,
    /// Records removed.
    pub removed_records: u64,
}

impl Written {
    fn add(&mut self, fate: Fate, bytes: u64, records: u64) {
        match fate {
            Fate::Keep => {
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
    out.expect_bytes(sources.total_bytes());
    let mut copy = Copy {
        sources,
        fate,
        out,
        written: Written::default(),
        lines: None,
    };
    for batch in sources.reread(BATCH) {
        let mut batch = batch?;
        for chunk in &batch.chunks {
            while let Some((source, records)) = batch.finished.pop_front_if(|end| end.0 < chunk.source()) {
                copy.end(source, records)?;
            }
            copy.chunk(chunk)?;
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
    fate: &'a dyn Fn(u64) -> Fate,
    out: &'a OutputDir,
    written: Written,
    /// The line file being written.
    lines: Option<LineFile>,
}

/// The outputs of one line file.
struct LineFile {
    kept: Packed,
    removed: Option<Packed>,
    /// Records of the file so far.
    records: u64,
}

impl<'a> Copy<'a> {
    fn chunk(&mut self, chunk: &Chunk) -> Result<(), SinkError> {
        match &chunk.body {
            Body::Files(range) => return self.files(range.clone(), chunk.first_ordinal()),
            Body::Rejected { source, .. } => self.counted(*source, 1)?,
            Body::Lines {
                source, bom, data, ..
            } => {
                self.counted(*source, chunk.records())?;
                if *bom {
                    self.append(*source, Fate::Keep, BOM)?;
                }
                self.split(*source, data, chunk.first_ordinal())?;
            }
        }
        Ok(())
    }

    /// Counts records of a line file; no more than the first reading did.
    fn counted(&mut self, source: u32, records: u64) -> Result<(), SinkError> {
        let file = self.line_file(source)?;
        file.records += records;
        let now = file.records;
        match self.sources.records(source) {
            Some(before) if now > before => Err(changed(
                self.file(source),
                format!("it had {before} records and has more now"),
            )),
            _ => Ok(()),
        }
    }

    /// Sends lines where they go, neighbours of one fate in one write.
    fn split(&mut self, source: u32, data: &[u8], first_ordinal: u64) -> Result<(), SinkError> {
        let max = self.sources.options().max_document;
        let (mut run, mut fate, mut at) = (0, Fate::Keep, 0);
        let mut ordinal = first_ordinal;
        for line in Lines(data) {
            let mut this = Fate::Keep;
            if is_record(content(line), max) {
                this = (self.fate)(ordinal);
                ordinal += 1;
                self.written.add(this, line.len() as u64, 1);
            }
            if this != fate {
                self.append(source, fate, &data[run..at])?;
                (run, fate) = (at, this);
            }
            at += line.len();
        }
        self.append(source, fate, &data[run..])?;
        if data.last().is_some_and(|&last| last != b'\n') {
            self.written.add(fate, 1, 0);
            self.append(source, fate, b"\n")?;
        }
        Ok(())
    }

    fn append(&mut self, source: u32, fate: Fate, bytes: &[u8]) -> Result<(), SinkError> {
        if bytes.is_empty() || fate == Fate::Reject {
            return Ok(());
        }
        let (input, out) = (self.file(source), self.out);
        let file = self.line_file(source)?;
        match fate {
            Fate::Remove => {
                if file.removed.is_none() {
                    let place = place(input, fate);
                    file.removed = Some(Packed::new(out.file(place)?, input.codec)?);
                }
                file.removed
                    .as_mut()
                    .map_or(Ok(()), |removed| removed.append(bytes))
            }
            _ => file.kept.append(bytes),
        }
    }

    /// The outputs of a line file, begun if need be.
    fn line_file(&mut self, source: u32) -> Result<&mut LineFile, SinkError> {
        if self.lines.is_none() {
            let input = self.file(source);
            let kept = Packed::new(self.out.file(place(input, Fate::Keep))?, input.codec)?;
            self.lines = Some(LineFile {
                kept,
                removed: None,
                records: 0,
            });
        }
        Ok(self.lines.as_mut().expect("it was begun above"))
    }

    /// Ends a file, of which the second reading counted `records`.
    fn end(&mut self, source: u32, records: u64) -> Result<(), SinkError> {
        let input = self.file(source);
        if !input.format.is_by_line() {
            return Ok(());
        }
        unchanged(input)?;
        if let Some(before) = self.sources.records(source).filter(|&before| before != records) {
            return Err(changed(
                input,
                format!("it had {before} records and has {records} now"),
            ));
        }
        self.line_file(source)?;
        if let Some(LineFile { kept, removed, .. }) = self.lines.take() {
            kept.finish()?;
            removed.map_or(Ok(()), Packed::finish)?;
        }
        Ok(())
    }

    /// Copies whole files, several at a time: small ones wait for the file system more than for the disk.
    fn files(&mut self, range: Range<u32>, first_ordinal: u64) -> Result<(), SinkError> {
        let jobs: Vec<_> = range
            .zip(first_ordinal..)
            .map(|(source, o)| (source, (self.fate)(o)))
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

fn place(input: &SourceFile, fate: Fate) -> PathBuf {
    Path::new(if fate == Fate::Remove { "removed" } else { "kept" }).join(&input.relative)
}
