//! The hash of features: SipHash with a key, or Rabin fingerprints without one.

use std::fmt;

use twinprint_fingerprint::{
    HashKey, ShortFeature, Span, Width, hash_features_at, hash_one, hash_short_features_at, hash_windows_64,
    kernel, rabin,
};

/// The function that hashes the features of a profile.
///
/// ```
/// use twinprint_text::{FeatureHash, Profile};
///
/// let profile = Profile::parse("tp1-words3-set-64+hash.rabin")?;
/// assert_eq!(profile.hash(), FeatureHash::Rabin);
/// # Ok::<(), twinprint_text::ProfileError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeatureHash {
    /// SipHash-1-3 with 128 bits under a key. Nobody can construct collisions without the key.
    #[default]
    SipHash,
    /// The [Rabin fingerprint](rabin) of the bytes of a feature. It has no key.
    Rabin,
}

impl FeatureHash {
    /// The name of the hash in a profile's id.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SipHash => "siphash",
            Self::Rabin => "rabin",
        }
    }

    /// Parses a name that [`name`](Self::name) returns.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::SipHash, Self::Rabin]
            .into_iter()
            .find(|hash| hash.name() == name)
    }
}

impl fmt::Display for FeatureHash {
    /// Writes the definition, for the checksum of a profile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SipHash => f.write_str("siphash-1-3-128"),
            Self::Rabin => {
                let [low, high] = rabin::POLYNOMIALS;
                write!(
                    f,
                    "rabin of 01, bytes, 8 zeros modulo x^64 + {low:016x}, x^64 + {high:016x}"
                )
            }
        }
    }
}

/// Hashes features by the function of a profile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FeatureHasher {
    SipHash(HashKey),
    Rabin,
}

impl FeatureHasher {
    /// The hasher of a function. Rabin fingerprints have no key.
    pub(crate) fn new(hash: FeatureHash, key: HashKey) -> Self {
        match hash {
            FeatureHash::SipHash => Self::SipHash(key),
            FeatureHash::Rabin => Self::Rabin,
        }
    }

    /// Hashes one feature.
    pub(crate) fn hash_one(&self, bytes: &[u8]) -> u128 {
        match self {
            Self::SipHash(key) => hash_one(key, bytes),
            Self::Rabin => rabin::hash_one(bytes),
        }
    }

    /// Replaces the content of `hashes` by the low bits of the hash of each span.
    pub(crate) fn hash_spans<W: Width>(&self, bytes: &[u8], spans: &[Span], hashes: &mut Vec<W>) {
        match self {
            Self::SipHash(key) => hash_features_at(kernel::level(), key, bytes, spans, hashes),
            Self::Rabin => rabin::hash_features(bytes, spans, hashes),
        }
    }

    /// Replaces the content of `hashes` by the low bits of the hash of each short feature.
    pub(crate) fn hash_short<W: Width>(&self, features: &[ShortFeature], hashes: &mut Vec<W>) {
        match self {
            Self::SipHash(key) => hash_short_features_at(kernel::level(), key, features, hashes),
            Self::Rabin => {
                hashes.clear();
                let mut buffer = [0; ShortFeature::MAX_BYTES];
                hashes.extend(
                    features
                        .iter()
                        .map(|feature| W::truncate(rabin::hash_one(feature.bytes(&mut buffer)))),
                );
            }
        }
    }

    /// Replaces the content of `hashes` by the low bits of the hash of every window of `width` bytes.
    pub(crate) fn hash_windows(&self, bytes: &[u8], width: usize, hashes: &mut Vec<u64>) {
        match self {
            Self::SipHash(key) => hash_windows_64(key, bytes, width, hashes),
            Self::Rabin => {
                hashes.clear();
                hashes.extend(bytes.windows(width).map(rabin::hash_one_64));
            }
        }
    }
}
