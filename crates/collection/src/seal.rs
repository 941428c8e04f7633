//! Stored values under a checksum.
//!
//! Every value ends in eight bytes: SipHash-1-3 of the table, the key and the value. The embedded store trusts the disk when it reads;
//! with this, a flipped byte, a value under another key or in another table is an error and never an answer. It guards against
//! accidents, not against somebody who writes to the file.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Bytes of the checksum.
pub(crate) const SEAL: usize = 8;

fn checksum(table: &str, key: &[u8], value: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(table.as_bytes());
    hasher.write_u64(key.len() as u64);
    hasher.write(key);
    hasher.write(value);
    hasher.finish()
}

/// The value with its checksum behind it.
pub(crate) fn seal(table: &str, key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(table, key, &value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

/// The value without its checksum; none where that does not fit.
pub(crate) fn unseal<'v>(table: &str, key: &[u8], sealed: &'v [u8]) -> Option<&'v [u8]> {
    let (value, written) = sealed.split_last_chunk::<SEAL>()?;
    (checksum(table, key, value) == u64::from_le_bytes(*written)).then_some(value)
}

/// The checksum of a sealed value.
pub(crate) fn seal_of(sealed: &[u8]) -> u64 {
    sealed
        .last_chunk::<SEAL>()
        .map_or(0, |seal| u64::from_le_bytes(*seal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_other_place_is_found() {
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
