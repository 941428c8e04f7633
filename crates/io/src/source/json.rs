//! Picks the text, the id and the sort value out of a JSON object.
//!
//! The parser reads the object in one pass. It checks the syntax of fields that are not needed and skips them without
//! allocating memory. A string without escapes is borrowed from the line. If a field occurs more than once, the last
//! one counts. A key matches a field of exactly that name. A key with dots also matches a path into nested objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::options::SourceOptions;
use super::record::SortValue;
use super::reject::RejectReason;

#[cfg(test)]
mod tests;
mod wrong;

pub use wrong::invalid_json;

/// The indices of the fields in arrays such as [`Paths`].
const TEXT: usize = 0;
const ID: usize = 1;
const SORT: usize = 2;

/// The rest of each field's path below the object that is being read. `None` if the path does not lead through this
/// object.
type Paths<'k> = [Option<&'k str>; 3];

/// The fields that were picked out of one record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PickedFields<'a> {
    pub text: Cow<'a, str>,
    pub id: Option<Cow<'a, str>>,
    pub sort_value: Option<SortValue>,
}

/// Picks the fields out of a line. White space around the object is allowed. A byte order mark before it is also
/// allowed, because concatenated files contain such marks in the middle.
pub(super) fn pick<'a>(line: &'a str, options: &SourceOptions) -> Result<PickedFields<'a>, RejectReason> {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let found = wrong::not_an_object(line);
    if let Some(found) = found {
        return Err(match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => RejectReason::NotAnObject { found },
            Err(e) => invalid_json(&e, line.as_bytes()),
        });
    }
    let paths = [
        Some(options.text_key.as_str()),
        options.id_key.as_deref(),
        options.sort_key.as_deref(),
    ];
    let mut fields = Fields {
        text: Text::Missing,
        id: None,
        sort_value: None,
        raw: options.raw,
    };
    let mut parser = serde_json::Deserializer::from_str(line);
    parser
        .deserialize_map(Object {
            paths,
            fields: &mut fields,
        })
        .and_then(|()| parser.end())
        .map_err(|e| invalid_json(&e, line.as_bytes()))?;
    let key = || options.text_key.clone();
    match fields.text {
        Text::Found(text) => Ok(PickedFields {
            text,
            id: fields.id,
            sort_value: fields.sort_value,
        }),
        Text::Missing => Err(RejectReason::FieldMissing {
            key: key(),
            present: wrong::present(line),
        }),
        Text::Null => Err(RejectReason::FieldNull { key: key() }),
        Text::Other(found) => Err(RejectReason::FieldNotText { key: key(), found }),
    }
}

/// Returns the names of the first fields of an object. `bytes` are the beginning of the object, which may be
/// incomplete.
pub(super) fn first_fields(bytes: &[u8]) -> Vec<String> {
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    wrong::present(valid)
}

enum Text<'a> {
    Missing,
    Null,
    Other(&'static str),
    Found(Cow<'a, str>),
}

struct Fields<'a> {
    text: Text<'a>,
    id: Option<Cow<'a, str>>,
    sort_value: Option<SortValue>,
    /// True if the text is the field's value as JSON source, whatever its type.
    raw: bool,
}

/// Visits a JSON object and picks the fields at the given paths.
struct Object<'k, 'f, 'a> {
    paths: Paths<'k>,
    fields: &'f mut Fields<'a>,
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(hit) = map.next_key_seed(Key { paths: self.paths })? {
            if hit.is_nothing() {
                map.next_value::<IgnoredAny>()?;
            } else if hit.ends[TEXT] && !self.fields.raw || hit.continues_below() && !hit.names() {
                map.next_value_seed(Value {
                    hit,
                    fields: self.fields,
                })?;
            } else {
                // Reading the raw JSON preserves numbers as they are written.
                let raw: &'de RawValue = map.next_value()?;
                self.fields.take_raw(&hit, raw);
                if hit.continues_below() && raw.get().starts_with('{') {
                    let object = Object {
                        paths: hit.below,
                        fields: self.fields,
                    };
                    let mut parser = serde_json::Deserializer::from_str(raw.get());
                    parser.deserialize_map(object).map_err(A::Error::custom)?;
                }
            }
        }
        Ok(())
    }
}

/// The result of comparing a key with the paths: which paths end at this key, and which continue below it.
#[derive(Default)]
struct Hit<'k> {
    ends: [bool; 3],
    below: Paths<'k>,
}

impl Hit<'_> {
    fn continues_below(&self) -> bool {
        self.below.iter().any(Option::is_some)
    }

    /// Returns true if the value at this key is the id or the sort value.
    fn names(&self) -> bool {
        self.ends[ID] || self.ends[SORT]
    }

    fn is_nothing(&self) -> bool {
        !self.continues_below() && !self.ends.contains(&true)
    }
}

/// Compares a key with the paths without allocating memory.
struct Key<'k> {
    paths: Paths<'k>,
}

impl<'de, 'k> DeserializeSeed<'de> for Key<'k> {
    type Value = Hit<'k>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Hit<'k>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'k> Visitor<'_> for Key<'k> {
    type Value = Hit<'k>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Hit<'k>, E> {
        let mut hit = Hit::default();
        for (i, path) in self.paths.iter().enumerate() {
            if let Some(rest) = path.and_then(|path| path.strip_prefix(key)) {
                hit.ends[i] = rest.is_empty();
                hit.below[i] = rest.strip_prefix('.');
            }
        }
        Ok(hit)
    }
}

/// Visits a value that is the text, or an object on the path to a field.
struct Value<'k, 'f, 'a> {
    hit: Hit<'k>,
    fields: &'f mut Fields<'a>,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Fields<'a> {
    fn take_text(&mut self, hit: &Hit<'_>, text: Cow<'a, str>) {
        if hit.ends[SORT] {
            self.sort_value = Some(SortValue::Text(text.as_ref().into()));
        }
        if hit.ends[ID] {
            self.id = Some(text.clone());
        }
        if hit.ends[TEXT] && !self.raw {
            self.text = Text::Found(text);
        }
    }

    fn take_other(&mut self, hit: &Hit<'_>, found: &'static str) {
        if hit.ends[SORT] {
            self.sort_value = None;
        }
        if hit.ends[ID] {
            self.id = None;
        }
        if hit.ends[TEXT] && !self.raw {
            self.text = if found == "null" {
                Text::Null
            } else {
                Text::Other(found)
            };
        }
    }

    /// Takes a value, given as raw JSON, for each field whose path ends here.
    fn take_raw(&mut self, hit: &Hit<'_>, raw: &'a RawValue) {
        let raw = raw.get();
        if self.raw && hit.ends[TEXT] {
            self.text = Text::Found(Cow::Borrowed(raw));
        }
        match raw.as_bytes().first() {
            Some(b'"') => {
                let text: Option<Unescaped<'a>> = serde_json::from_str(raw).ok();
                if let Some(Unescaped(text)) = text {
                    self.take_text(hit, text);
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                if hit.ends[SORT] {
                    self.sort_value = SortValue::number(raw);
                }
                if hit.ends[ID] {
                    self.id = Some(Cow::Borrowed(raw));
                }
            }
            _ => self.take_other(hit, "neither"),
        }
    }
}

/// A JSON string, which is borrowed if it has no escapes. (serde always allocates for a plain `Cow`.)
#[derive(serde::Deserialize)]
struct Unescaped<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Value<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.fields.take_text(&self.hit, Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.fields.take_text(&self.hit, Cow::Owned(text.to_owned()));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.fields.take_other(&self.hit, "a boolean");
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.fields.take_other(&self.hit, "a number");
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.fields.take_other(&self.hit, "a number");
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.fields.take_other(&self.hit, "a number");
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.fields.take_other(&self.hit, "null");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.fields.take_other(&self.hit, "an array");
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.fields.take_other(&self.hit, "an object");
        Object {
            paths: self.hit.below,
            fields: self.fields,
        }
        .visit_map(map)
    }
}
