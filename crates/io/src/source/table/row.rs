//! Makes records from the cells of a table row, by the same rules for every table format.

use std::borrow::Cow;
use std::str::from_utf8;

use super::super::record::{RecordKind, SortValue};
use super::super::record_limits::RecordLimits;
use super::super::reject::RejectReason;

/// Decodes the rows of a range, batch by batch.
pub(super) trait RowDecoder {
    /// Decodes at least one and at most `most` of the next rows. Returns false if no rows are left.
    fn next_batch(&mut self, most: usize) -> Result<bool, RejectReason>;

    /// Calls `f` with the length in bytes and the record of each row of the batch.
    fn each(&self, record_limits: RecordLimits, f: &mut dyn FnMut(u64, RecordKind<'_>));
}

/// The text of one row, as it is stored in the table.
pub(super) enum Cell<'a> {
    /// The cell is null.
    Null,
    /// A single string.
    One(&'a [u8]),
    /// A list of strings, in order.
    List(Vec<&'a [u8]>),
    /// Numbers, as a JSON array.
    Json(String),
}

/// Makes a record from the cells of a row. Also returns the length of its text and id in bytes.
pub(super) fn record<'a>(
    cell: Cell<'a>,
    id: Option<Cow<'a, str>>,
    sort_value: Option<SortValue>,
    text_key: &str,
    record_limits: RecordLimits,
) -> (u64, RecordKind<'a>) {
    let length = match &cell {
        Cell::Null => 0,
        Cell::One(text) => text.len() as u64,
        Cell::List(parts) => {
            let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
            bytes + (parts.len() as u64).saturating_sub(1)
        }
        Cell::Json(json) => json.len() as u64,
    };
    let raw_len = length + id.as_ref().map_or(0, |id| id.len() as u64);
    // The length is checked before the strings of a list are joined, because a list may contain the same long string
    // many times.
    let kind = match record_limits.check(length).and_then(|()| text(cell, text_key)) {
        Ok(text) => RecordKind::document(text, id, sort_value),
        Err(reason) => RecordKind::Rejected { reason },
    };
    (raw_len, kind)
}

/// The text of a cell, or the reason why it has none. `key` is the name of the column.
pub(super) fn text<'a>(cell: Cell<'a>, key: &str) -> Result<Cow<'a, str>, RejectReason> {
    match cell {
        Cell::Null => Err(RejectReason::FieldNull { key: key.to_owned() }),
        Cell::One(bytes) => utf8(bytes).map(Cow::Borrowed),
        Cell::List(parts) => {
            let joined = parts.join(&b'\n');
            utf8(&joined).map(|text| Cow::Owned(text.to_owned()))
        }
        Cell::Json(json) => Ok(Cow::Owned(json)),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, RejectReason> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Ok(text);
    }
    from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        RejectReason::InvalidUtf8 {
            offset: offset as u64 + 1,
            byte: bytes.get(offset).copied().unwrap_or(0),
        }
    })
}

/// Formats numbers as a JSON array.
pub(super) fn numbers(numbers: impl Iterator<Item = String>) -> Cell<'static> {
    let mut json = String::from("[");
    for (i, number) in numbers.enumerate() {
        if i > 0 {
            json.push(',');
        }
        json.push_str(&number);
    }
    json.push(']');
    Cell::Json(json)
}

/// Converts a time to nanoseconds since 1970, so that columns with different units can be compared. A time that does
/// not fit into 64 bits becomes a real number. `nanoseconds` is the unit of `value`.
pub(super) fn moment(value: i64, nanoseconds: i64) -> SortValue {
    match value.checked_mul(nanoseconds) {
        Some(exact) => SortValue::Integer(exact),
        None => SortValue::Real(value as f64 * nanoseconds as f64),
    }
}

/// Converts a real number to the one representation that equal numbers have. Returns `None` for NaN.
pub(super) fn real(value: f64) -> Option<SortValue> {
    SortValue::number(&value.to_string())
}
