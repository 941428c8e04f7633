//! Chunks: parts of the input, each of which one task parses into records.
//!
//! Most chunks contain the bytes of records. For files that are one document, a chunk contains only the indices of the
//! files. The task that processes the chunk reads them, so that all threads open small files in parallel.

mod parser;
mod whole_file;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_text::charset::Charset;

use self::parser::{Fields, Parser};
use self::whole_file::whole_file;
use super::block::RecordBlock;
use super::delimited::RowParser;
use super::format::Format;
use super::intake::Tally;
use super::memory::MemoryBatch;
use super::options::SourceOptions;
use super::page::PageExtractor;
use super::record::{IntegerType, Record, RecordKind};
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::SpanKind;
use super::shared::Shared;
#[cfg(feature = "tables")]
use super::table::RowRange;

/// Consecutive records of the input.
///
/// # Examples
/// A chunk is parsed by the thread that processes it, here with rayon:
/// ```
/// use rayon::prelude::*;
/// use twinprint_io::source::{RecordKind, SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("reviews.csv");
/// std::fs::write(&file, "id,text\n1,good\n2,\"bad, really\"\n")?;
///
/// let options = SourceOptions::default();
/// let sources = Sources::discover(&[file.display().to_string()], &options, folder.path())?;
/// let mut bytes = 0;
/// for batch in sources.read(8 << 20) {
///     bytes += batch?
///         .chunks
///         .par_iter()
///         .map(|chunk| {
///             let mut bytes = 0;
///             chunk.documents(&options, &mut |record| {
///                 if let RecordKind::Document { text, .. } = &record.kind {
///                     bytes += text.len();
///                 }
///             });
///             bytes
///         })
///         .sum::<usize>();
/// }
/// assert_eq!(bytes, "good".len() + "bad, really".len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Chunk {
    pub(super) shared: Arc<Shared>,
    pub(super) first_ordinal: u64,
    pub(super) records: u64,
    /// The unparsed records.
    pub body: ChunkContent,
    /// True if the records are already counted in the intake, or must not be counted.
    pub(super) counted: AtomicBool,
}

/// The contents of a chunk.
#[derive(Debug)]
pub enum ChunkContent {
    /// The bytes of complete records of one file.
    Bytes {
        /// The index of the file in [`Sources::list`](super::Sources::list).
        source: u32,
        /// The charset of the bytes.
        charset: Charset,
        /// The bytes of the records.
        block: RecordBlock,
    },
    /// Files that are one document each, by their indices in [`Sources::list`](super::Sources::list).
    Files(Range<u32>),
    /// Consecutive rows of a table. The task that processes the chunk decodes them.
    #[cfg(feature = "tables")]
    Rows {
        /// The index of the file in [`Sources::list`](super::Sources::list).
        source: u32,
        /// The rows to decode.
        row_range: RowRange,
    },
    /// Records in memory.
    Memory(Arc<dyn MemoryBatch>),
    /// One reject, which may stand for a part of a file that could not be read.
    Rejected {
        /// The index of the file in [`Sources::list`](super::Sources::list).
        source: u32,
        /// The line on which the rejected record begins, from 1.
        line: u64,
        /// The number of bytes of the rejected record that were read.
        raw_len: u64,
        /// The reason for the rejection.
        reason: RejectReason,
    },
}

impl Chunk {
    /// The ordinal of the first record of the chunk. Ordinals count the documents and rejects of all inputs, from 0, in
    /// input order.
    pub fn first_ordinal(&self) -> u64 {
        self.first_ordinal
    }

    /// The number of documents and rejects in the chunk.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of bytes of the records, if the chunk has them; 0 for files and tables.
    pub fn record_bytes(&self) -> usize {
        match &self.body {
            ChunkContent::Bytes { block, .. } => block.data.len(),
            ChunkContent::Memory(batch) => batch.bytes(),
            _ => 0,
        }
    }

    /// The index, in [`Sources::list`](super::Sources::list), of the file that contains the first record of the chunk.
    pub fn source(&self) -> u32 {
        match &self.body {
            ChunkContent::Bytes { source, .. } | ChunkContent::Rejected { source, .. } => *source,
            ChunkContent::Files(range) => range.start,
            // All records in memory belong to the only file, which stands for them.
            ChunkContent::Memory(_) => 0,
            #[cfg(feature = "tables")]
            ChunkContent::Rows { source, .. } => *source,
        }
    }

    /// The integer type of the ids, if the chunk contains rows of a table whose id column contains integers.
    pub fn id_type(
        &self,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "only tables have types")
        )]
        options: &SourceOptions,
    ) -> Option<IntegerType> {
        match &self.body {
            ChunkContent::Bytes { .. } | ChunkContent::Rejected { .. } | ChunkContent::Files(_) => None,
            ChunkContent::Memory(batch) => batch.id_type(),
            #[cfg(feature = "tables")]
            ChunkContent::Rows { row_range, .. } => row_range.table().id_type(options),
        }
    }

    /// Calls `f` with every record of the chunk in order, including blank lines. `options` names the fields to read.
    /// The limit on the length of a record is that of the options with which the sources were found. The first call
    /// counts the records for [`Sources::intake`](super::Sources::intake). Takes linear time. A JSON string without
    /// escapes is not copied.
    pub fn documents(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
        if self.counted.swap(true, Ordering::Relaxed) {
            return self.documents_again(options, f);
        }
        let mut tally = Tally::of_chunk(self.first_ordinal);
        self.documents_again(options, &mut |record| {
            tally.count(&record);
            f(record);
        });
        self.shared.count(tally);
    }

    /// Counts one of the documents as rejected, because the caller cannot use it. `source` and `line` say which.
    pub fn refuse(&self, source: u32, line: u64, reason: &RejectReason) {
        let mut tally = Tally::of_chunk(self.first_ordinal);
        tally.refuse(source, line, reason);
        self.shared.count(tally);
    }

    /// Like [`documents`](Self::documents), but does not count the records. Serves a second pass over the same records
    /// that reads other fields.
    pub fn documents_again(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
        match &self.body {
            ChunkContent::Bytes {
                source,
                charset,
                block,
            } => {
                let pages = options.html.then(PageExtractor::default);
                let mut parser = self.parser((*source, *charset, block), options, pages);
                parser.each(block, &mut |line, raw_len, kind| {
                    f(Record {
                        source: *source,
                        line,
                        raw_len,
                        kind,
                    });
                });
            }
            ChunkContent::Files(range) => {
                let mut buffer = Vec::new();
                for source in range.clone() {
                    let pages = &mut PageExtractor::default();
                    let (raw_len, kind) = whole_file(&self.shared, source, pages, &mut buffer);
                    f(Record {
                        source,
                        line: 1,
                        raw_len,
                        kind,
                    });
                }
            }
            #[cfg(feature = "tables")]
            ChunkContent::Rows { source, row_range } => {
                let file = &self.shared.files[*source as usize];
                let record_limits = RecordLimits::of(&self.shared.options);
                row_range.each(file, options, record_limits, &mut |line, raw_len, kind| {
                    f(Record {
                        source: *source,
                        line,
                        raw_len,
                        kind,
                    });
                });
            }
            ChunkContent::Memory(batch) => {
                let record_limits = RecordLimits::of(&self.shared.options);
                let mut lines = self.first_ordinal + 1..;
                batch.each(&mut |record| {
                    let (raw_len, kind) = record.checked(record_limits);
                    f(Record {
                        source: 0,
                        line: lines.next().unwrap_or(u64::MAX),
                        raw_len,
                        kind,
                    });
                });
            }
            ChunkContent::Rejected {
                source,
                line,
                raw_len,
                reason,
            } => {
                let kind = RecordKind::Rejected {
                    reason: reason.clone(),
                };
                f(Record {
                    source: *source,
                    line: *line,
                    raw_len: *raw_len,
                    kind,
                });
            }
        }
    }

    /// Calls `f` with the ordinal and the original text of every document whose ordinal `wanted` accepts, in order. The
    /// original text of a web page is its decoded markup. Records that are not wanted are not parsed, except for rows
    /// of tables.
    pub fn originals(
        &self,
        options: &SourceOptions,
        wanted: &dyn Fn(u64) -> bool,
        f: &mut impl FnMut(u64, OriginalText<'_>),
    ) {
        let mut take = |ordinal: u64, kind: RecordKind<'_>, is_page: bool| {
            if let RecordKind::Document { text, .. } = kind {
                f(ordinal, OriginalText { text, is_page });
            }
        };
        match &self.body {
            ChunkContent::Bytes {
                source,
                charset,
                block,
            } => {
                let mut parser = self.parser((*source, *charset, block), options, None);
                parser.pages = parser.has_pages(options).then(PageExtractor::as_markup);
                let records = block.parts().filter(|(span, _)| span.part == SpanKind::Record);
                for (ordinal, (_, raw)) in (self.first_ordinal..).zip(records) {
                    if wanted(ordinal) {
                        let line = parser.line(raw, None);
                        parser.record(&line, &mut |kind, is_page| take(ordinal, kind, is_page));
                    }
                }
            }
            ChunkContent::Files(range) => {
                let mut buffer = Vec::new();
                for (ordinal, source) in (self.first_ordinal..).zip(range.clone()) {
                    if wanted(ordinal) {
                        let mut pages = PageExtractor::as_markup();
                        let (_, kind) = whole_file(&self.shared, source, &mut pages, &mut buffer);
                        take(ordinal, kind, pages.take_read());
                    }
                }
            }
            #[cfg(feature = "tables")]
            ChunkContent::Rows { source, row_range } => {
                let file = &self.shared.files[*source as usize];
                let record_limits = RecordLimits::of(&self.shared.options);
                let mut ordinals = self.first_ordinal..;
                row_range.each(file, options, record_limits, &mut |_, _, kind| {
                    if let Some(ordinal) = ordinals.next().filter(|&ordinal| wanted(ordinal)) {
                        take(ordinal, kind, false);
                    }
                });
            }
            ChunkContent::Memory(batch) => {
                let mut ordinals = self.first_ordinal..;
                batch.each(&mut |record| {
                    if let (Some(ordinal), Ok(text)) = (ordinals.next(), record.text)
                        && wanted(ordinal)
                    {
                        take(ordinal, RecordKind::document(text, None, None), false);
                    }
                });
            }
            ChunkContent::Rejected { .. } => {}
        }
    }

    fn parser<'o>(
        &self,
        (source, charset, block): (u32, Charset, &'o RecordBlock),
        options: &'o SourceOptions,
        pages: Option<PageExtractor>,
    ) -> Parser<'o> {
        let format = self.shared.files[source as usize].format;
        Parser {
            stored: self.shared.charset(source).unwrap_or(charset),
            by_line: format.is_by_line() || block.header.is_some(),
            fields: match (&block.header, format) {
                (Some(header), _) => Fields::Row(Box::new(RowParser::new(header, options))),
                (None, Format::Jsonl | Format::Json) => Fields::Json(options),
                (None, Format::Warc) => Fields::Archive(options),
                (None, _) => Fields::None,
            },
            charset,
            record_limits: RecordLimits::of(&self.shared.options),
            pages,
        }
    }
}

/// The original text of a record.
pub struct OriginalText<'a> {
    /// The text of the record. For a web page it is the decoded markup.
    pub text: Cow<'a, str>,
    /// True if `text` is the markup of a web page.
    pub is_page: bool,
}
