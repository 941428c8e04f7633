//! Numbers as people write them and read them.

pub(crate) use twinprint::number::{bytes, count, percent, seconds};

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
}
