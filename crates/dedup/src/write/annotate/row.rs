//! Fields added to a row of a CSV or TSV file.
//!
//! The bytes of the row do not change; the fields are added before its line end, in quotes if they need them.

use std::borrow::Cow;

use serde_json::Value;
use twinprint_text::charset::Charset;

/// Formats a value as a field of a row; null becomes the empty field.
pub(super) fn field(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Appends the row with the added fields to the output.
///
/// # Errors
/// The name of the field that the charset cannot encode.
pub(super) fn append<'f>(
    row: &[u8],
    fields: impl Iterator<Item = Cow<'f, str>>,
    delimiter: u8,
    charset: Charset,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    // A row ends with CR, LF or CR LF.
    let end = row.strip_suffix(b"\n").unwrap_or(row);
    let end = end.strip_suffix(b"\r").unwrap_or(end).len();
    out.extend_from_slice(&row[..end]);
    for field in fields {
        let Some(bytes) = charset.encode(&field) else {
            return Err(field.into_owned());
        };
        out.push(delimiter);
        let in_quotes = field
            .bytes()
            .any(|byte| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n'));
        if in_quotes {
            out.push(b'"');
            for &byte in &*bytes {
                // In every charset in which files are cut into rows, a quote byte is never part of another character.
                out.extend_from_slice(if byte == b'"' {
                    b"\"\""
                } else {
                    std::slice::from_ref(&byte)
                });
            }
            out.push(b'"');
        } else {
            out.extend_from_slice(&bytes);
        }
    }
    out.extend_from_slice(&row[end..]);
    Ok(())
}
