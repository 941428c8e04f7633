//! A record of an input.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::reject::RejectReason;

/// A record of an input. It borrows its text from the chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<'a> {
    /// The index of the file in [`Sources::list`](super::Sources::list).
    pub source: u32,
    /// The line on which the record begins, from 1. It is 1 if the file is one document.
    pub line: u64,
    /// The length of the record as read, in bytes, without its line feed. If the rest of a file is rejected, it is the
    /// number of bytes of the rest that were read.
    pub raw_len: u64,
    /// The document, or the reason why the record is none.
    pub kind: RecordKind<'a>,
}

/// The type of a column of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegerType {
    /// The width in bits: 8, 16, 32 or 64.
    pub bits: u8,
    /// True for signed integers.
    pub signed: bool,
}

/// The kind of a record: a document, a reject, a blank line, or a record that cannot be a document.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordKind<'a> {
    /// A document.
    Document {
        /// The id that the record states: a string, or a number as it is written. `None` if the id is missing, empty or
        /// of another type.
        id: Option<Cow<'a, str>>,
        /// The text of the document.
        text: Cow<'a, str>,
        /// The value that documents are sorted by, if the options name a sort field and the record has it.
        sort_value: Option<SortValue>,
    },
    /// The record cannot be read as a document.
    Rejected {
        /// Why the record is rejected.
        reason: RejectReason,
    },
    /// A line of white space. It does not count as a record and has no ordinal.
    Blank,
    /// A record that cannot be a document because of its kind, such as a request in a web archive. It is counted
    /// separately and has no ordinal.
    Other {
        /// The name of the kind, such as `request`.
        kind: &'static str,
    },
}

impl<'a> RecordKind<'a> {
    /// Creates a document. An empty id counts as missing, in every format. A document without an id is named by its
    /// file and line.
    pub fn document(text: Cow<'a, str>, id: Option<Cow<'a, str>>, sort_value: Option<SortValue>) -> Self {
        let id = id.filter(|id| !id.is_empty());
        Self::Document { id, text, sort_value }
    }
}

/// A value that documents are sorted by. Numbers come before strings. Numbers are compared exactly, and strings by
/// their bytes. RFC 3339 timestamps of one time zone are therefore in order of time.
///
/// # Examples
/// ```
/// use twinprint_io::source::SortValue;
///
/// assert!(SortValue::number("9") < SortValue::number("10"));
/// assert_eq!(SortValue::number("1.0"), Some(SortValue::Integer(1)));
/// assert!(SortValue::number("10") < Some(SortValue::Text("2026-01-31".into())));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// A whole number.
    Integer(i64),
    /// Any other number. It is never NaN, and never a number that [`SortValue::Integer`] can represent.
    Real(f64),
    /// A string.
    Text(Box<str>),
}

impl SortValue {
    /// Parses a JSON number. Returns `None` if `raw` is not a number.
    pub fn number(raw: &str) -> Option<Self> {
        if let Ok(n) = raw.parse::<i64>() {
            return Some(Self::Integer(n));
        }
        let x: f64 = raw.parse().ok()?;
        // A real number without a fraction becomes an integer, so that equal numbers have one representation. 2^63 does
        // not fit into an `i64`, so the upper bound is exclusive.
        let fits = x.fract() == 0.0 && (-TWO_63..TWO_63).contains(&x);
        if fits {
            Some(Self::Integer(x as i64))
        } else {
            (!x.is_nan()).then_some(Self::Real(x))
        }
    }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Compares an integer with a real number that has a fraction or is outside the range of `i64`.
fn whole_to_real(n: i64, x: f64) -> Ordering {
    if x >= TWO_63 {
        Ordering::Less
    } else if x < -TWO_63 {
        Ordering::Greater
    } else if n <= x.floor() as i64 {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

impl Eq for SortValue {}

impl PartialOrd for SortValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortValue {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
            (Self::Integer(a), Self::Real(b)) => whole_to_real(*a, *b),
            (Self::Real(a), Self::Integer(b)) => whole_to_real(*b, *a).reverse(),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (_, Self::Text(_)) => Ordering::Less,
            (Self::Text(_), _) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly() {
        let ordered = [
            "-1e300",
            "-9223372036854775808",
            "-2.5",
            "-2",
            "0",
            "0.5",
            "1",
            "9007199254740992",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "1e300",
        ];
        let values: Vec<_> = ordered
            .iter()
            .map(|n| SortValue::number(n).expect("a number"))
            .collect();
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} {b:?}");
            }
            assert!(*a < SortValue::Text("".into()));
        }
        assert_eq!(SortValue::number("1.0"), Some(SortValue::Integer(1)));
        assert_eq!(SortValue::number("-0.0"), Some(SortValue::Integer(0)));
        assert_eq!(SortValue::number("true"), None);
    }
}
