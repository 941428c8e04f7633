//! Times of documents: RFC 3339 stamps, dates, or numbers of seconds, milliseconds, microseconds or nanoseconds since
//! 1970.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat};

use twinprint_io::source::SortValue;

/// The smallest number that is read as milliseconds; as seconds it would be in the year 5138. From 1,000 times this
/// number, a number is read as microseconds, and from 1,000,000 times this number as nanoseconds.
const MIN_MILLISECONDS: u64 = 100_000_000_000;

/// The number of seconds by which the time of a document may be in the future. A document from the far future would end
/// every story.
pub const MAX_FUTURE_SECONDS: i64 = 86_400;

/// Converts a time to seconds since 1970; `None` if the value is not a time. A time without a zone is in UTC.
pub fn seconds(value: &SortValue) -> Option<i64> {
    match value {
        SortValue::Integer(n) => {
            let mut unit = 1;
            while n.unsigned_abs() / unit as u64 >= MIN_MILLISECONDS && unit < 1_000_000_000 {
                unit *= 1000;
            }
            Some(n.div_euclid(unit))
        }
        SortValue::Real(x) => seconds(&SortValue::Integer(x.floor() as i64)),
        SortValue::Text(text) => parse_text(text.trim()),
    }
}

fn parse_text(text: &str) -> Option<i64> {
    if let Ok(stamp) = DateTime::parse_from_rfc3339(text) {
        return Some(stamp.timestamp());
    }
    let civil = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    if let Some(civil) = civil.or_else(|| Some(day()?.and_time(NaiveTime::MIN))) {
        return Some(civil.and_utc().timestamp());
    }
    let number = SortValue::number(text)?;
    seconds(&number)
}

/// Formats a time like `2024-05-01T12:00:00Z`; `None` beyond the range of the calendar.
pub fn stamp(seconds: i64) -> Option<String> {
    let stamp = DateTime::from_timestamp(seconds, 0)?;
    Some(stamp.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// Formats the day of a time like `2024-05-01`; `None` beyond the range of the calendar.
pub fn day(seconds: i64) -> Option<String> {
    let mut stamp = stamp(seconds)?;
    stamp.truncate(stamp.find('T')?);
    Some(stamp)
}

/// Parses the time of a document to seconds since 1970: RFC 3339, a date with or without a time (UTC), or a number of
/// seconds, milliseconds, microseconds or nanoseconds since 1970.
///
/// # Errors
/// A text that is not a time. The message shows the forms that are read.
///
/// # Examples
/// ```
/// use twinprint_stream::parse_time;
///
/// assert_eq!(parse_time("2024-05-01T12:00:00Z"), Ok(1_714_564_800));
/// assert_eq!(parse_time("2024-05-01 14:00"), Ok(1_714_572_000));
/// assert_eq!(parse_time("1714564800000"), Ok(1_714_564_800));
/// assert!(parse_time("yesterday").is_err());
/// ```
pub fn parse_time(text: &str) -> Result<i64, String> {
    parse_text(text.trim()).ok_or_else(|| {
        "write a time such as 2024-05-01T12:00:00Z, 2024-05-01, or seconds since 1970".to_owned()
    })
}

/// Parses a length of time such as `90m`, `36h` or `7d` to seconds. The units are s, m, h, d and w; a number alone is
/// in seconds.
///
/// # Errors
/// A text that is not a positive length of time. The message shows the form that is read.
///
/// # Examples
/// ```
/// use twinprint_stream::parse_span;
///
/// assert_eq!(parse_span("36h"), Ok(129_600));
/// assert!(parse_span("1y").is_err());
/// ```
pub fn parse_span(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: i64 = match text.get(digits.len()..) {
        Some("" | "s") => 1,
        Some("m") => 60,
        Some("h") => 3600,
        Some("d") => 86_400,
        Some("w") => 604_800,
        _ => 0,
    };
    let number = digits.parse::<i64>().ok().filter(|&n| n > 0 && unit > 0);
    let seconds = number.and_then(|n| n.checked_mul(unit));
    seconds.ok_or_else(|| "write a number above 0 and s, m, h, d or w, such as 36h or 7d".to_owned())
}

/// Formats a length of time as [`parse_span`] reads it.
pub fn span(seconds: i64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds % unit == 0);
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{}{name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_in_several_formats() {
        let text = |text: &str| seconds(&SortValue::Text(text.into()));
        assert_eq!(text("1987-02-26T15:01:01Z"), Some(541_350_061));
        assert_eq!(text("1987-02-26T16:01:01+01:00"), Some(541_350_061));
        assert_eq!(text("1987-02-26 15:01:01"), Some(541_350_061));
        assert_eq!(text("1970-01-02"), Some(86_400));
        assert_eq!(text("86400"), Some(86_400));
        assert_eq!(text("yesterday"), None);
        assert_eq!(parse_time(" 1970-01-02 "), Ok(86_400));
        assert!(parse_time("yesterday").is_err());
        for (n, expected) in [
            (1_700_000_000_123, 1_700_000_000),
            (1_700_000_000_123_456, 1_700_000_000),
            (1_700_000_000_123_456_789, 1_700_000_000),
            (-1_700_000_000_001, -1_700_000_001),
            (99_999_999_999, 99_999_999_999),
            (i64::MAX, i64::MAX / 1_000_000_000),
        ] {
            assert_eq!(seconds(&SortValue::Integer(n)), Some(expected));
        }
        assert_eq!(seconds(&SortValue::Real(1.5)), Some(1));
    }

    #[test]
    fn times_are_formatted() {
        assert_eq!(stamp(541_350_061).as_deref(), Some("1987-02-26T15:01:01Z"));
        assert_eq!(day(86_400).as_deref(), Some("1970-01-02"));
        assert_eq!(stamp(i64::MAX), None);
    }

    #[test]
    fn spans_have_units() {
        assert_eq!(parse_span("36h"), Ok(129_600));
        assert_eq!(parse_span("90"), Ok(90));
        for text in ["90s", "5m", "36h", "7d"] {
            assert_eq!(parse_span(text).map(span), Ok(text.to_owned()));
        }
        for wrong in ["", "h", "-1d", "1y", "999999999999999d"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }
}
