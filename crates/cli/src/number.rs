//! Numbers as people write them and read them.

pub(crate) use twinprint::number::{bytes, count, counted, percent, seconds, towards_zero};

/// Reads a size such as `64MiB`, `1GB` or `4096`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1_000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        _ => {
            return Err(format!(
                "{unit:?} is no unit of bytes; write such as 64MiB or 1GB"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "write a size such as 64MiB or 1GB".to_owned())?;
    Ok((number * factor as f64) as u64)
}

/// Reads a whole number such as `1000000`, `1_000_000` or `1e6`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    if let Ok(count) = plain.parse() {
        return Ok(count);
    }
    let wide: f64 = plain
        .parse()
        .map_err(|_| "write a number such as 1000000 or 1e9".to_owned())?;
    if wide.fract().abs() < f64::EPSILON && (0.0..1e15).contains(&wide) {
        Ok(wide as u64)
    } else {
        Err("write a whole number below 10^15".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert!(parse_bytes("64 furlongs").is_err());
        assert!(parse_bytes("").is_err());
    }

    #[test]
    fn counts_are_read_as_people_write_them() {
        assert_eq!(parse_count("1e9"), Ok(1_000_000_000));
        assert_eq!(parse_count("1_000"), Ok(1000));
        for wrong in ["", "-1", "1.5", "1e99", "nan", "ten"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }
}
