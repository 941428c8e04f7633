//! JSON values that keep all members of an object, also if a name occurs twice.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A JSON value.
pub(super) enum Json {
    Null,
    Bool,
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    /// The kind of value, with its article, for messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Number(number) => format!("the number {number}"),
            Self::Text(_) => "a string".to_owned(),
            Self::List(values) => format!(
                "a list of {}",
                crate::number::counted(values.len() as u64, "value")
            ),
            Self::Object(_) => "an object".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: Error>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Json, E> {
                Ok(Json::Bool)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
                // JSON has no other numbers, so this cannot fail.
                Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    values.push(value);
                }
                Ok(Json::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
