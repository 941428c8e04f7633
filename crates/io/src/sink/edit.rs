//! Rewrites records while they are copied.

use serde_json::Value;
use twinprint_text::charset::Charset;

use super::error::SinkError;
use crate::source::{Chunk, ChunkContent, Header, RecordBlock, Span, SpanKind};

/// Information about the file that a record belongs to.
#[derive(Clone, Copy)]
pub struct RecordContext<'a> {
    /// The index of the file among the sources.
    pub source: u32,
    /// The charset of the file.
    pub charset: Charset,
    /// The names of the columns, if the file is CSV or TSV.
    pub header: Option<&'a Header>,
}

/// Rewrites records while they are copied. The methods are called on all threads.
pub trait Edit: Sync {
    /// Rewrites the record `record`, which has the given line and ordinal, and appends the result to `out`.
    ///
    /// # Errors
    /// An error ends the copy.
    fn record(
        &self,
        context: RecordContext<'_>,
        line: u64,
        ordinal: u64,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError>;

    /// Rewrites the opening of a file, such as a header line, and appends the result to `out`.
    ///
    /// # Errors
    /// An error ends the copy.
    fn opening(&self, context: RecordContext<'_>, opening: &[u8], out: &mut Vec<u8>)
    -> Result<(), SinkError>;

    /// The names and types of the columns that are added to tables.
    fn columns(&self) -> &[(String, ColumnType)];

    /// The values of the added columns in the row with the given ordinal. They are null if the row is not a document.
    fn values(&self, ordinal: u64) -> Vec<Value>;
}

/// The type of the values in an added column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A signed 64-bit integer.
    Integer,
    /// A 64-bit floating-point number.
    Real,
    /// A Boolean.
    Boolean,
    /// A string.
    Text,
}

/// Returns the bytes of a chunk with its records rewritten. Returns `None` for files that are one document, which are
/// not rewritten, and for rows of tables, which are not stored as bytes.
pub(super) fn edited(chunk: &Chunk, edit: &dyn Edit) -> Result<Option<RecordBlock>, SinkError> {
    let ChunkContent::Bytes {
        source,
        charset,
        block,
    } = &chunk.body
    else {
        return Ok(None);
    };
    let context = RecordContext {
        source: *source,
        charset: *charset,
        header: block.header.as_deref(),
    };
    let mut data = Vec::with_capacity(block.data.len() * 5 / 4);
    let mut spans = Vec::with_capacity(block.spans.len());
    let mut ordinal = chunk.first_ordinal();
    for (span, bytes) in block.parts() {
        match span.part {
            SpanKind::Record => {
                edit.record(context, span.line, ordinal, bytes, &mut data)?;
                ordinal += 1;
            }
            SpanKind::Opening => edit.opening(context, bytes, &mut data)?,
            _ => data.extend_from_slice(bytes),
        }
        spans.push(Span {
            end: data.len(),
            ..span
        });
    }
    Ok(Some(RecordBlock {
        data,
        spans,
        records: block.records,
        header: block.header.clone(),
        start: block.start,
        // Only blocks of web archives have members, and records of web archives are never rewritten.
        members: Vec::new(),
    }))
}
