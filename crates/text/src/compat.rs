//! Fingerprints as other libraries make them, bit for bit, so that stores made by them can be asked by ours.
//!
//! Each [`Recipe`] has its own features, hash and rule for a bit. They are what they are: most hash without a key and some drop the end of a text,
//! so for new stores [`Profile`](crate::Profile) is the better choice. Fingerprints of a recipe are comparable with those of the same
//! recipe alone.

use std::sync::Arc;

use siphasher::sip::SipHasher24;

mod cppjieba;
mod features;
mod hash;
mod vote;

pub use cppjieba::{Dictionaries, DictionaryError, Keyword};

use cppjieba::Extractor;
use hash::{fnv1_32, fnv1_64, jenkins, murmur_of_java};
use md5::{Digest, Md5};
use std::hash::Hasher as _;
use vote::Ballot;

/// How a library makes a fingerprint of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recipe {
    /// `yanyiwu/simhash`, `gosimhash` and R's `jiebaR`: cppjieba's keywords with their weights, hashed by Jenkins' lookup3.
    Cppjieba(Keywords),
    /// `HaoyuHu/gosimhash`: the same keywords, hashed by SipHash-2-4 under its default key.
    HaoyuhuGosimhash(Keywords),
    /// `mfonda/simhash` in Go: words and web addresses, hashed by FNV-1; a tie is a set bit.
    Mfonda,
    /// `AllenDang/simhash` in Go: windows of 4 bytes without the last one, hashed by CRC-32; 32 bits.
    Allendang,
    /// `safeie/simhash` in Go: windows of 4 characters without the last one, hashed by FNV-1; 32 bits.
    Safeie,
    /// The crate `simhash` 0.2 and 0.3: words between blanks, hashed by SipHash-2-4 with key 0.
    RustSimhash,
    /// `1e0ng/simhash`, on PyPI as `simhash`: windows of 4 letters, numbers or underscores, hashed by MD5.
    Leon,
    /// `seomoz/simhash-cpp` and `simhash-py`, which take hashes: a text is a list of them, parted by blanks, as decimal numbers or hexadecimal
    /// ones that begin with `0x`.
    Seomoz,
    /// `sing1ee/simhash-java`: pairs of UTF-16 units, hashed by MurmurHash64A; a bit is set where the sum is above 1.
    SimhashJava,
}

/// How many keywords count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keywords {
    /// One for each 120 bytes of text, but 5 at least and 200 at most.
    ByLength,
    /// So many at most.
    Top(u32),
}

/// Why there is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No recipe has this name.
    #[error("not one of {}, cppjieba-topN, haoyuhu-gosimhash-topN", NAMES.map(|(name, _)| name).join(", "))]
    Name,
    /// Keywords need cppjieba's dictionaries.
    #[error("{0} needs cppjieba's dictionaries")]
    Dictionary(String),
    /// A text that should list hashes has something else.
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

/// The key that `HaoyuHu/gosimhash` uses unless told otherwise.
const GOSIMHASH_KEY: &[u8; 16] = b"8b6555d0c9cff7a9";

/// Characters or bytes of a window.
const WINDOW: usize = 4;

impl Recipe {
    /// The recipe of a name: one of the [`names`](Self::names), where keywords may be limited, as in `cppjieba-top20`.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(name: &str) -> Result<Self, RecipeError> {
        if let Some((base, top)) = name.rsplit_once("-top") {
            // One recipe, one name: no leading zeros or signs.
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

    /// The name.
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

    /// The fingerprint of given features with weights, for the recipes whose libraries take such: cppjieba's and 1e0ng's.
    pub fn weigh<'a>(self, features: impl IntoIterator<Item = (&'a str, f64)>) -> Option<u64> {
        let hash = match self {
            Self::Cppjieba(_) => jenkins,
            Self::HaoyuhuGosimhash(_) => sip_of_gosimhash,
            Self::Leon => md5_tail,
            _ => return None,
        };
        let hashes = features
            .into_iter()
            .map(|(feature, weight)| (hash(feature.as_bytes()), weight));
        Some(Ballot::weighted(hashes).bits(|&sum| sum > 0.0))
    }

    /// Bits of a fingerprint.
    pub fn bits(self) -> u32 {
        match self {
            Self::Allendang | Self::Safeie => 32,
            _ => 64,
        }
    }

    /// A checksum over what decides a fingerprint here, dictionaries aside: it changes should the rules of a recipe ever change.
    pub fn checksum(self) -> u64 {
        let parts = format!("recipe: {}\nrules: 1\nbits: {}\n", self.name(), self.bits());
        crate::checksum::checksum(parts.as_bytes())
    }

    /// Whether fingerprints depend on cppjieba's dictionaries.
    pub fn needs_dictionaries(self) -> bool {
        matches!(self, Self::Cppjieba(_) | Self::HaoyuhuGosimhash(_))
    }
}

/// Makes fingerprints by one recipe; keeps its buffers, so one for each thread.
#[derive(Debug)]
pub struct Imitator {
    recipe: Recipe,
    dictionaries: Option<Arc<Dictionaries>>,
    extractor: Extractor,
}

impl Imitator {
    /// An imitator of a recipe.
    ///
    /// # Errors
    /// When the recipe needs dictionaries and there are none.
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

    /// The fingerprint of a text, in the low [`bits`](Recipe::bits), and the number of features that voted. Linear.
    ///
    /// # Errors
    /// When the recipe takes hashes and the text has something else.
    pub fn fingerprint(&mut self, text: &str) -> Result<(u64, u32), RecipeError> {
        let mut features = 0;
        let mut one = |hash: u64| {
            features += 1;
            hash
        };
        let fingerprint = match self.recipe {
            Recipe::Cppjieba(most) | Recipe::HaoyuhuGosimhash(most) => {
                let keywords = self.keywords(text, most);
                features = keywords.len() as u32;
                self.recipe
                    .weigh(keywords.iter().map(|it| (it.word, it.weight)))
                    .unwrap_or_default()
            }
            Recipe::Mfonda => {
                let lower = features::lower_one_by_one(text);
                let words = features::words_and_addresses(&lower);
                Ballot::equal(words.map(|word| one(fnv1_64(word.bytes())))).bits(|&sum| sum >= 0)
            }
            Recipe::Allendang => {
                let windows = features::byte_windows_but_the_last(text, WINDOW);
                Ballot::equal(windows.map(|window| one(crc32fast::hash(window).into()))).bits(|&sum| sum > 0)
            }
            Recipe::Safeie => {
                let windows = features::char_windows(text, WINDOW, true);
                Ballot::equal(windows.map(|window| one(fnv1_32(window.bytes()).into()))).bits(|&sum| sum > 0)
            }
            Recipe::RustSimhash => {
                let words = text.split_whitespace();
                Ballot::equal(words.map(|word| one(sip_of_rust(word)))).bits(|&sum| sum > 0)
            }
            Recipe::Leon => {
                let joined = features::word_characters(text);
                let short = joined
                    .chars()
                    .nth(WINDOW - 1)
                    .is_none()
                    .then_some(joined.as_str());
                let windows = features::char_windows(&joined, WINDOW, false).chain(short);
                Ballot::equal(windows.map(|window| one(md5_tail(window.as_bytes())))).bits(|&sum| sum > 0)
            }
            Recipe::Seomoz => {
                let hashes: Result<Vec<u64>, RecipeError> =
                    text.split_whitespace().map(hash_written).collect();
                Ballot::equal(hashes?.into_iter().map(one)).bits(|&sum| sum > 0)
            }
            Recipe::SimhashJava => {
                let pairs = features::utf16_pairs(text);
                Ballot::equal(pairs.map(|pair| one(murmur_of_java(pair.as_bytes())))).bits(|&sum| sum > 1)
            }
        };
        let mask = u64::MAX >> (64 - self.recipe.bits());
        Ok((fingerprint & mask, features))
    }

    /// The keywords of a text, the heaviest first; none without dictionaries.
    pub fn keywords<'a>(&mut self, text: &'a str, most: Keywords) -> Vec<Keyword<'a>> {
        let most = match most {
            Keywords::ByLength => (text.len() / 120).clamp(5, 200),
            Keywords::Top(most) => most as usize,
        };
        let dictionaries = self.dictionaries.as_deref();
        dictionaries.map_or_else(Vec::new, |them| self.extractor.keywords(them, text, most))
    }
}

/// A number as it is written.
fn hash_written(written: &str) -> Result<u64, RecipeError> {
    let number = match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => written.parse(),
    };
    number.map_err(|_| RecipeError::Hash(written.chars().take(40).collect()))
}

fn sip_of_gosimhash(bytes: &[u8]) -> u64 {
    SipHasher24::new_with_key(GOSIMHASH_KEY).hash(bytes)
}

/// A string as the standard library hashes it: its bytes and one more.
fn sip_of_rust(word: &str) -> u64 {
    let mut hasher = SipHasher24::new();
    hasher.write(word.as_bytes());
    hasher.write_u8(0xFF);
    hasher.finish()
}

/// The last eight bytes of the MD5 digest, the highest first.
fn md5_tail(bytes: &[u8]) -> u64 {
    let digest = Md5::digest(bytes);
    digest
        .iter()
        .skip(8)
        .fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
