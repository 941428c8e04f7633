//! Keys of the keep order as fields of rows: the document with the smallest key of a group is kept.

use std::cmp::Reverse;

use crate::corpus::SortKey;
use crate::error::DedupError;
use crate::rows::Field;

use twinprint_io::source::SortValue;

/// The largest number of bytes of a text by which the newest document is kept. Times with nanoseconds and an offset have
/// 35 bytes.
const MAX_TEXT_BYTES: usize = 47;

/// A key of the keep order.
pub(crate) trait KeepKey: Field {
    /// The key of a document.
    ///
    /// # Errors
    /// The value of the sort field is too long for a row.
    fn of(key: &SortKey) -> Result<Self, DedupError>;
}

/// Input order needs no key.
impl KeepKey for () {
    fn of(_: &SortKey) -> Result<Self, DedupError> {
        Ok(())
    }
}

/// The key of a length.
impl KeepKey for u64 {
    fn of(key: &SortKey) -> Result<Self, DedupError> {
        Ok(match key {
            SortKey::Shortest(bytes) => *bytes,
            SortKey::Longest(Reverse(bytes)) => !bytes,
            SortKey::Input | SortKey::Newest(_) => 0,
        })
    }
}

/// The key of the value of a sort field. Its bytes sort as the values, the largest first; a missing value is last.
pub(crate) type ValueKey = [u8; MAX_TEXT_BYTES + 1];

impl KeepKey for ValueKey {
    fn of(key: &SortKey) -> Result<Self, DedupError> {
        let mut bytes = [0; MAX_TEXT_BYTES + 1];
        if let SortKey::Newest(Reverse(Some(value))) = key {
            write_value(value, &mut bytes)?;
        }
        Ok(bytes.map(|byte| !byte))
    }
}

/// Writes a value so that the bytes sort as the values: a tag, then the number or the text. A real number has the tag and
/// the number of the integer below it, and after them its own bits, which an integer lacks.
fn write_value(value: &SortValue, bytes: &mut ValueKey) -> Result<(), DedupError> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    /// Maps integers to unsigned numbers of the same order.
    fn ordered(number: i64) -> [u8; 8] {
        (number as u64 ^ (1 << 63)).to_be_bytes()
    }
    match value {
        SortValue::Integer(number) => {
            bytes[0] = 2;
            bytes[1..9].copy_from_slice(&ordered(*number));
        }
        SortValue::Real(number) => {
            bytes[0] = match number {
                x if *x < -TWO_63 => 1,
                x if *x >= TWO_63 => 3,
                _ => 2,
            };
            if bytes[0] == 2 {
                bytes[1..9].copy_from_slice(&ordered(number.floor() as i64));
            }
            let bits = number.to_bits();
            let ordered_bits = if number.is_sign_negative() {
                !bits
            } else {
                bits | 1 << 63
            };
            bytes[9..17].copy_from_slice(&ordered_bits.to_be_bytes());
        }
        SortValue::Text(text) => {
            if text.len() > MAX_TEXT_BYTES || text.contains('\0') {
                return Err(DedupError::option(
                    "keep",
                    format!(
                        "a run on disk compares texts of up to {MAX_TEXT_BYTES} bytes without the character 0, but a \
                         document has the value {text:?}"
                    ),
                ));
            }
            bytes[0] = 4;
            bytes[1..=text.len()].copy_from_slice(text.as_bytes());
        }
    }
    Ok(())
}

/// Calls a function with the type of the keep key of a run.
macro_rules! with_keep_key {
    ($keep:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $keep {
            $crate::options::Keep::First => $function::<()>($($argument),*),
            $crate::options::Keep::Longest | $crate::options::Keep::Shortest => $function::<u64>($($argument),*),
            $crate::options::Keep::Newest => {
                $function::<$crate::stages::keep_key::ValueKey>($($argument),*)
            }
        }
    };
}
pub(crate) use with_keep_key;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Option<SortValue>> {
        prop_oneof![
            Just(None),
            any::<i64>().prop_map(|number| Some(SortValue::Integer(number))),
            (-3i64..3).prop_map(|number| Some(SortValue::Integer(number))),
            any::<f64>().prop_map(|number| SortValue::number(&format!("{number:?}"))),
            (-3.0..3.0).prop_map(|number: f64| SortValue::number(&number.to_string())),
            prop::sample::select(vec![
                f64::MIN_POSITIVE,
                -f64::MIN_POSITIVE,
                1e300,
                -1e300,
                9.3e18,
                -9.3e18
            ])
            .prop_map(|number| SortValue::number(&format!("{number:e}"))),
            "[a-c]{0,4}".prop_map(|text| Some(SortValue::Text(text.into()))),
        ]
    }

    proptest! {
        #[test]
        fn keys_sort_as_the_values(a in value(), b in value()) {
            let keys = [&a, &b].map(|value| SortKey::Newest(Reverse(value.clone())));
            let [own, other] = [&keys[0], &keys[1]].map(|key| ValueKey::of(key).unwrap());
            prop_assert_eq!(own.cmp(&other), keys[0].cmp(&keys[1]));
        }

        #[test]
        fn lengths_sort_by_the_rule(a: u64, b: u64) {
            let longest = [a, b].map(|bytes| SortKey::Longest(Reverse(bytes)));
            let shortest = [a, b].map(SortKey::Shortest);
            for keys in [longest, shortest] {
                let [own, other] = [&keys[0], &keys[1]].map(|key| u64::of(key).unwrap());
                prop_assert_eq!(own.cmp(&other), keys[0].cmp(&keys[1]));
            }
        }
    }

    #[test]
    fn a_text_that_does_not_fit_is_refused() {
        for text in ["x".repeat(48), "a\0".to_owned()] {
            let key = SortKey::Newest(Reverse(Some(SortValue::Text(text.into()))));
            assert!(ValueKey::of(&key).unwrap_err().to_string().contains("47 bytes"));
        }
    }
}
