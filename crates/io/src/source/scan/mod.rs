//! Scanners, which find the bounds of records in the bytes of a file.
//!
//! A scanner reads each byte once, as it arrives, and reports the spans that end there. It parses nothing: records are
//! parsed into documents later, on any thread. The inputs are read in two passes, first to find duplicates and then to
//! copy the kept records. Both passes use the same scanner, so that they find the same records.

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

/// The kind of a span. It decides to which outputs the bytes of the span are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// The bytes before the first record of a file, such as a header. They are copied to the beginning of each output.
    Opening,
    /// A record, including its line end.
    Record,
    /// The bytes between two records. They are copied only between two records of the same output.
    Separator,
    /// Lines of white space. They are copied to the output of the kept records.
    Blank,
    /// A record that cannot be a document, with the name under which it is counted. A further part of such a record has
    /// `None` instead of the name. It is copied to the output of the kept records.
    Other(Option<&'static str>),
    /// The bytes after the last record of a file. They are copied to the end of each output.
    Closing,
}

/// A range of bytes of a block. It begins where the previous span ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The offset in the block at which the span ends.
    pub end: usize,
    /// The line on which the span begins, from 1.
    pub line: u64,
    /// The kind of the span.
    pub part: SpanKind,
}

/// Finds the spans in a stream of bytes.
///
/// Spans are adjacent: the first span begins at the start of the stream, and every other span begins where the previous
/// one ends.
pub(super) trait Scan: Send {
    /// Scans `data[from..]`, which are the bytes of the stream that follow those scanned before. Adds the spans that
    /// end there to `spans`, with their ends as offsets in `data`. If `from` is not 0, `data` includes the beginning of
    /// the open span, which began in an earlier call.
    ///
    /// The error is the reason why the bytes after the last span cannot be split into records. After an error the
    /// scanner is not called again. The caller counts the bytes that are lost.
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// Ends the scan. All of `data` was scanned, and it ends with the last byte of the stream. Adds the open span, if
    /// there is one.
    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// The line on which the open span begins. The open span is the one whose end has not been found.
    fn open_line(&self) -> u64;

    /// Returns true if the open span is a record or can become one. If such a span grows too long, it is skipped.
    fn in_record(&self) -> bool {
        true
    }

    /// Returns true if the positions of records are line numbers. Otherwise they are the numbers of the records in the
    /// file.
    fn has_lines(&self) -> bool {
        true
    }

    /// The column names of a CSV or TSV file, once they were read. `None` for other formats.
    fn header(&self) -> Option<Arc<Header>> {
        None
    }

    /// The bytes that must be added to each output if reading ends early, such as the bracket of a JSON array.
    /// `_closed` is true if the closing span was already copied to the outputs, which may be behind the scanner.
    fn closing(&self, _closed: bool) -> &'static [u8] {
        b""
    }
}

/// Creates the scanner for a format whose records are bytes.
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
        // Not reached, because tables are read by rows and not scanned.
        #[cfg(feature = "tables")]
        Format::Arrow | Format::Parquet => Box::new(LineScan::new(record_limits)),
    }
}
