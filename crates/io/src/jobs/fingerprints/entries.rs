//! Weighted features and vectors as they are written in JSON.
//!
//! Features are `{"name": weight, …}`, `[["name", weight], …]` or `["name", …]` with the weight 1. A vector is `[value,
//! …]`, `{"dimension": value, …}` or `[[dimension, value], …]`. All entries are kept, also if a name occurs twice.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use twinprint_fingerprint::HashKey;
use twinprint_fingerprint::hyperplane::{VectorError, fingerprint_rows, row, row_of_name};
use twinprint_text::WeightedFeature;

/// The JSON parser's error message is cut to this number of characters, because it quotes the input.
const MAX_QUOTED_CHARS: usize = 100;

/// The number of dimensions that an index can name. Rows of names differ from the rows of these dimensions.
const DIMENSIONS: u64 = 1 << 53;

/// A vector that was written in JSON. The two lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    /// The random row of each component's dimension, which also identifies the dimension.
    pub rows: Vec<u128>,
    /// The value of each component.
    pub values: Vec<f32>,
}

impl Vector {
    /// Computes the fingerprint of the vector at 128 bits, by random hyperplanes. A narrower fingerprint is its low
    /// bits. A dimension that occurs twice counts with both values.
    ///
    /// # Errors
    /// [`VectorError`] if the vector is empty, all zero, or has a value that is not finite.
    pub fn fingerprint(&self) -> Result<u128, VectorError> {
        fingerprint_rows(&self.rows, &self.values)
    }
}

/// The reason why JSON is not a list of features or a vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntriesError {
    /// The JSON has another form.
    #[error("{expected}: {problem}")]
    Json {
        /// The form that the JSON should have.
        expected: &'static str,
        /// The message of the parser, shortened.
        problem: String,
    },
    /// Some components of a vector have a dimension, and others have none.
    #[error("the vector has both pairs and single values: write every component as [dimension, value]")]
    Mixed,
    /// The number of a dimension is too large.
    #[error("dimension {0} of the vector is too large: the largest is 2^53 - 1")]
    Dimension(u64),
}

/// An entry of a list or an object.
enum Entry {
    /// A number alone, as it is written.
    Number(serde_json::Number),
    Text(String),
    Pair(Label, f64),
}

/// The first part of a pair, or the key of an object.
enum Label {
    Index(u64),
    Text(String),
}

struct Entries(Vec<Entry>);

/// Parses features with their weights. A feature without a weight gets the weight 1.
///
/// ```
/// use twinprint_io::jobs::fingerprints::parse_features;
///
/// let features = parse_features(r#"{"price": 2.5, "size": 1}"#)?;
/// assert_eq!((features[0].name.as_str(), features[0].weight), ("price", 2.5));
/// assert_eq!(features, parse_features(r#"[["price", 2.5], "size"]"#)?);
/// # Ok::<(), twinprint_io::jobs::fingerprints::EntriesError>(())
/// ```
///
/// # Errors
/// The JSON is not an object of numbers, or a list of names and pairs of a name and a number.
pub fn parse_features(json: &str) -> Result<Vec<WeightedFeature>, EntriesError> {
    let feature = |name: String, weight: f64| WeightedFeature { name, weight };
    let entries = parse(json, "the features are not an object or a list of features")?;
    let features = entries.into_iter().map(|entry| match entry {
        Entry::Number(number) => feature(number.to_string(), 1.0),
        Entry::Text(name) => feature(name, 1.0),
        Entry::Pair(Label::Index(index), weight) => feature(index.to_string(), weight),
        Entry::Pair(Label::Text(name), weight) => feature(name, weight),
    });
    Ok(features.collect())
}

/// Parses a vector. A key that is a whole number in its usual form is an index, as in `{"0": 0.5}`; any other key is a
/// name.
///
/// ```
/// use twinprint_io::jobs::fingerprints::parse_vector;
///
/// let vector = parse_vector("[0.5, -1]")?;
/// assert_eq!(vector, parse_vector(r#"{"0": 0.5, "1": -1}"#)?);
/// assert_eq!(vector, parse_vector("[[0, 0.5], [1, -1]]")?);
/// # Ok::<(), twinprint_io::jobs::fingerprints::EntriesError>(())
/// ```
///
/// # Errors
/// The JSON is not a list of numbers, an object of numbers, or a list of pairs; or the number of a dimension is too
/// large.
pub fn parse_vector(json: &str) -> Result<Vector, EntriesError> {
    let json = json.trim_ascii();
    let first = json
        .strip_prefix('[')
        .map(|rest| rest.trim_ascii_start().as_bytes().first());
    // A dense vector is parsed without entries, because it may be long.
    if !(json.starts_with('{') || first == Some(Some(&b'['))) {
        let values: Vec<f32> = serde_json::from_str(json)
            .map_err(|error| wrong("the vector is not an array of numbers", &error))?;
        let rows = (0..values.len() as u64).map(|index| row(&HashKey::PUBLIC, index));
        return Ok(Vector {
            rows: rows.collect(),
            values,
        });
    }
    let mut vector = Vector::default();
    for entry in parse(
        json,
        "the vector is not an object or a list of [dimension, value]",
    )? {
        let Entry::Pair(label, value) = entry else {
            return Err(EntriesError::Mixed);
        };
        vector.rows.push(row_of(label)?);
        vector.values.push(value as f32);
    }
    Ok(vector)
}

/// The random row of the dimension that a label names.
fn row_of(label: Label) -> Result<u128, EntriesError> {
    let index = match label {
        Label::Index(index) => index,
        Label::Text(text) => match text.parse::<u64>() {
            Ok(index) if index.to_string() == text => index,
            _ => return Ok(row_of_name(&HashKey::PUBLIC, &text)),
        },
    };
    if index < DIMENSIONS {
        Ok(row(&HashKey::PUBLIC, index))
    } else {
        Err(EntriesError::Dimension(index))
    }
}

fn parse(json: &str, expected: &'static str) -> Result<Vec<Entry>, EntriesError> {
    let entries: Entries = serde_json::from_str(json).map_err(|error| wrong(expected, &error))?;
    Ok(entries.0)
}

/// The parser's message quotes the value that it found, which can be very long, so it is shortened.
fn wrong(expected: &'static str, error: &serde_json::Error) -> EntriesError {
    let message = error.to_string();
    let short: String = message.chars().take(MAX_QUOTED_CHARS).collect();
    let cut = if short.len() < message.len() { "…" } else { "" };
    let problem = short + cut;
    EntriesError::Json { expected, problem }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl<'de> Visitor<'de> for Whole {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, weight)) = map.next_entry()? {
                    entries.push(Entry::Pair(Label::Text(name), weight));
                }
                Ok(Entries(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = seq.next_element()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_any(Whole)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number, or a pair of a name and a number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Entry, E> {
                Ok(Entry::Text(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Entry, E> {
                Ok(Entry::Number(number.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entry, A::Error> {
                let short = || A::Error::custom("a pair has a name and a number");
                let label = seq.next_element()?.ok_or_else(short)?;
                let number = seq.next_element()?.ok_or_else(short)?;
                match seq.next_element()? {
                    None::<serde::de::IgnoredAny> => Ok(Entry::Pair(label, number)),
                    Some(_) => Err(A::Error::custom(
                        "a pair has a name and a number, and nothing else",
                    )),
                }
            }
        }
        deserializer.deserialize_any(One)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct First;
        impl Visitor<'_> for First {
            type Value = Label;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a whole number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Label, E> {
                Ok(Label::Text(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, index: u64) -> Result<Label, E> {
                Ok(Label::Index(index))
            }
        }
        deserializer.deserialize_any(First)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(json: &str) -> Vec<(String, f64)> {
        let entries = parse_features(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        entries
            .into_iter()
            .map(|feature| (feature.name, feature.weight))
            .collect()
    }

    fn vector(json: &str) -> Vector {
        parse_vector(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    #[test]
    fn features_have_three_forms() {
        let expected = vec![
            ("b".to_owned(), 1.0),
            ("a".to_owned(), 2.5),
            ("b".to_owned(), 3.0),
        ];
        assert_eq!(features(r#"{"b": 1, "a": 2.5, "b": 3}"#), expected);
        assert_eq!(features(r#"[["b", 1], ["a", 2.5], ["b", 3e0]]"#), expected);
        assert_eq!(features(r#"["b", ["a", 2.5], ["b", 3]]"#), expected);
        let largest = format!("[{}, [7, 2]]", u64::MAX);
        assert_eq!(
            features(&largest),
            [(u64::MAX.to_string(), 1.0), ("7".to_owned(), 2.0)]
        );
        assert_eq!(features("[]").len() + features("{}").len(), 0);
    }

    #[test]
    fn vectors_have_three_forms() {
        let key = HashKey::PUBLIC;
        let expected = Vector {
            rows: vec![row(&key, 0), row(&key, 2)],
            values: vec![0.5, -1.0],
        };
        assert_eq!(vector(r#"{"0": 0.5, "2": -1}"#), expected);
        assert_eq!(vector(r#" [ [0, 0.5], ["2", -1]]"#), expected);
        assert_eq!(vector("[0.5, 0, -1]").rows[2], expected.rows[1]);
        let named = ["x", "02", "-1"].map(|name| row_of_name(&key, name));
        assert_eq!(vector(r#"{"x": 1, "02": 2, "-1": 3}"#).rows, named);
    }

    #[test]
    fn other_json_is_refused() {
        for wrong in [
            "3",
            "\"a b\"",
            "null",
            r#"{"a": "1"}"#,
            r#"{"a": null}"#,
            r#"[["a"]]"#,
            r#"[["a", 1, 2]]"#,
            "[[]]",
            "[[1.5, 1]]",
            "[-1]",
            "[1.5]",
            "[true]",
            r#"{"a": 1e999}"#,
            "[",
            r#"[["a", NaN]]"#,
        ] {
            assert!(parse_features(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            r#"["a"]"#,
            "[[0, 1], 2]",
            "[1, [0, 1]]",
            "[[-1, 1]]",
            "[[9007199254740992, 1]]",
            "{",
        ] {
            assert!(parse_vector(wrong).is_err(), "{wrong}");
        }
    }
}
