//! The rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.

use serde::{Deserialize, Serialize};

use crate::results::RejectRow;
use crate::sink::{OutputFile, SinkError};
use crate::source::RejectReason;

/// A share, to six places.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Ratio(f64);

impl Ratio {
    /// `None` where nothing was measured.
    pub fn of(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Self(value))
    }

    /// To six places, towards zero, so that a value below a threshold never reads as having reached it.
    pub fn value(self) -> f64 {
        (self.0 * 1e6).floor() / 1e6
    }
}

impl Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

/// Appends a row and a line feed.
pub fn write<R: Serialize>(out: &mut OutputFile, row: &R, buffer: &mut Vec<u8>) -> Result<(), SinkError> {
    buffer.clear();
    // Strings, numbers and nulls always serialise; a failure could only come from the buffer, which has none.
    if serde_json::to_writer(&mut *buffer, row).is_ok() {
        buffer.push(b'\n');
    }
    out.append(buffer)
}

/// Appends the row of a rejected record.
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
