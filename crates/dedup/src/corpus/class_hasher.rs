//! Makes the keys of classes from canonical texts.

use highway::{HighwayHash, HighwayHasher, Key};
use twinprint_text::KeyedHasher;

use super::class_keys::ClassKey;

/// The domains of a [`KeyedHasher`] in which texts with and without features are hashed.
const WITHOUT_FEATURES: u8 = 0;
const TEXT: u8 = 1;

/// The hash function of class keys, under a secret key. Both functions are designed so that nobody can make two texts collide
/// without the key.
#[derive(Clone, Copy)]
pub(crate) enum ClassHasher {
    /// For keys that are not stored: HighwayHash (Alakuijala, Cox and Wassenberg 2016), which hashes long texts several times as
    /// fast as SipHash.
    OneRun { texts: Key, without_features: ClassKey },
    /// For keys in files: SipHash, which is analysed more.
    Stored(KeyedHasher),
}

impl ClassHasher {
    /// The hasher of one run in memory.
    pub(crate) fn for_one_run([a, b]: [u64; 2]) -> Self {
        let of_domain = |domain: u8| Key([a, b, domain.into(), 0]);
        Self::OneRun {
            texts: of_domain(TEXT),
            without_features: HighwayHasher::new(of_domain(WITHOUT_FEATURES)).hash128(&[]),
        }
    }

    /// The hasher of keys that are stored. It stays the same in later versions.
    pub(crate) fn stored([a, b]: [u64; 2]) -> Self {
        Self::Stored(KeyedHasher::new(a, b))
    }

    /// The key of the class of a canonical text that has features. Linear.
    pub(crate) fn of_text(&self, canonical: &str) -> ClassKey {
        match self {
            Self::OneRun { texts, .. } => HighwayHasher::new(*texts).hash128(canonical.as_bytes()),
            Self::Stored(hasher) => halves(hasher.hash(canonical.as_bytes(), TEXT)),
        }
    }

    /// The key of the class of all texts without features.
    pub(crate) fn without_features(&self) -> ClassKey {
        match self {
            Self::OneRun { without_features, .. } => *without_features,
            Self::Stored(hasher) => halves(hasher.hash(b"", WITHOUT_FEATURES)),
        }
    }
}

fn halves(hash: u128) -> ClassKey {
    [hash as u64, (hash >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_depend_on_the_text_and_on_the_key() {
        for hasher in [ClassHasher::for_one_run, ClassHasher::stored] {
            let (one, other) = (hasher([1, 2]), hasher([1, 3]));
            assert_eq!(one.of_text("a b"), hasher([1, 2]).of_text("a b"));
            assert_ne!(one.of_text("a b"), one.of_text("a c"));
            assert_ne!(one.of_text("a b"), other.of_text("a b"));
            assert_ne!(one.of_text(""), one.without_features());
            assert_ne!(one.without_features(), other.without_features());
        }
    }

    #[test]
    fn stored_keys_stay_the_same() {
        let hasher = ClassHasher::stored([1, 2]);
        assert_eq!(
            hasher.of_text("a b"),
            [0xa5cb_d9ea_bcd8_c50e, 0xbd3c_0eae_6678_4e97]
        );
        assert_eq!(
            hasher.without_features(),
            [0x7cf7_18a0_1861_e2c5, 0xadb4_6355_1abe_ab7c]
        );
    }
}
