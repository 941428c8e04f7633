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

    /// Returns the number by which an optional digest is stored in a file. 0 stands for `None`.
    pub(crate) fn stored(digest: Option<Self>) -> u128 {
        digest.map_or(0, |Self(number)| number)
    }

    /// Returns the digest that a number [stored](Digest::stored) in a file stands for; `None` for 0.
    pub(crate) fn from_stored(number: u128) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }
}
