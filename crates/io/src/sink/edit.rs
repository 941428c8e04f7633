//! The rewriting of records during a copy.

use serde_json::Value;
use twinprint_text::charset::Charset;

use super::error::SinkError;
use crate::source::{Chunk, ChunkContent, Header, RecordBlock, Span, SpanKind};

/// The file of a record.
#[derive(Clone, Copy)]
pub struct RecordContext<'a> {
    /// The number of the file among the sources.
    pub source: u32,
    /// The charset of the file.
    pub charset: Charset,
    /// The header of a file of delimited fields.
    pub header: Option<&'a Header>,
}

/// Rewrites records. The methods are called on all threads.
pub trait Edit: Sync {
    /// Appends the rewritten record of an ordinal to `out`.
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

    /// Appends the rewritten opening of a file, such as a header line, to `out`.
    ///
    /// # Errors
    /// An error ends the copy.
    fn opening(&self, context: RecordContext<'_>, opening: &[u8], out: &mut Vec<u8>)
    -> Result<(), SinkError>;

    /// The columns that are added to tables.
    fn columns(&self) -> &[(String, ColumnType)];

    /// The values of these columns in the row of an ordinal; null in rows that are not documents.
    fn values(&self, ordinal: u64) -> Vec<Value>;
}

/// The type of the values in an added column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A signed 64-bit integer.
    Integer,
    /// A double.
    Real,
    /// A Boolean.
    Boolean,
    /// A string.
    Text,
}

/// The bytes of a chunk with its records rewritten; `None` for whole files, which are not rewritten, and for tables, which have no bytes.
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
        // Only web archives have members, and their records are never rewritten.
        members: Vec::new(),
    }))
}
