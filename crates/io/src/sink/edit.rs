//! Rewriting records on their way out.

use serde_json::Value;
use twinprint_text::charset::Charset;

use super::error::SinkError;
use crate::source::{Chunk, ChunkContent, Header, RecordBlock, Span, SpanKind};

/// The file that a record is of.
#[derive(Clone, Copy)]
pub struct Under<'a> {
    pub source: u32,
    /// What its bytes are in.
    pub charset: Charset,
    /// Of a file of delimited fields, what its records stand under.
    pub header: Option<&'a Header>,
}

/// Rewrites records. Called on all threads.
pub trait Edit: Sync {
    /// Appends the record of an ordinal as it is to be written.
    ///
    /// # Errors
    /// What ends the copy.
    fn record(
        &self,
        under: Under<'_>,
        line: u64,
        ordinal: u64,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError>;

    /// Appends what the file begins with as it is to be written.
    ///
    /// # Errors
    /// What ends the copy.
    fn opening(&self, under: Under<'_>, opening: &[u8], out: &mut Vec<u8>) -> Result<(), SinkError>;

    /// The columns that tables get.
    #[cfg_attr(
        not(feature = "tables"),
        expect(dead_code, reason = "only tables have columns")
    )]
    fn columns(&self) -> &[(String, Kind)];

    /// What stands in these columns in the row of an ordinal; null in rows that are no documents.
    #[cfg_attr(
        not(feature = "tables"),
        expect(dead_code, reason = "only tables have columns")
    )]
    fn values(&self, ordinal: u64) -> Vec<Value>;
}

/// The kind of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Real,
    Boolean,
    Text,
}

/// The chunk's bytes with its records rewritten. None for whole files, which are not, and for tables, whose rows are no bytes.
pub(super) fn edited(chunk: &Chunk, edit: &dyn Edit) -> Result<Option<RecordBlock>, SinkError> {
    let ChunkContent::Bytes {
        source,
        charset,
        block,
    } = &chunk.body
    else {
        return Ok(None);
    };
    let under = Under {
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
                edit.record(under, span.line, ordinal, bytes, &mut data)?;
                ordinal += 1;
            }
            SpanKind::Opening => edit.opening(under, bytes, &mut data)?,
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
        // Of web archives alone, whose records are not edited.
        members: Vec::new(),
    }))
}
