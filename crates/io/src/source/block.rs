//! Blocks of records: consecutive spans of a file with their bytes. A block is the unit of work for a worker thread.

use std::sync::Arc;

use super::decode::GzipMember;
use super::delimited::Header;
use super::scan::Span;

/// The UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// Consecutive complete spans of a file, with their bytes.
#[derive(Debug, PartialEq)]
pub struct RecordBlock {
    /// The bytes of all spans.
    pub data: Vec<u8>,
    /// The spans in order, at least one. The last span ends at the end of `data`.
    pub spans: Vec<Span>,
    /// The number of spans that are records.
    pub records: u64,
    /// The names of the columns, if the file is CSV or TSV.
    pub header: Option<Arc<Header>>,
    /// The offset of `data` in the decompressed file, in bytes.
    pub start: u64,
    /// The gzip members that ended since the previous block was read. Only blocks of web archives list them.
    pub members: Vec<GzipMember>,
}

impl RecordBlock {
    /// Iterates over the spans, each with its bytes.
    pub fn parts(&self) -> impl Iterator<Item = (Span, &[u8])> {
        let mut start = 0;
        self.spans.iter().map(move |&span| {
            let bytes = &self.data[start..span.end];
            start = span.end;
            (span, bytes)
        })
    }
}
