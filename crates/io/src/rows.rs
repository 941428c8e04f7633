//! Writes the rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.

use serde::Serialize;

pub use crate::results::Ratio;
use crate::results::RejectRow;
use crate::sink::{OutputFile, SinkError};
use crate::source::RejectReason;

/// Appends a row to `out` as a line of JSON. `buffer` is scratch space: its content is overwritten.
///
/// # Errors
/// The same as for [`OutputFile::append`].
pub fn write<R: Serialize>(out: &mut OutputFile, row: &R, buffer: &mut Vec<u8>) -> Result<(), SinkError> {
    buffer.clear();
    // The serialisation cannot fail: rows consist of strings, numbers and nulls, and writing to a vector always
    // succeeds.
    if serde_json::to_writer(&mut *buffer, row).is_ok() {
        buffer.push(b'\n');
    }
    out.append(buffer)
}

/// Appends the row of a rejected record to `rejects.jsonl`.
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
