//! Parses and formats numbers and sizes, such as `1e6`, `1_000_000` or `64MiB`.

use std::fmt::Display;
use std::ops::RangeInclusive;

use twinprint::Auto;
pub(crate) use twinprint::number::{bytes, count, counted, percent, seconds, towards_zero};

/// Parses a size in bytes, such as `64MiB`, `1.5 GB`, `1e9` or `4096`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "write a size such as 64MiB, 1GB or 1e9";
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    // In `1e9` the `e` begins an exponent. No unit begins with an `e`.
    let exponent = unit.strip_prefix(['e', 'E']).map(|after| {
        let after = after.strip_prefix('+').unwrap_or(after);
        after.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    let unit = exponent.unwrap_or(unit);
    let (number, unit) = text.split_at(text.len() - unit.len());
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1_000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        "t" | "tib" => 1 << 40,
        "tb" => 1_000_000_000_000,
        _ => return Err(format!("{unit:?} is not a unit of bytes; {EXPECTED}")),
    };
    let bytes = decimal(number).ok_or(EXPECTED)? * factor as f64;
    if bytes < u64::MAX as f64 {
        Ok(bytes as u64)
    } else {
        Err("write a size below 2^64 bytes".to_owned())
    }
}

/// Parses a whole number such as `1000000`, `1_000_000` or `1e6`. Every option with a count uses this parser.
pub(crate) fn parse_count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let count = whole(text)?;
    N::try_from(count).map_err(|_| format!("{} is too large here", self::count(count)))
}

/// Parses a count like [`parse_count`], and refuses counts outside a range.
pub(crate) fn parse_count_in<N: TryFrom<u64> + PartialOrd + Display>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone
where
    RangeInclusive<N>: Clone,
{
    move |text| {
        let (least, most) = (range.start(), range.end());
        match parse_count(text)? {
            count if count < *least => Err(format!("write {least} or more")),
            count if count > *most => Err(format!("write {most} or less")),
            count => Ok(count),
        }
    }
}

/// Parses a share, from 0 to 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "write a share from 0 to 1, such as 0.01".to_owned())
}

/// Up to this value, floating-point numbers represent all whole numbers exactly.
const MAX_EXACT: f64 = (1u64 << 53) as f64;

fn whole(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if let Ok(count) = text.replace('_', "").parse() {
        return Ok(count);
    }
    let wide = decimal(text).ok_or("write a number such as 1000000 or 1e9")?;
    if wide.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&wide) {
        Ok(wide as u64)
    } else {
        Err("write a whole number; with a point or an exponent, at most 2^53".to_owned())
    }
}

/// Parses a number without a sign, with or without a fraction and an exponent. Words such as `inf` are refused.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    let begins = plain.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    plain.parse().ok().filter(|_| begins)
}

/// Parses a number or the word `auto`.
pub(crate) fn parse_auto(text: &str) -> Result<Auto, String> {
    if text == "auto" {
        return Ok(Auto::Auto);
    }
    text.parse()
        .map(Auto::Fixed)
        .map_err(|_| "write a number or auto".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("64MiB", 64 << 20),
            ("1.5 GB", 1_500_000_000),
            ("4096", 4096),
            ("1e9", 1_000_000_000),
            ("1.5e3 kb", 1_500_000),
            ("2E+6", 2_000_000),
            ("1_000_000B", 1_000_000),
            ("2 TiB", 2 << 40),
            ("0", 0),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for wrong in [
            "64 furlongs",
            "",
            "-1",
            "e9",
            "1e",
            "1e9e9",
            "nan",
            "inf",
            "1e30",
            "GB",
            "1 2",
        ] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_are_parsed_in_common_notations() {
        for (text, count) in [
            ("1e9", 1_000_000_000),
            ("1_000", 1000),
            ("1.5e3", 1500),
            ("5000000.0", 5_000_000),
            ("18446744073709551615", u64::MAX),
            ("1e15", 1_000_000_000_000_000),
            ("9007199254740992.0", 1 << 53),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        assert_eq!(parse_count::<u32>("4294967295"), Ok(u32::MAX));
        assert_eq!(
            parse_count::<u32>("1e10"),
            Err("10,000,000,000 is too large here".to_owned())
        );
        let some = parse_count_in(1..=1000u16);
        assert_eq!((some("1e3"), some("1")), (Ok(1000), Ok(1)));
        assert!(some("0").is_err() && some("1001").is_err() && some("1e9").is_err());
        for wrong in ["", "-1", "1.5", "1e16", "1e99", "nan", "ten", "1e-3", "inf"] {
            assert!(parse_count::<u64>(wrong).is_err(), "{wrong}");
        }
    }
}
