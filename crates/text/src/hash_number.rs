//! Numbers that stand for hashes and fingerprints, as people and programs write them.

/// Parses a number of up to 128 bits: decimal, hexadecimal after `0x`, or binary after `0b`. Returns `None` if the text
/// is not such a number. Signs and separators are refused.
///
/// ```
/// use twinprint_text::parse_hash_number;
///
/// assert_eq!(parse_hash_number("0xABCD"), Some(43_981));
/// assert_eq!(parse_hash_number("0b100101"), Some(37));
/// assert_eq!(parse_hash_number("43981"), Some(43_981));
/// assert_eq!(parse_hash_number("abcd"), None);
/// ```
pub fn parse_hash_number(written: &str) -> Option<u128> {
    let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| written.strip_prefix(prefix));
    let (digits, radix) = match (prefixed(["0x", "0X"]), prefixed(["0b", "0B"])) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) => (digits, 2),
        (None, None) => (written, 10),
    };
    // `from_str_radix` accepts a leading sign.
    let number = u128::from_str_radix(digits, radix).ok();
    number.filter(|_| !digits.starts_with('+'))
}
