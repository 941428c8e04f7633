//! The key of the feature hash.

use std::fmt;

/// A 128-bit key for [`hash_features`](crate::hash_features).
///
/// Fingerprints made under different keys must never be compared. Without the key, nobody can prepare texts that
/// collide; `Debug` therefore never prints it.
///
/// ```
/// use twinprint_fingerprint::HashKey;
///
/// let key = HashKey::new(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
/// assert_eq!(format!("{key:?}"), "HashKey(private)");
/// assert_eq!(HashKey::default(), HashKey::PUBLIC);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// The public default key: the first 128 bits of the fraction of π, a number that nobody chose to make
    /// texts collide.
    pub const PUBLIC: Self = Self([0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344]);

    /// Creates a key from the two words that the SipHash paper calls `k0` and `k1`.
    #[must_use]
    pub const fn new(k0: u64, k1: u64) -> Self {
        Self([k0, k1])
    }

    /// Returns the two words of the key, `k0` and `k1`.
    #[must_use]
    pub const fn words(&self) -> [u64; 2] {
        self.0
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self::PUBLIC
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::PUBLIC {
            "HashKey(public)"
        } else {
            "HashKey(private)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_names_the_kind_and_never_the_words() {
        assert_eq!(format!("{:?}", HashKey::PUBLIC), "HashKey(public)");
        assert_eq!(format!("{:?}", HashKey::new(12345, 67890)), "HashKey(private)");
    }
}
