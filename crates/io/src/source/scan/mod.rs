//! Where records begin and end in the bytes of a file.
//!
//! A scanner looks at each byte once, as it arrives, and tells the spans that end there. It parses nothing: a record
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

use super::delimited::{Form, Header};
use super::format::Format;
use super::longest::Longest;
use super::options::SourceOptions;
use super::reject::RejectReason;

/// What a span is, which decides where its bytes are copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What every file of the format begins with, such as a header: goes before the first record of each output.
    Opening,
    /// A record, with the line end that belongs to it.
    Record,
    /// What parts a record from the one before: goes out between two records of one output, and only there.
    Separator,
    /// Lines of white space alone: stay with what is kept.
    Blank,
    /// A record that is no document, by what it is counted as, or more of it: stays with what is kept.
    Other(Option<&'static str>),
    /// What ends the file: ends each output.
    Closing,
}

/// A stretch of bytes, from the end of the span before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its end in the piece.
    pub end: usize,
    /// The line on which it begins, from 1.
    pub line: u64,
    pub part: Part,
}

/// Finds spans in a stream of bytes.
///
/// Spans follow one another without gaps: each begins where the one before it ends, the first where the stream does.
pub(super) trait Scan: Send {
    /// Goes on at `data[from..]`, the bytes that follow those seen before, and adds the spans that end there, by
    /// their ends in `data`. Where `from` is not 0, `data` begins no later than the span that is open.
    ///
    /// An error says why the bytes beyond the spans found cannot be split into records; nothing is asked after it. The size of that part is counted by
    /// the caller.
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// The stream ends with `data`, all of which was seen: adds the span up to its end, if one is open.
    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason>;

    /// The line on which the open span begins.
    fn open_line(&self) -> u64;

    /// Whether the open span is a record, or can become one: then it may be skipped when it grows too long.
    fn in_record(&self) -> bool {
        true
    }

    /// True if the places of records are lines; otherwise they are the numbers of records.
    fn has_lines(&self) -> bool {
        true
    }

    /// The header that the records so far stand under, in a format that has one.
    fn header(&self) -> Option<Arc<Header>> {
        None
    }

    /// What an output lacks when nothing more is read, `_closed` if it has all that closes the file. The scanner may have gone further than the
    /// output.
    fn closing(&self, _closed: bool) -> &'static [u8] {
        b""
    }
}

/// The scanner for a format whose records are bytes.
pub(super) fn scanner(format: Format, charset: Charset, options: &SourceOptions) -> Box<dyn Scan> {
    let rows = |usual| {
        Box::new(RowScan::new(Form {
            usual,
            given: options.delimiter,
            charset,
            headless: options.no_header,
        }))
    };
    let longest = Longest::of(options).held();
    match format {
        Format::Text | Format::Html | Format::Lines | Format::Jsonl => Box::new(LineScan::new(longest)),
        Format::Json => Box::new(ArrayScan::new()),
        Format::Csv => rows(b','),
        Format::Tsv => rows(b'\t'),
        Format::Warc => Box::new(warc::WarcScan::new(longest, options.any_status)),
        // Tables are planned, not scanned, so that this is never asked for.
        #[cfg(feature = "tables")]
        Format::Arrow | Format::Parquet => Box::new(LineScan::new(longest)),
    }
}
