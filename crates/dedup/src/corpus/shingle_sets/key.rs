//! The key of the shingle hash, which follows from the corpus.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_fingerprint::HashKey;

use crate::corpus::Classes;

/// Derives the key of the shingle hash from the fingerprints of the whole corpus. Every run on the same input has the
/// same key. An attacker cannot prepare a document whose shingles collide with those of another, since the document
/// itself changes the key.
pub(crate) fn key_of(classes: &Classes) -> HashKey {
    let mut key = CorpusKey::default();
    for &fingerprint in &classes.fingerprint {
        key.add(fingerprint);
    }
    key.finish()
}

/// The digest of the fingerprints of a corpus: the sum of their hashes. It depends neither on the order of the fingerprints
/// nor on the parts in which they are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CorpusKey(u128);

impl CorpusKey {
    /// Adds the fingerprint of one more text.
    pub(crate) fn add(&mut self, fingerprint: u128) {
        let mut hasher = SipHasher13::new();
        hasher.write(&fingerprint.to_le_bytes());
        self.0 = self.0.wrapping_add(hasher.finish128().as_u128());
    }

    /// The key of the shingle hash.
    pub(crate) fn finish(self) -> HashKey {
        HashKey::new(self.0 as u64, (self.0 >> 64) as u64)
    }
}
