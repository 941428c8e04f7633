//! Fingerprints of other libraries, reproduced bit for bit, so that stores of their fingerprints can be queried.
//!
//! Each [`Recipe`] reproduces one library: its features, its hash, its rule for setting a bit, and its weaknesses. Most
//! libraries hash without a key, and some ignore the end of a text. Fingerprints are comparable only with fingerprints
//! of the same recipe. For new stores use a [`Profile`](crate::Profile) instead.
//!
//! ```
//! use twinprint_text::compat::{Recipe, RecipeFingerprinter};
//!
//! let recipe = Recipe::parse("mfonda")?;
//! let mut fingerprinter = RecipeFingerprinter::new(recipe, None)?;
//! let found = fingerprinter.fingerprint("this is a test phrase")?;
//! assert_eq!((found.bits.count_ones() > 0, found.features), (true, 5));
//! # Ok::<(), twinprint_text::compat::RecipeError>(())
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use crate::feature_votes::{FeatureVotes, VotingFeature, WeightedFeature};
use crate::hash_number::parse_hash_number;

mod cppjieba;
mod features;
mod hash;
mod vote;

pub use cppjieba::{Dictionaries, DictionaryError, Keyword};

use cppjieba::Extractor;
use hash::{fnv1_32, fnv1_64, jenkins, murmur_of_java};
use md5::{Digest, Md5};
use std::hash::Hasher as _;
use vote::BitSums;

/// The rules by which one library makes the fingerprint of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recipe {
    /// `yanyiwu/simhash`, `gosimhash` and R's `jiebaR`: cppjieba's keywords with their weights, hashed by Jenkins'
    /// lookup3.
    Cppjieba(Keywords),
    /// `HaoyuHu/gosimhash`: the same keywords, hashed by SipHash-2-4 under its default key.
    HaoyuhuGosimhash(Keywords),
    /// `mfonda/simhash` in Go: words and web addresses, hashed by FNV-1. Unlike in other libraries, a bit is 1 also if
    /// its sum is 0.
    Mfonda,
    /// `AllenDang/simhash` in Go: windows of 4 bytes, except the last window, hashed by CRC-32; 32 bits.
    Allendang,
    /// `safeie/simhash` in Go: windows of 4 characters, except the last window, hashed by FNV-1; 32 bits.
    Safeie,
    /// The crate `simhash` 0.2 and 0.3: words separated by white space, hashed by SipHash-2-4 with key 0.
    RustSimhash,
    /// `1e0ng/simhash`, on PyPI as `simhash`: windows of 4 letters, numbers or underscores, hashed by MD5.
    Leon,
    /// `seomoz/simhash-cpp` and `simhash-py`, which take hashes instead of text. The text is a list of hashes,
    /// separated by white space: decimal numbers, or digits after `0x` or `0b`.
    Seomoz,
    /// `sing1ee/simhash-java`: pairs of UTF-16 units, hashed by MurmurHash64A. Unlike in other libraries, a bit is 1
    /// only if its sum is above 1.
    SimhashJava,
}

/// The maximum number of keywords that a text's fingerprint is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keywords {
    /// One keyword for each 120 bytes of the text, but at least 5 and at most 200.
    ByLength,
    /// This number of keywords.
    Top(u32),
}

/// The reason why a recipe or a fingerprint cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No recipe has this name.
    #[error("unknown recipe; the recipes are {}, cppjieba-topN and haoyuhu-gosimhash-topN", NAMES.map(|(name, _)| name).join(", "))]
    Name,
    /// The recipe needs cppjieba's dictionaries, and none were given.
    #[error("the recipe {0} needs cppjieba's dictionaries, but none are given")]
    Dictionary(String),
    /// The recipe takes hashes instead of text, and a word of the text is not a hash.
    #[error("not a 64-bit hash: {0:?} (expected decimal numbers, or hexadecimal ones that begin with 0x)")]
    Hash(String),
}

const NAMES: [(&str, Recipe); 9] = [
    ("cppjieba", Recipe::Cppjieba(Keywords::ByLength)),
    ("haoyuhu-gosimhash", Recipe::HaoyuhuGosimhash(Keywords::ByLength)),
    ("mfonda", Recipe::Mfonda),
    ("allendang", Recipe::Allendang),
    ("safeie", Recipe::Safeie),
    ("rust-simhash", Recipe::RustSimhash),
    ("1e0ng", Recipe::Leon),
    ("seomoz", Recipe::Seomoz),
    ("simhash-java", Recipe::SimhashJava),
];

/// The default key of `HaoyuHu/gosimhash`.
const GOSIMHASH_KEY: &[u8; 16] = b"8b6555d0c9cff7a9";

/// Length of a window, in characters or in bytes.
const WINDOW: usize = 4;

impl Recipe {
    /// Finds a recipe by its name, one of the [`names`](Self::names). A suffix may limit the keywords, as in
    /// `cppjieba-top20`.
    ///
    /// # Errors
    /// [`RecipeError::Name`] if no recipe has this name.
    pub fn parse(name: &str) -> Result<Self, RecipeError> {
        if let Some((base, top)) = name.rsplit_once("-top") {
            // Numbers with leading zeros or a sign are refused, so that each recipe has exactly one name.
            let top: u32 = top
                .parse()
                .ok()
                .filter(|n: &u32| n.to_string() == top)
                .ok_or(RecipeError::Name)?;
            return match base {
                "cppjieba" => Ok(Self::Cppjieba(Keywords::Top(top))),
                "haoyuhu-gosimhash" => Ok(Self::HaoyuhuGosimhash(Keywords::Top(top))),
                _ => Err(RecipeError::Name),
            };
        }
        let mut named = NAMES.into_iter().filter(|&(known, _)| known == name);
        named.next().map(|(_, recipe)| recipe).ok_or(RecipeError::Name)
    }

    /// The names of all recipes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().map(|(name, _)| name)
    }

    /// The name of the recipe, which [`parse`](Self::parse) accepts.
    pub fn name(self) -> String {
        let (kind, top) = match self {
            Self::Cppjieba(Keywords::Top(top)) => (Self::Cppjieba(Keywords::ByLength), Some(top)),
            Self::HaoyuhuGosimhash(Keywords::Top(top)) => {
                (Self::HaoyuhuGosimhash(Keywords::ByLength), Some(top))
            }
            other => (other, None),
        };
        let named = NAMES.into_iter().find(|&(_, recipe)| recipe == kind);
        let name = named.map_or("", |(name, _)| name);
        top.map_or_else(|| name.to_owned(), |top| format!("{name}-top{top}"))
    }

    /// Makes a fingerprint of features and their weights. `None` unless the library itself accepts weighted features,
    /// as cppjieba and 1e0ng do.
    pub fn fingerprint_weighted<'a>(self, features: impl IntoIterator<Item = (&'a str, f64)>) -> Option<u64> {
        if !self.accepts_features() {
            return None;
        }
        let mut sums = BitSums::new();
        for (feature, weight) in features {
            sums.add(self.hash_feature(feature.as_bytes()), weight);
        }
        Some(self.decide(&sums))
    }

    /// Returns `true` if the library itself makes fingerprints of features with weights.
    pub fn accepts_features(self) -> bool {
        matches!(self, Self::Cppjieba(_) | Self::HaoyuhuGosimhash(_) | Self::Leon)
    }

    /// The votes of features that are hashed already.
    pub(crate) fn votes(self, features: Vec<VotingFeature>) -> FeatureVotes {
        let mut sums = BitSums::new();
        for voting in &features {
            sums.add(voting.hash as u64, voting.feature.weight);
        }
        FeatureVotes {
            features,
            sums: sums.sums(self.bits()),
            fingerprint: u128::from(self.decide(&sums)),
        }
    }

    /// The fingerprint that the sums of the votes make.
    fn decide(self, sums: &BitSums) -> u64 {
        let bits = match self {
            Self::Mfonda => sums.bits(|sum| sum >= 0.0),
            Self::SimhashJava => sums.bits(|sum| sum > 1.0),
            _ => sums.bits(|sum| sum > 0.0),
        };
        bits & u64::MAX >> (64 - self.bits())
    }

    /// The library's hash of a feature. The features of seomoz are hashes already; the hash of anything else is 0.
    pub(crate) fn hash_feature(self, feature: &[u8]) -> u64 {
        match self {
            Self::Cppjieba(_) => jenkins(feature),
            Self::HaoyuhuGosimhash(_) => sip_of_gosimhash(feature),
            Self::Mfonda => fnv1_64(feature.iter().copied()),
            Self::Allendang => crc32fast::hash(feature).into(),
            Self::Safeie => fnv1_32(feature.iter().copied()).into(),
            Self::RustSimhash => sip_of_rust(feature),
            Self::Leon => md5_tail(feature),
            Self::Seomoz => str::from_utf8(feature).ok().and_then(parse_hash).unwrap_or(0),
            Self::SimhashJava => murmur_of_java(feature),
        }
    }

    /// Width of the fingerprints in bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::Allendang | Self::Safeie => 32,
            _ => 64,
        }
    }

    /// A checksum of everything that decides a fingerprint, except the dictionaries. It changes if a rule of the recipe
    /// changes.
    pub fn checksum(self) -> u64 {
        let parts = format!("recipe: {}\nrules: 1\nbits: {}\n", self.name(), self.bits());
        crate::checksum::checksum(parts.as_bytes())
    }

    /// Returns `true` if the recipe needs cppjieba's dictionaries to make fingerprints.
    pub fn needs_dictionaries(self) -> bool {
        matches!(self, Self::Cppjieba(_) | Self::HaoyuhuGosimhash(_))
    }
}

/// A fingerprint made by a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecipeFingerprint {
    /// The fingerprint, in the low bits. [`Recipe::bits`] is its width.
    pub bits: u64,
    /// Number of features of the text. A feature that occurs twice counts twice.
    pub features: u32,
}

/// Makes fingerprints by one recipe. Reuses its buffers; use one for each thread.
#[derive(Debug)]
pub struct RecipeFingerprinter {
    recipe: Recipe,
    dictionaries: Option<Arc<Dictionaries>>,
    extractor: Extractor,
}

impl RecipeFingerprinter {
    /// Creates a fingerprinter for a recipe.
    ///
    /// # Errors
    /// [`RecipeError::Dictionary`] if the recipe needs dictionaries and `dictionaries` is `None`.
    pub fn new(recipe: Recipe, dictionaries: Option<Arc<Dictionaries>>) -> Result<Self, RecipeError> {
        if recipe.needs_dictionaries() && dictionaries.is_none() {
            return Err(RecipeError::Dictionary(recipe.name()));
        }
        let extractor = Extractor::default();
        Ok(Self {
            recipe,
            dictionaries,
            extractor,
        })
    }

    /// Computes the fingerprint of a text. Linear.
    ///
    /// # Errors
    /// [`RecipeError::Hash`] if the recipe takes hashes instead of text and a word of the text is not a hash.
    pub fn fingerprint(&mut self, text: &str) -> Result<RecipeFingerprint, RecipeError> {
        let recipe = self.recipe;
        let (mut sums, mut features) = (BitSums::new(), 0);
        self.each_feature(text, &mut |feature, weight| {
            sums.add(recipe.hash_feature(feature), weight);
            features += 1;
        })?;
        Ok(RecipeFingerprint {
            bits: recipe.decide(&sums),
            features,
        })
    }

    /// Lists the features of a text with their votes, in the order of their first occurrences. Bytes of a feature that
    /// are not UTF-8 are shown as replacement characters. Linear.
    ///
    /// # Errors
    /// As for [`fingerprint`](Self::fingerprint).
    pub fn votes(&mut self, text: &str) -> Result<FeatureVotes, RecipeError> {
        let recipe = self.recipe;
        let mut positions: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut listed: Vec<VotingFeature> = Vec::new();
        self.each_feature(text, &mut |feature, weight| {
            let position = *positions.entry(feature.to_vec()).or_insert(listed.len());
            if let Some(voting) = listed.get_mut(position) {
                voting.feature.weight += weight;
                return;
            }
            listed.push(VotingFeature {
                feature: WeightedFeature {
                    name: String::from_utf8_lossy(feature).into_owned(),
                    weight,
                },
                hash: recipe.hash_feature(feature).into(),
            });
        })?;
        Ok(recipe.votes(listed))
    }

    /// Calls `each` for every feature of a text, with its weight. A feature that occurs twice comes twice.
    fn each_feature(&mut self, text: &str, each: &mut dyn FnMut(&[u8], f64)) -> Result<(), RecipeError> {
        let mut one = |feature: &[u8]| each(feature, 1.0);
        match self.recipe {
            Recipe::Cppjieba(limit) | Recipe::HaoyuhuGosimhash(limit) => {
                for keyword in self.keywords(text, limit) {
                    each(keyword.word.as_bytes(), keyword.weight);
                }
            }
            Recipe::Mfonda => {
                let lower = features::lower_one_by_one(text);
                features::words_and_addresses(&lower).for_each(|word| one(word.as_bytes()));
            }
            Recipe::Allendang => features::byte_windows_but_the_last(text, WINDOW).for_each(one),
            Recipe::Safeie => {
                features::char_windows(text, WINDOW, true).for_each(|window| one(window.as_bytes()));
            }
            Recipe::RustSimhash => text.split_whitespace().for_each(|word| one(word.as_bytes())),
            Recipe::Leon => {
                let joined = features::word_characters(text);
                let short = joined
                    .chars()
                    .nth(WINDOW - 1)
                    .is_none()
                    .then_some(joined.as_str());
                let windows = features::char_windows(&joined, WINDOW, false).chain(short);
                windows.for_each(|window| one(window.as_bytes()));
            }
            Recipe::Seomoz => {
                for word in text.split_whitespace() {
                    if parse_hash(word).is_none() {
                        return Err(RecipeError::Hash(word.chars().take(40).collect()));
                    }
                    one(word.as_bytes());
                }
            }
            Recipe::SimhashJava => features::utf16_pairs(text).for_each(|pair| one(pair.as_bytes())),
        }
        Ok(())
    }

    /// The keywords of a text, the heaviest first. Empty if the fingerprinter was created without dictionaries.
    pub fn keywords<'a>(&mut self, text: &'a str, limit: Keywords) -> Vec<Keyword<'a>> {
        let limit = match limit {
            Keywords::ByLength => (text.len() / 120).clamp(5, 200),
            Keywords::Top(limit) => limit as usize,
        };
        let dictionaries = self.dictionaries.as_deref();
        dictionaries.map_or_else(Vec::new, |dictionaries| {
            self.extractor.keywords(dictionaries, text, limit)
        })
    }
}

/// Parses a hash of 64 bits.
fn parse_hash(written: &str) -> Option<u64> {
    parse_hash_number(written).and_then(|number| u64::try_from(number).ok())
}

fn sip_of_gosimhash(bytes: &[u8]) -> u64 {
    SipHasher24::new_with_key(GOSIMHASH_KEY).hash(bytes)
}

/// The hash that Rust's standard library gives a string: SipHash of its bytes followed by the byte 0xFF.
fn sip_of_rust(word: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new();
    hasher.write(word);
    hasher.write_u8(0xFF);
    hasher.finish()
}

/// The last eight bytes of the MD5 digest as a big-endian number.
fn md5_tail(bytes: &[u8]) -> u64 {
    let digest = Md5::digest(bytes);
    digest
        .iter()
        .skip(8)
        .fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
