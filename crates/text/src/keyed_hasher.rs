//! Keyed hashes that identify texts and ids.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A keyed hash function of 128 bits (SipHash-1-3) that identifies texts: texts with equal hashes count as equal.
/// Nobody can make two texts collide without the key.
///
/// Each hash has a domain, a number for the kind of content. Equal bytes in different domains have different hashes.
///
/// ```
/// use twinprint_text::KeyedHasher;
///
/// let hasher = KeyedHasher::new(1, 2);
/// assert_eq!(hasher.hash(b"text", 0), hasher.hash(b"text", 0));
/// assert_ne!(hasher.hash(b"text", 0), hasher.hash(b"text", 1));
/// ```
#[derive(Clone, Copy)]
pub struct KeyedHasher {
    keyed: SipHasher13,
}

impl fmt::Debug for KeyedHasher {
    /// Prints no field, because the key is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedHasher").finish_non_exhaustive()
    }
}

impl KeyedHasher {
    /// Creates a hasher with the 128-bit key (`k0`, `k1`).
    pub fn new(k0: u64, k1: u64) -> Self {
        Self {
            keyed: SipHasher13::new_with_keys(k0, k1),
        }
    }

    /// Hashes `bytes` followed by the byte `domain`. Linear.
    pub fn hash(&self, bytes: &[u8], domain: u8) -> u128 {
        let mut hasher = self.keyed;
        hasher.write(bytes);
        hasher.write_u8(domain);
        hasher.finish128().as_u128()
    }
}
