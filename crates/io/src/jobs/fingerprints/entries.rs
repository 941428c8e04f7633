//! Weighted features and vectors as they are written in JSON.
//!
//! Features are `{"name": weight, …}`, `[["name", weight], …]` or `["name", …]` with the weight 1. A vector is `[value,
//! …]`, `{"dimension": value, …}` or `[[dimension, value], …]`. All entries are kept, also if a name occurs twice.

use twinprint_fingerprint::hyperplane::Dimension;
use twinprint_text::WeightedFeature;

mod json;

use json::Json;

/// The maximum number of characters of a name that an error message quotes.
const MAX_QUOTED_CHARS: usize = 40;

/// The number of dimensions that an index can name.
const DIMENSIONS: u64 = 1 << 53;

/// The smallest and the largest magnitude of a value that is not 0. The products of four such values are
/// floating-point numbers too, so that distances and cosines are.
const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-70..=1e70;

/// A vector that was written in JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    /// The components. A dimension that occurs twice counts with both values.
    pub components: Vec<(Dimension, f64)>,
}

/// The reason why JSON is not a list of features or a vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntriesError {
    /// The text is not JSON.
    #[error(
        "invalid JSON at character {column}: expected {expected}; numbers such as NaN or 1e999 are not JSON"
    )]
    Json {
        /// The position of the fault, from 1.
        column: usize,
        /// The form that the JSON should have.
        expected: &'static str,
    },
    /// The JSON has another form.
    #[error("expected {expected}, but found {found}")]
    Form {
        /// The form that the JSON should have.
        expected: &'static str,
        /// The value that was found, with its article.
        found: String,
    },
    /// An entry of a list has another form.
    #[error("entry {position} of the list is {found}; expected {expected}")]
    Entry {
        /// The position of the entry, from 1.
        position: usize,
        /// The value that was found, with its article.
        found: String,
        /// The form that the entry should have.
        expected: &'static str,
    },
    /// A weight or a value is not a number.
    #[error("the {role} of {name:?} is {found}; expected a number")]
    Number {
        /// "weight" or "value".
        role: &'static str,
        /// The feature or dimension, shortened.
        name: String,
        /// The value that was found, with its article.
        found: String,
    },
    /// Some components of a vector have a dimension, and others have none.
    #[error("the vector has both pairs and single values: write every component as [dimension, value]")]
    Mixed,
    /// The number of a dimension is too large.
    #[error("dimension {0} of the vector is too large: the largest is 2^53 - 1")]
    Dimension(u64),
    /// The magnitude of a value is too small or too large.
    #[error(
        "the value of dimension {dimension} is {value}; expected 0 or a magnitude from 1e-70 to 1e70: multiply all \
         values by the same number"
    )]
    Magnitude {
        /// The dimension.
        dimension: String,
        /// The value, as it is written.
        value: String,
    },
}

const FEATURES: &str = r#"features: {"name": weight, …}, [["name", weight], …] or ["name", …]"#;
const FEATURE: &str = r#"a name or ["name", weight]"#;
const VECTOR: &str = r#"a vector: [value, …], {"dimension": value, …} or [[dimension, value], …]"#;
const COMPONENT: &str = "a number or [dimension, value]";

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
    match parse(json, FEATURES)? {
        Json::Object(members) => members
            .into_iter()
            .map(|(name, weight)| feature(name, &weight))
            .collect(),
        Json::List(entries) => (1..)
            .zip(entries)
            .map(|(position, entry)| listed(position, entry))
            .collect(),
        other => Err(EntriesError::Form {
            expected: FEATURES,
            found: other.kind(),
        }),
    }
}

fn feature(name: String, weight: &Json) -> Result<WeightedFeature, EntriesError> {
    let weight = number("weight", &name, weight)?;
    Ok(WeightedFeature { name, weight })
}

/// The feature of an entry of a list. A name may be a whole number from 0, such as a hash.
fn listed(position: usize, entry: Json) -> Result<WeightedFeature, EntriesError> {
    let refuse = |found| EntriesError::Entry {
        position,
        found,
        expected: FEATURE,
    };
    let found = entry.kind();
    let (name, weight) = match entry {
        Json::List(pair) => {
            let [name, weight] = <[Json; 2]>::try_from(pair).map_err(|_| refuse(found.clone()))?;
            (name, Some(weight))
        }
        name => (name, None),
    };
    let name = match name {
        Json::Text(name) => name,
        Json::Number(number) if number.is_u64() => number.to_string(),
        _ if weight.is_some() => return Err(refuse("a pair whose first value is not a name".to_owned())),
        _ => return Err(refuse(found)),
    };
    match weight {
        Some(weight) => feature(name, &weight),
        None => Ok(WeightedFeature { name, weight: 1.0 }),
    }
}

fn number(role: &'static str, name: &str, value: &Json) -> Result<f64, EntriesError> {
    match value {
        Json::Number(number) => number.as_f64(),
        _ => None,
    }
    .ok_or_else(|| EntriesError::Number {
        role,
        name: short(name),
        found: value.kind(),
    })
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
/// The JSON is not a list of numbers, an object of numbers, or a list of pairs; the number of a dimension is too large;
/// or a value is not 0 and has a magnitude below 1e-70 or above 1e70.
pub fn parse_vector(json: &str) -> Result<Vector, EntriesError> {
    // A dense vector is parsed without a tree of values, because it may be long.
    let components = match serde_json::from_str::<Vec<f64>>(json) {
        Ok(values) => (0..).map(Dimension::Index).zip(values).collect(),
        Err(_) => components(parse(json, VECTOR)?)?,
    };
    for (dimension, value) in &components {
        if *value != 0.0 && !MAGNITUDES.contains(&value.abs()) {
            return Err(EntriesError::Magnitude {
                dimension: short(&dimension.to_string()),
                value: format!("{value:e}"),
            });
        }
    }
    Ok(Vector { components })
}

/// The components of a vector that is not a list of numbers.
fn components(json: Json) -> Result<Vec<(Dimension, f64)>, EntriesError> {
    let entries = match json {
        Json::Object(members) => {
            let component = |(name, value): (String, Json)| {
                let value = number("value", &name, &value)?;
                Ok((dimension(name)?, value))
            };
            return members.into_iter().map(component).collect();
        }
        Json::List(entries) => entries,
        other => {
            return Err(EntriesError::Form {
                expected: VECTOR,
                found: other.kind(),
            });
        }
    };
    let mut components = Vec::with_capacity(entries.len());
    let mut singles = 0;
    for (position, entry) in (1..).zip(entries) {
        let refuse = |found| EntriesError::Entry {
            position,
            found,
            expected: COMPONENT,
        };
        let found = entry.kind();
        let pair = match entry {
            Json::Number(_) => {
                singles += 1;
                continue;
            }
            Json::List(pair) => <[Json; 2]>::try_from(pair).map_err(|_| refuse(found))?,
            _ => return Err(refuse(found)),
        };
        let [label, value] = pair;
        let name = match label {
            Json::Text(name) => name,
            Json::Number(number) if number.is_u64() => number.to_string(),
            _ => return Err(refuse("a pair whose first value is not a dimension".to_owned())),
        };
        let value = number("value", &name, &value)?;
        components.push((dimension(name)?, value));
    }
    if singles > 0 {
        return Err(EntriesError::Mixed);
    }
    Ok(components)
}

/// The dimension of a name or a number.
fn dimension(name: String) -> Result<Dimension, EntriesError> {
    match name.parse::<u64>() {
        Ok(index) if index.to_string() != name => Ok(Dimension::Name(name)),
        Ok(index) if index < DIMENSIONS => Ok(Dimension::Index(index)),
        Ok(index) => Err(EntriesError::Dimension(index)),
        Err(_) => Ok(Dimension::Name(name)),
    }
}

fn parse(json: &str, expected: &'static str) -> Result<Json, EntriesError> {
    serde_json::from_str(json).map_err(|error| EntriesError::Json {
        column: error.column(),
        expected,
    })
}

/// The first characters of a name.
fn short(name: &str) -> String {
    name.chars().take(MAX_QUOTED_CHARS).collect()
}

#[cfg(test)]
mod tests;
