//! Rewriting records on their way out.

use serde_json::Value;
use twinprint_text::charset::Charset;

use super::error::SinkError;
use crate::source::{Body, Chunk, Header, Part, Piece, Span};

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
pub(super) fn edited(chunk: &Chunk, edit: &dyn Edit) -> Result<Option<Piece>, SinkError> {
    let Body::Bytes {
        source,
        charset,
        piece,
    } = &chunk.body
    else {
        return Ok(None);
    };
    let under = Under {
        source: *source,
        charset: *charset,
        header: piece.header.as_deref(),
    };
    let mut data = Vec::with_capacity(piece.data.len() * 5 / 4);
    let mut spans = Vec::with_capacity(piece.spans.len());
    let mut ordinal = chunk.first_ordinal();
    for (span, bytes) in piece.parts() {
        match span.part {
            Part::Record => {
                edit.record(under, span.line, ordinal, bytes, &mut data)?;
                ordinal += 1;
            }
            Part::Opening => edit.opening(under, bytes, &mut data)?,
            _ => data.extend_from_slice(bytes),
        }
        spans.push(Span {
            end: data.len(),
            ..span
        });
    }
    Ok(Some(Piece {
        data,
        spans,
        records: piece.records,
        header: piece.header.clone(),
        start: piece.start,
        // Of web archives alone, whose records are not edited.
        members: Vec::new(),
    }))
}
