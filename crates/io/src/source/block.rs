//! Consecutive spans of a file with their bytes: the unit that is handed to worker threads.

use std::sync::Arc;

use super::decode::GzipMember;
use super::delimited::Header;
use super::scan::Span;

/// The UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// Consecutive whole spans with their bytes.
#[derive(Debug, PartialEq)]
pub struct RecordBlock {
    /// The bytes of all spans.
    pub data: Vec<u8>,
    /// The spans in order, at least one; the last one ends with `data`.
    pub spans: Vec<Span>,
    /// The number of spans that are records.
    pub records: u64,
    /// The header of the table, for a format that has one.
    pub header: Option<Arc<Header>>,
    /// The offset of `data` in the unpacked stream, in bytes.
    pub start: u64,
    /// The gzip members that ended while the block was read and were not reported before. Only web archives list them.
    pub members: Vec<GzipMember>,
}

impl RecordBlock {
    /// The spans with their bytes.
    pub fn parts(&self) -> impl Iterator<Item = (Span, &[u8])> {
        let mut start = 0;
        self.spans.iter().map(move |&span| {
            let bytes = &self.data[start..span.end];
            start = span.end;
            (span, bytes)
        })
    }
}
