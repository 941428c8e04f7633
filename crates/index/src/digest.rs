//! Digests that identify the content of files.

use twinprint_fingerprint::{HashKey, hash_one};

/// The 128-bit SipHash-1-3 of some bytes under the published key. It detects a file that was mistaken for another, but
/// does not protect against forged files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    /// The digest of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(hash_one(&HashKey::PUBLIC, bytes))
    }

    /// The number under which a digest is stored, 0 for none.
    pub(crate) fn stored(digest: Option<Self>) -> u128 {
        digest.map_or(0, |Self(number)| number)
    }

    /// The digest that is [stored](Digest::stored) under a number.
    pub(crate) fn from_stored(number: u128) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }
}
