//! Fields added to a JSON object.
//!
//! The bytes of the record do not change; the fields are added before its closing brace.

use std::fmt;
use std::fmt::Write as _;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use twinprint_text::charset::Charset;

use twinprint_io::source::BOM;

/// The first name of an added field that the record already has as a field.
pub(super) fn clash<'n>(record: &[u8], charset: Charset, fields: &'n [super::AddedField]) -> Option<&'n str> {
    let record = record.strip_prefix(BOM).unwrap_or(record);
    // A record that is not valid text, or not an object, is rejected and gets no fields.
    let text = charset.decode(record).ok()?;
    let mut json = serde_json::Deserializer::from_str(&text);
    Fields(fields).deserialize(&mut json).ok().flatten()
}

/// Appends the record, which is an object with at least one field, to the output, with `fields` added.
pub(super) fn append(
    record: &[u8],
    charset: Charset,
    fields: &[super::AddedField],
    values: Vec<Value>,
    out: &mut Vec<u8>,
) {
    let end = record
        .iter()
        .rposition(|&byte| byte == b'}')
        .unwrap_or(record.len());
    out.extend_from_slice(&record[..end]);
    for ((name, _), value) in fields.iter().zip(values) {
        let field = format!(",{}:{value}", Value::from(name.as_str()));
        if charset == Charset::UTF_8 {
            out.extend_from_slice(field.as_bytes());
        } else {
            out.extend_from_slice(escaped(&field).as_bytes());
        }
    }
    out.extend_from_slice(&record[end..]);
}

/// Escapes all characters of a JSON text beyond ASCII, so that its bytes are the same in every charset that contains
/// ASCII.
fn escaped(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// A deserializer that finds the first of some names among the fields of an object.
struct Fields<'n>(&'n [super::AddedField]);

/// A deserializer that compares the name of one field of an object with the names of the added fields.
struct Field<'n>(&'n [super::AddedField]);

impl<'de, 'n> DeserializeSeed<'de> for Fields<'n> {
    type Value = Option<&'n str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, 'n> Visitor<'de> for Fields<'n> {
    type Value = Option<&'n str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(field) = map.next_key_seed(Field(self.0))? {
            map.next_value::<IgnoredAny>()?;
            found = found.or(field);
        }
        Ok(found)
    }
}

impl<'de, 'n> DeserializeSeed<'de> for Field<'n> {
    type Value = Option<&'n str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Field<'n> {
    type Value = Option<&'n str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let mut names = self.0.iter().map(|(known, _)| known.as_str());
        Ok(names.find(|known| *known == name))
    }
}
