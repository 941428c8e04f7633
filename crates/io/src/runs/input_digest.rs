//! Computes the digest of an input: a hash of the ids and texts of its documents, in order.
//!
//! The digest does not depend on the paths of the files, on their compression, or on how documents are divided among
//! files. Two inputs with the same digest have the same documents in the same order.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A secret SipHash key. Nobody without the key can construct two inputs with the same digest.
#[derive(Clone, Copy)]
pub struct DigestKey {
    /// The first half of the key.
    pub k0: u64,
    /// The second half of the key.
    pub k1: u64,
}

impl DigestKey {
    fn hasher(self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.k0, self.k1)
    }
}

/// The debug output omits the key, because it is secret.
impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestKey").finish_non_exhaustive()
    }
}

/// Computes the digest of an input from the hashes of its documents, in order.
#[derive(Debug)]
pub struct InputDigest {
    hasher: SipHasher13,
}

impl InputDigest {
    /// Creates the digest of an input without documents.
    pub fn new(key: DigestKey) -> Self {
        Self { hasher: key.hasher() }
    }

    /// Hashes one document. Any thread can call it. `id` is the id that the record states, or an empty string.
    pub fn document(key: DigestKey, id: &str, text: &str) -> u128 {
        let mut hasher = key.hasher();
        hasher.write_u64(id.len() as u64);
        hasher.write(id.as_bytes());
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }

    /// Adds the hash of the next document, made by [`document`](Self::document).
    pub fn push(&mut self, document: u128) {
        self.hasher.write(&document.to_le_bytes());
    }

    /// Returns the digest of the documents added so far.
    pub fn finish(&self) -> u128 {
        self.hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_changes_the_digest() {
        let key = DigestKey { k0: 1, k1: 2 };
        let digest = |documents: &[(&str, &str)]| {
            let mut digest = InputDigest::new(key);
            for (id, text) in documents {
                digest.push(InputDigest::document(key, id, text));
            }
            digest.finish()
        };
        let inputs: [&[(&str, &str)]; 8] = [
            &[],
            &[("", "")],
            &[("a", "b")],
            &[("", "ab")],
            &[("ab", "")],
            &[("a", "b"), ("c", "d")],
            &[("c", "d"), ("a", "b")],
            &[("a", "b"), ("c", "D")],
        ];
        let digests: std::collections::HashSet<u128> = inputs.map(digest).into();
        assert_eq!(digests.len(), inputs.len());
        assert_eq!(digest(inputs[5]), digest(inputs[5]));
    }
}
