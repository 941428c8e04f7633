//! Writes the rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.

use serde::Serialize;

pub use crate::results::Ratio;
use crate::results::RejectRow;
use crate::sink::{OutputFile, SinkError};
use crate::source::RejectReason;

/// Appends a row as a line of JSON. `buffer` is overwritten; it is reused between calls.
///
/// # Errors
/// The same as for [`OutputFile::append`].
pub fn write<R: Serialize>(out: &mut OutputFile, row: &R, buffer: &mut Vec<u8>) -> Result<(), SinkError> {
    buffer.clear();
    // Writing to a vector cannot fail, and rows consist of strings, numbers and nulls, which always serialise.
    if serde_json::to_writer(&mut *buffer, row).is_ok() {
        buffer.push(b'\n');
    }
    out.append(buffer)
}

/// Appends the row of a rejected record.
///
/// # Errors
/// The same as for [`OutputFile::append`].
pub fn write_reject(
    out: &mut OutputFile,
    source: &str,
    line: u64,
    reason: &RejectReason,
) -> Result<(), SinkError> {
    write(
        out,
        &RejectRow {
            source: source.into(),
            line,
            reason: reason.to_string().into(),
        },
        &mut Vec::new(),
    )
}
