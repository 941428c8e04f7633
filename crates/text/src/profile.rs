//! Profiles: everything that decides a fingerprint, with an id and a checksum.
//!
//! Fingerprints of different profiles are not comparable. A profile's id identifies it on command lines and in output.
//! The checksum covers more than the id: also Unicode versions, segmenter and stop words. A profile contains the id of
//! its key, never the secret key itself.

use std::fmt::Write as _;

use crate::checksum::checksum;
use crate::feature_hash::FeatureHash;
use crate::features::{Features, MAX_SHINGLE};
use crate::idf::{IdfPower, IdfTable};
use crate::segment::SEGMENTER;
use crate::stop_words::StopWords;
use crate::weight::Weight;

/// The version of the profile format, with which every id begins. It changes if the order of the steps or the meaning
/// of the ids changes.
const VERSION: &str = "tp1";

/// The rules by which documents become fingerprints: normalisation, features, weights, hash key and width.
///
/// An id has the form `tp1-FEATURES-WEIGHT-BITS`. `+hash.rabin` follows if the features are hashed by Rabin
/// fingerprints, `+key.ID` if the key is not the public one, and `+stop.CHECKSUM` if the profile has a list of stop
/// words. FEATURES is `words`, `wordsN`, `charsN` or `wordpairs`.
/// WEIGHT is `set`, `tf`, `lntf` or `levels`; the name of an idf table may follow it, as in `lntf.TABLE`, or
/// `lntf.root.TABLE` for the square root of the idf. BITS is 16, 32, 64 or 128.
///
/// ```
/// use twinprint_text::{Features, Profile, Weight};
///
/// let profile = Profile::parse("tp1-chars4-tf-64")?;
/// assert_eq!(profile, Profile::new(Features::CharShingles(4), Weight::Tf, 64)?);
/// assert!(profile.check_same(&Profile::default_for(64)?).is_err());
/// # Ok::<(), twinprint_text::ProfileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    features: Features,
    weight: Weight,
    bits: u32,
    hash: FeatureHash,
    key_id: String,
    stop_words: StopWords,
    idf: Option<(IdfTable, IdfPower)>,
}

/// The reason why a profile cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Fingerprints cannot have this number of bits.
    #[error("a fingerprint has 16, 32, 64 or 128 bits, not {0}")]
    Bits(u32),
    /// The features are shingles of 0 units, or of more than [`MAX_SHINGLE`] units.
    #[error("a shingle has 1 to {MAX_SHINGLE} words or characters, so {0} is not possible")]
    Shingle(Features),
    /// The id of a key has a character other than ASCII letters, digits, dots and underscores, or is empty or too long.
    #[error("a key's id has 1 to 64 ASCII letters, digits, '.' and '_': {0:?}")]
    KeyId(String),
    /// The profile hashes features by Rabin fingerprints, which have no key, and names a key.
    #[error("Rabin fingerprints have no key, so a profile with +hash.rabin cannot name the key {0:?}")]
    HashWithoutKey(String),
    /// The text is not the id of a profile.
    #[error("not a profile: {0:?} (expected something like tp1-words-lntf-64)")]
    Id(String),
    /// The id has only the checksum of a list of stop words, so the list itself is needed to make the profile.
    #[error("profile {0} has a list of stop words, which its id does not contain; give the list itself")]
    StopWords(String),
    /// The id has only the name of an idf table that is not bundled, so the table itself is needed to make the profile.
    #[error("profile {0} has a table of idf weights, which its id does not contain; give the table itself")]
    Idf(String),
}

/// Two profiles whose fingerprints are not comparable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fingerprints of different profiles cannot be compared: {left} (checksum {left_checksum:016x}) and {right} \
     (checksum {right_checksum:016x})"
)]
pub struct ProfileMismatch {
    /// Id of the first profile: the one on which [`check_same`](Profile::check_same) was called.
    pub left: String,
    /// Checksum of the first profile.
    pub left_checksum: u64,
    /// Id of the second profile: the argument of [`check_same`](Profile::check_same).
    pub right: String,
    /// Checksum of the second profile.
    pub right_checksum: u64,
}

impl Profile {
    /// The id of the published key, [`HashKey::PUBLIC`](twinprint_fingerprint::HashKey::PUBLIC).
    pub const PUBLIC_KEY: &str = "public";

    /// Makes a profile with the public key and without stop words or idf.
    ///
    /// # Errors
    /// Fails if `bits` is not 16, 32, 64 or 128, or if a shingle has 0 or more than [`MAX_SHINGLE`] units.
    pub fn new(features: Features, weight: Weight, bits: u32) -> Result<Self, ProfileError> {
        if !matches!(bits, 16 | 32 | 64 | 128) {
            return Err(ProfileError::Bits(bits));
        }
        if !features.is_valid() {
            return Err(ProfileError::Shingle(features));
        }
        let key_id = Self::PUBLIC_KEY.to_owned();
        Ok(Self {
            features,
            weight,
            bits,
            hash: FeatureHash::default(),
            key_id,
            stop_words: StopWords::default(),
            idf: None,
        })
    }

    /// The default profile for fingerprints of `bits` bits: words weighted by 1 + ln tf.
    ///
    /// # Errors
    /// Fails if `bits` is not 16, 32, 64 or 128.
    pub fn default_for(bits: u32) -> Result<Self, ProfileError> {
        Self::new(Features::default(), Weight::default(), bits)
    }

    /// Returns this profile with another key id. The id "public" stands for the published key.
    ///
    /// # Errors
    /// [`ProfileError::KeyId`] if the key id cannot be part of a profile's id, and [`ProfileError::HashWithoutKey`] if
    /// the hash of the profile has no key.
    pub fn with_key_id(self, key_id: &str) -> Result<Self, ProfileError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
        if !(1..=64).contains(&key_id.len()) || !key_id.bytes().all(plain) {
            return Err(ProfileError::KeyId(key_id.to_owned()));
        }
        Self {
            key_id: key_id.to_owned(),
            ..self
        }
        .checked()
    }

    /// Returns this profile with another hash of the features.
    ///
    /// # Errors
    /// [`ProfileError::HashWithoutKey`] if the hash has no key and the profile names one.
    pub fn with_hash(self, hash: FeatureHash) -> Result<Self, ProfileError> {
        Self { hash, ..self }.checked()
    }

    /// Checks that only a hash with a key has one.
    fn checked(self) -> Result<Self, ProfileError> {
        if self.hash == FeatureHash::Rabin && self.key_id != Self::PUBLIC_KEY {
            return Err(ProfileError::HashWithoutKey(self.key_id));
        }
        Ok(self)
    }

    /// Returns this profile with fingerprints of `bits` bits.
    ///
    /// # Errors
    /// Fails if `bits` is not 16, 32, 64 or 128.
    pub fn at_width(&self, bits: u32) -> Result<Self, ProfileError> {
        if !matches!(bits, 16 | 32 | 64 | 128) {
            return Err(ProfileError::Bits(bits));
        }
        Ok(Self { bits, ..self.clone() })
    }

    /// Returns this profile with a list of stop words: features that do not vote.
    #[must_use]
    pub fn with_stop_words(self, stop_words: StopWords) -> Self {
        Self { stop_words, ..self }
    }

    /// Returns this profile with an idf table: the weight of a feature is multiplied by a power of its idf.
    #[must_use]
    pub fn with_idf(self, table: IdfTable, power: IdfPower) -> Self {
        Self {
            idf: Some((table, power)),
            ..self
        }
    }

    /// Makes the profile that an id describes.
    ///
    /// # Errors
    /// Fails if the id is invalid, if it has a list of stop words (of which an id contains only the checksum), or if it
    /// names an idf table that is not [bundled](IdfTable::bundled).
    pub fn parse(id: &str) -> Result<Self, ProfileError> {
        let unknown = || ProfileError::Id(id.to_owned());
        let mut options = id.split('+');
        let mut parts = options.next().unwrap_or_default().split('-');
        let (Some(VERSION), Some(features), Some(weight), Some(bits), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(unknown());
        };
        let features = Features::from_name(features).ok_or_else(unknown)?;
        let mut weighing = weight.split('.');
        let weight = Weight::from_name(weighing.next().unwrap_or_default()).ok_or_else(unknown)?;
        let bits = bits.parse().map_err(|_| unknown())?;
        let mut profile = Self::new(features, weight, bits)?;
        let table = match (weighing.next(), weighing.next(), weighing.next()) {
            (None, ..) => None,
            (Some("root"), Some(table), None) => Some((table, IdfPower::Root)),
            (Some(table), None, None) => Some((table, IdfPower::Whole)),
            _ => return Err(unknown()),
        };
        if let Some((table, power)) = table {
            let table = IdfTable::bundled(table).ok_or_else(|| ProfileError::Idf(id.to_owned()))?;
            profile = profile.with_idf(table, power);
        }
        for option in options {
            match option.split_once('.') {
                Some(("hash", name)) => {
                    profile = profile.with_hash(FeatureHash::from_name(name).ok_or_else(unknown)?)?;
                }
                Some(("key", key_id)) => profile = profile.with_key_id(key_id)?,
                Some(("stop", _)) => return Err(ProfileError::StopWords(id.to_owned())),
                _ => return Err(unknown()),
            }
        }
        // An id is accepted only in the spelling that `id` returns, so that each profile has exactly one id.
        if profile.id() == id {
            Ok(profile)
        } else {
            Err(unknown())
        }
    }

    /// Makes the profile that an id describes. An id without a width, such as `tp1-words-lntf`, gets `bits` bits.
    ///
    /// # Errors
    /// The errors of [`parse`](Self::parse).
    ///
    /// ```
    /// use twinprint_text::Profile;
    ///
    /// # fn main() -> Result<(), twinprint_text::ProfileError> {
    /// assert_eq!(Profile::parse_or_width("tp1-words-lntf", 128)?.bits(), 128);
    /// assert_eq!(Profile::parse_or_width("tp1-words-lntf-64", 128)?.bits(), 64);
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse_or_width(id: &str, bits: u32) -> Result<Self, ProfileError> {
        let (recipe, options) = id.split_at(id.find('+').unwrap_or(id.len()));
        if recipe.split('-').count() == 3 {
            Self::parse(&format!("{recipe}-{bits}{options}"))
        } else {
            Self::parse(id)
        }
    }

    /// The id of the profile, such as `tp1-words-lntf-64`.
    pub fn id(&self) -> String {
        let weight = match &self.idf {
            None => self.weight.name().to_owned(),
            Some((table, IdfPower::Whole)) => format!("{}.{}", self.weight.name(), table.name()),
            Some((table, IdfPower::Root)) => format!("{}.root.{}", self.weight.name(), table.name()),
        };
        let mut id = format!("{VERSION}-{}-{weight}-{}", self.features, self.bits);
        // Writing to a string cannot fail.
        if self.hash != FeatureHash::default() {
            let _ = write!(id, "+hash.{}", self.hash.name());
        }
        if self.key_id != Self::PUBLIC_KEY {
            let _ = write!(id, "+key.{}", self.key_id);
        }
        if !self.stop_words.is_empty() {
            let _ = write!(id, "+stop.{:016x}", self.stop_words_checksum());
        }
        id
    }

    /// A description of everything that decides a fingerprint, one line for each property. The checksum is computed
    /// from this text.
    pub fn parts(&self) -> String {
        let (unicode, categories) = (
            unicode_normalization::UNICODE_VERSION,
            unicode_general_category::UNICODE_VERSION,
        );
        let lower = char::UNICODE_VERSION;
        let (features, weight, bits) = (self.features, self.weight.name(), self.bits);
        let (hash, key_id) = (self.hash, &self.key_id);
        let stop_words = if self.stop_words.is_empty() {
            "none".to_owned()
        } else {
            format!("{:016x}", self.stop_words_checksum())
        };
        let idf = match &self.idf {
            None => "none".to_owned(),
            Some((table, IdfPower::Whole)) => format!("{} {:016x}", table.name(), table.checksum()),
            Some((table, IdfPower::Root)) => format!("root of {} {:016x}", table.name(), table.checksum()),
        };
        format!(
            "profile {VERSION}\n\
             normalisation strip, nfkc, lower, nfc; words of L, N, M\n\
             unicode nfkc {}.{}.{}, lower {}.{}.{}, categories {}.{}.{}\n\
             segmenter {SEGMENTER}\n\
             features {features}\n\
             stop words {stop_words}\n\
             weight {weight}\n\
             idf {idf}\n\
             hash {hash}, key {key_id}\n\
             bits {bits}\n",
            unicode.0,
            unicode.1,
            unicode.2,
            lower.0,
            lower.1,
            lower.2,
            categories.0,
            categories.1,
            categories.2,
        )
    }

    /// The checksum of the text that [`parts`](Self::parts) returns.
    pub fn checksum(&self) -> u64 {
        checksum(self.parts().as_bytes())
    }

    /// Checks that fingerprints of the two profiles are comparable.
    ///
    /// # Errors
    /// [`ProfileMismatch`] if the profiles have different checksums.
    pub fn check_same(&self, other: &Self) -> Result<(), ProfileMismatch> {
        let (left_checksum, right_checksum) = (self.checksum(), other.checksum());
        if left_checksum == right_checksum {
            return Ok(());
        }
        Err(ProfileMismatch {
            left: self.id(),
            left_checksum,
            right: other.id(),
            right_checksum,
        })
    }

    /// The kind of features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The weight function, which maps the frequency of a feature to its weight.
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// The formula for the weight of a feature, for display. In it, tf is the frequency of the feature in the text.
    pub fn weight_formula(&self) -> String {
        let of_tf = match self.weight {
            Weight::Set => "1",
            Weight::Tf => "tf",
            Weight::LogTf => "(1 + ln tf)",
            Weight::Levels => "a level from 1 to 5 by tf",
        };
        let idf = self.idf.as_ref().map(|(_, power)| match power {
            IdfPower::Whole => " · idf",
            IdfPower::Root => " · √idf",
        });
        // Logarithms and idf values are integers that count sixteenths, so their product counts 256ths.
        let unit = match (self.weight, idf) {
            (Weight::LogTf, None) => return "1 + ln tf, in sixteenths".to_owned(),
            (Weight::LogTf, Some(_)) => ", in 256ths",
            (_, None) => "",
            (_, Some(_)) => ", in sixteenths",
        };
        format!("{of_tf}{}{unit}", idf.unwrap_or_default())
    }

    /// The width of the fingerprints in bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The hash of the features.
    pub fn hash(&self) -> FeatureHash {
        self.hash
    }

    /// The id of the key of the feature hashes. The id "public" stands for the published key.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The idf table and the power of the idf; `None` if weights do not depend on idf.
    pub fn idf(&self) -> Option<(&IdfTable, IdfPower)> {
        self.idf.as_ref().map(|(table, power)| (table, *power))
    }

    /// The stop words: features that do not vote.
    pub fn stop_words(&self) -> &StopWords {
        &self.stop_words
    }

    fn stop_words_checksum(&self) -> u64 {
        checksum(self.stop_words.words().join("\n").as_bytes())
    }
}

#[cfg(test)]
mod tests;
