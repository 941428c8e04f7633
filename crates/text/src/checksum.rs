//! The checksum function for profiles, idf tables and stop words.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

/// SipHash-1-3 of `bytes` with the key 0.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}
