//! Hexadecimal form of fingerprints.

use twinprint_fingerprint::Width;

/// Formats a fingerprint of 16, 32, 64 or 128 bits as `bits / 4` hexadecimal digits. Bits above the width are ignored.
///
/// ```
/// use twinprint_text::fingerprint_hex;
///
/// assert_eq!(fingerprint_hex(0xab, 16), "00ab");
/// ```
pub fn fingerprint_hex(fingerprint: u128, bits: u32) -> String {
    match bits {
        16 => u16::truncate(fingerprint).to_hex(),
        32 => u32::truncate(fingerprint).to_hex(),
        64 => u64::truncate(fingerprint).to_hex(),
        _ => fingerprint.to_hex(),
    }
}
