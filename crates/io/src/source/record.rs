//! A record of an input.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::reject::RejectReason;

/// A record of an input, borrowing from its chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<'a> {
    /// Index into [`Sources::list`](super::Sources::list).
    pub source: u32,
    /// Its line from 1; 1 for a whole file.
    pub line: u64,
    /// Bytes of the record as read, without its line feed. For a rejected remainder, the bytes seen of it.
    pub raw_len: u64,
    /// The document, or the reason why the record is not one.
    pub kind: RecordKind<'a>,
}

/// The type of an integer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerType {
    /// The width in bits: 8, 16, 32 or 64.
    pub bits: u8,
    /// True for signed integers.
    pub signed: bool,
}

/// The kind of a record: a document, or the reason why it is not one.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordKind<'a> {
    /// A document.
    Document {
        /// The record's own id: a string, or a number as it was written. Other types, and an empty string, count as none.
        id: Option<Cow<'a, str>>,
        /// Its text.
        text: Cow<'a, str>,
        /// The value of the sort field, if the options name one and the record has it.
        sort_value: Option<SortValue>,
    },
    /// A record that is not a document.
    Rejected {
        /// The reason.
        reason: RejectReason,
    },
    /// A line of white space, which is not a record and has no ordinal.
    Blank,
    /// A record that cannot be a document by its kind, such as a request in a web archive. It is counted separately and has no ordinal.
    Other {
        /// The kind of record, such as `request`.
        kind: &'static str,
    },
}

impl<'a> RecordKind<'a> {
    /// A document. An empty id counts as none, whatever the format: such a record goes by its file and line.
    pub fn document(text: Cow<'a, str>, id: Option<Cow<'a, str>>, sort_value: Option<SortValue>) -> Self {
        let id = id.filter(|id| !id.is_empty());
        Self::Document { id, text, sort_value }
    }
}

/// A value to order documents by. Numbers come before strings; numbers compare exactly, strings by bytes (which is
/// the order of time for RFC 3339 stamps in one zone).
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
    /// Any other number; never NaN and never one that fits [`SortValue::Integer`].
    Real(f64),
    /// A string.
    Text(Box<str>),
}

impl SortValue {
    /// Parses a JSON number. `None` if `raw` is not a number.
    pub fn number(raw: &str) -> Option<Self> {
        if let Ok(n) = raw.parse::<i64>() {
            return Some(Self::Integer(n));
        }
        let x: f64 = raw.parse().ok()?;
        // Whole reals become integers, so that equal numbers have one representation. 2^63 itself does not fit.
        let fits = x.fract() == 0.0 && (-TWO_63..TWO_63).contains(&x);
        if fits {
            Some(Self::Integer(x as i64))
        } else {
            (!x.is_nan()).then_some(Self::Real(x))
        }
    }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Compares an integer with a real that has a fraction or is beyond the range of `i64`.
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
