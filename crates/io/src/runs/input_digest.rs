//! The digest of an input: its documents, by id and text, in order.
//!
//! It does not depend on where the files are, how they are packed, or where they are split; two inputs of one digest have the same documents
//! in the same order.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A secret key, so that nobody can prepare two inputs of one digest.
pub type DigestKey = (u64, u64);

/// Takes in documents in order.
#[derive(Debug)]
pub struct InputDigest {
    hasher: SipHasher13,
}

impl InputDigest {
    pub fn new(key: DigestKey) -> Self {
        Self {
            hasher: SipHasher13::new_with_keys(key.0, key.1),
        }
    }

    /// The hash of a document, which any thread can make. The id is its own, and empty if it has none.
    pub fn document(key: DigestKey, id: &str, text: &str) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(key.0, key.1);
        hasher.write_u64(id.len() as u64);
        hasher.write(id.as_bytes());
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }

    /// Takes in the next document by its hash.
    pub fn push(&mut self, document: u128) {
        self.hasher.write(&document.to_le_bytes());
    }

    pub fn finish(&self) -> u128 {
        self.hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_counts() {
        let digest = |documents: &[(&str, &str)]| {
            let mut digest = InputDigest::new((1, 2));
            for (id, text) in documents {
                digest.push(InputDigest::document((1, 2), id, text));
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
