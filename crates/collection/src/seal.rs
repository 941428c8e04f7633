//! Checksums of stored values, called seals.
//!
//! Every stored value ends with a checksum of eight bytes: SipHash-1-3 of the table's name, the key and the value. redb
//! does not verify what it reads. The checksum detects a flipped byte, and a value that appears under a wrong key or in
//! a wrong table. It protects against accidents, not against an attacker who can write to the file.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// The size of a value's checksum in bytes.
pub(crate) const SEAL_BYTES: usize = 8;

fn checksum(table: &str, key: &[u8], value: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(table.as_bytes());
    hasher.write_u64(key.len() as u64);
    hasher.write(key);
    hasher.write(value);
    hasher.finish()
}

/// Appends the checksum to a value that will be stored in `table` under `key`.
pub(crate) fn seal(table: &str, key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(table, key, &value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

/// Verifies the checksum of a stored value and returns the value without it; `None` if the checksum is wrong.
pub(crate) fn unseal<'v>(table: &str, key: &[u8], sealed: &'v [u8]) -> Option<&'v [u8]> {
    let (value, written) = sealed.split_last_chunk::<SEAL_BYTES>()?;
    (checksum(table, key, value) == u64::from_le_bytes(*written)).then_some(value)
}

/// Returns the checksum at the end of a stored value, without verifying it.
pub(crate) fn seal_of(sealed: &[u8]) -> u64 {
    sealed
        .last_chunk::<SEAL_BYTES>()
        .map_or(0, |seal| u64::from_le_bytes(*seal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_and_another_key_or_table_are_detected() {
        let sealed = seal("rows", b"key", b"a value of some length".to_vec());
        assert_eq!(
            unseal("rows", b"key", &sealed),
            Some(&b"a value of some length"[..])
        );
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal("rows", b"key", &damaged), None, "bit {bit}");
        }
        assert_eq!(unseal("rows", b"kez", &sealed), None);
        assert_eq!(unseal("texts", b"key", &sealed), None);
        assert_eq!(unseal("rows", b"key", &sealed[..7]), None);
    }
}
