//! Kinds of features: words, word shingles, and character shingles.

use std::fmt;

mod cutter;

pub(crate) use cutter::{FeatureCutter, FeatureSpans, WindowRuns};

/// The maximum length of a shingle, in words or characters.
pub const MAX_SHINGLE: u8 = 32;

/// A text with fewer distinct features than this is a short text: its fingerprint has too few votes to be reliable. The
/// candidates of short texts come from the exact join of shingle sets instead (docs/quality.md has the measurement).
pub const MIN_FEATURES: u32 = 50;

/// The kind of features a profile takes from a canonical text.
///
/// A shingle of words is the part of the canonical text from its first word to its last. If a text has fewer words or
/// characters than a shingle, the whole text is its only feature. A text without words has no features.
///
/// The names of the kinds are `words`, `wordsN`, `charsN` and `wordpairs`; `Display` writes them and a profile's id
/// contains them.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::{Analyzer, Features, Profile, Weight};
///
/// let profile = Profile::new(Features::WordShingles(2), Weight::Set, 64)?;
/// assert_eq!(profile.id(), "tp1-words2-set-64");
/// let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
/// let features: Vec<String> = analyzer.explain("To be, or not to be").into_iter().map(|f| f.text).collect();
/// assert_eq!(features, ["be or", "not to", "or not", "to be"]);
/// # Ok::<(), twinprint_text::ProfileError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// Words. Runs of ideographs are cut by a dictionary; runs of other scripts without spaces are cut into overlapping
    /// pairs of characters.
    #[default]
    Words,
    /// Every n consecutive words (1 to [`MAX_SHINGLE`]; 0 counts as 1).
    WordShingles(u8),
    /// Every n consecutive characters of the canonical text. Spaces count as characters, unless the text is measured by
    /// characters ([`Measure::CharGrams`](crate::Measure::CharGrams)): then the spaces are removed first.
    CharShingles(u8),
    /// Words, and every two consecutive words.
    WordsAndBigrams,
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words => f.write_str("words"),
            Self::WordShingles(n) => write!(f, "words{n}"),
            Self::CharShingles(n) => write!(f, "chars{n}"),
            Self::WordsAndBigrams => f.write_str("wordpairs"),
        }
    }
}

impl Features {
    /// Parses a name that `Display` writes.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let count = |digits: &str| {
            let plain = !digits.starts_with(['0', '+']);
            digits
                .parse::<u8>()
                .ok()
                .filter(|n| plain && (1..=MAX_SHINGLE).contains(n))
        };
        match name {
            "words" => Some(Self::Words),
            "wordpairs" => Some(Self::WordsAndBigrams),
            _ => match (name.strip_prefix("words"), name.strip_prefix("chars")) {
                (Some(n), _) => count(n).map(Self::WordShingles),
                (_, Some(n)) => count(n).map(Self::CharShingles),
                (None, None) => None,
            },
        }
    }

    pub(crate) fn is_valid(self) -> bool {
        match self {
            Self::Words | Self::WordsAndBigrams => true,
            Self::WordShingles(n) | Self::CharShingles(n) => (1..=MAX_SHINGLE).contains(&n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for features in [
            Features::Words,
            Features::WordShingles(3),
            Features::CharShingles(32),
            Features::WordsAndBigrams,
        ] {
            assert_eq!(Features::from_name(&features.to_string()), Some(features));
        }
        for name in [
            "",
            "word",
            "words0",
            "words33",
            "chars",
            "chars03",
            "chars+3",
            "wordpairs2",
        ] {
            assert_eq!(Features::from_name(name), None);
        }
    }
}
