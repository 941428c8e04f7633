//! Scanners: they find the bounds of records in the bytes of a file.
//!
//! A scanner reads each byte once, as it arrives, and reports the spans that end there. It parses nothing: a record
//! is turned into a document later, on any thread. Both passes over the input (reading, and writing the kept records)
//! use the same scanner, so that they agree on what a record is.

mod array;
mod delimited;
mod lines;
mod warc;

use array::ArrayScan;
use delimited::RowScan;
pub(super) use lines::{LineScan, Lines, content};

use std::sync::Arc;

use twinprint_text::charset::Charset;

use super::delimited::{DelimitedFormat, Header};
use super::format::Format;
use super::options::SourceOptions;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;

/// The kind of a span, which decides into which outputs its bytes are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// The opening of every file of the format, such as a header. Copied before the first record of each output.
    Opening,
    /// A record, with the line end that belongs to it.
    Record,
    /// A separator between two records. Copied only between two records of one output.
    Separator,
    /// Lines of white space. Copied with the kept records.
    Blank,
    /// A record that is not a document, with the name under which it is counted, or `None` for a further part of it. Copied with the kept
    /// records.
    Other(Option<&'static str>),
    /// The end of the file. Copied to the end of each output.
    Closing,
}

/// A range of bytes, from the end of the span before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its end in the block.
    pub end: usize,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The kind of span.
    pub part: SpanKind,
}

/// Finds spans in a stream of bytes.
///
/// Spans follow one another without gaps: each begins where the one before it ends, the first where the stream does.
pub(super) trait Scan: Send {
    /// Scans `data[from..]`, the bytes that follow those scanned before, and adds the spans that end there, by
    /// their ends in `data`. Where `from` is not 0, `data` begins no later than the span that is open.
    ///
    /// An error says why the bytes beyond the spans found cannot be split into records; nothing is asked after it. The size of that part is counted by
    /// the caller.
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// Ends the scan after the last byte of `data`, all of which was scanned. Adds the open span, if there is one.
    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// The line on which the open span begins.
    fn open_line(&self) -> u64;

    /// True if the open span is a record, or can become one. Such a span may be skipped when it grows too long.
    fn in_record(&self) -> bool {
        true
    }

    /// True if positions of records are lines. Otherwise they are the numbers of records.
    fn has_lines(&self) -> bool {
        true
    }

    /// The header of the records so far, for a format that has one.
    fn header(&self) -> Option<Arc<Header>> {
        None
    }

    /// The bytes that close an output if reading ends early. `_closed` is true if the output already has the closing
    /// span, since the scanner may be ahead of the output.
    fn closing(&self, _closed: bool) -> &'static [u8] {
        b""
    }
}

/// The scanner for a format whose records are bytes.
pub(super) fn scanner(format: Format, charset: Charset, options: &SourceOptions) -> Box<dyn Scan> {
    let rows = |usual| {
        Box::new(RowScan::new(DelimitedFormat {
            usual,
            given: options.delimiter,
            charset,
            headless: options.no_header,
        }))
    };
    let record_limits = RecordLimits::of(options).max_bytes();
    match format {
        Format::Text | Format::Html | Format::Lines | Format::Jsonl => Box::new(LineScan::new(record_limits)),
        Format::Json => Box::new(ArrayScan::new()),
        Format::Csv => rows(b','),
        Format::Tsv => rows(b'\t'),
        Format::Warc => Box::new(warc::WarcScan::new(record_limits, options.any_status)),
        // Not reached: tables are planned, not scanned.
        #[cfg(feature = "tables")]
        Format::Arrow | Format::Parquet => Box::new(LineScan::new(record_limits)),
    }
}
