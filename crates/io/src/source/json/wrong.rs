//! Determines why a JSON record yields no text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::source::reject::RejectReason;

/// Returns the type of a JSON value that, judged by its first byte, cannot be an object. Returns `None` if it may be an
/// object.
pub(super) fn not_an_object(line: &str) -> Option<&'static str> {
    match line.trim_ascii_start().as_bytes().first()? {
        b'{' => None,
        b'[' => Some("an array"),
        b'"' => Some("a string"),
        b't' | b'f' => Some("a boolean"),
        b'n' => Some("null"),
        _ => Some("a number"),
    }
}

/// Converts an error of the JSON parser to a reject reason, with the position as a byte of the record. O(size of the record).
///
/// ```
/// use twinprint_io::source::invalid_json;
///
/// let record = b"{\"id\": x}";
/// let error = serde_json::from_slice::<serde_json::Value>(record).unwrap_err();
/// assert!(invalid_json(&error, record).to_string().starts_with("invalid JSON at byte 8: expected value"));
/// ```
pub fn invalid_json(error: &serde_json::Error, record: &[u8]) -> RejectReason {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or_default().to_owned();
    let lines_before = record
        .split_inclusive(|&byte| byte == b'\n')
        .take(error.line().saturating_sub(1));
    let before: usize = lines_before.map(<[u8]>::len).sum();
    let column = (before + error.column()) as u64;
    // The parser reports an unpaired first surrogate with this message.
    if message.contains("surrogate") || message == "unexpected end of hex escape" {
        return RejectReason::LoneSurrogate { column };
    }
    RejectReason::InvalidJson { message, column }
}

/// Returns the names of the first fields of an object, shortened for a message.
pub(in crate::source) fn present(line: &str) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'de> Visitor<'de> for &mut Names {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                match self.0.len() {
                    0..8 => self.0.push(name.chars().take(40).collect()),
                    8 => self.0.push("…".to_owned()),
                    _ => {}
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut names = Names(Vec::new());
    // The parser stops where the object is damaged or truncated, so fewer names are listed.
    let _ = serde_json::Deserializer::from_str(line).deserialize_map(&mut names);
    names.0
}
