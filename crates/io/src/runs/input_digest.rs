//! The digest of an input: its documents, by id and text, in order.
//!
//! It does not depend on the paths of the files, how they are packed, or where they are split. Two inputs with the same digest have the same
//! documents in the same order.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A secret SipHash key, so that nobody can construct two inputs with the same digest.
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

/// Without the key, which is secret.
impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestKey").finish_non_exhaustive()
    }
}

/// Hashes the documents of an input in order.
#[derive(Debug)]
pub struct InputDigest {
    hasher: SipHasher13,
}

impl InputDigest {
    /// The digest of an input without documents.
    pub fn new(key: DigestKey) -> Self {
        Self { hasher: key.hasher() }
    }

    /// The hash of one document, which can be computed on any thread. `id` is the id in the record, or empty if there is none.
    pub fn document(key: DigestKey, id: &str, text: &str) -> u128 {
        let mut hasher = key.hasher();
        hasher.write_u64(id.len() as u64);
        hasher.write(id.as_bytes());
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }

    /// Adds the next document by its hash.
    pub fn push(&mut self, document: u128) {
        self.hasher.write(&document.to_le_bytes());
    }

    /// The digest of the documents so far.
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
