//! Keywords of texts: the words with the highest TF-IDF.

use twinprint_fingerprint::HashKey;

use crate::analyzer::Analyzer;
use crate::feature_votes::WeightedFeature;
use crate::features::Features;
use crate::idf::IdfTable;
use crate::profile::Profile;

/// The value of an idf table that stands for an idf of 1: values count sixteenths.
const IDF_UNITS: f64 = 16.0;

/// The reason why a profile gives no keywords.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeywordsError {
    /// The profile has no idf table.
    #[error("keywords are weighted by idf, and the profile has no idf table")]
    Idf,
    /// The features of the profile are not words.
    #[error("keywords are words, but the features of the profile are {0}")]
    Features(Features),
}

/// Finds the keywords of texts by the idf table of a profile. Use one extractor for each thread.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::{KeywordExtractor, Profile};
///
/// let profile = Profile::parse("tp1-words-lntf.zhen1-64")?;
/// let mut extractor = KeywordExtractor::new(&profile, HashKey::PUBLIC)?;
/// let keywords = extractor.keywords("the aardvark and the cat", 2);
/// assert_eq!(keywords[0].name, "aardvark");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KeywordExtractor {
    analyzer: Analyzer,
    table: IdfTable,
}

impl KeywordExtractor {
    /// Creates an extractor for the words of a profile. `key` is the key of the feature hashes.
    ///
    /// # Errors
    /// The profile has no idf table, or its features are not words.
    pub fn new(profile: &Profile, key: HashKey) -> Result<Self, KeywordsError> {
        if profile.features() != Features::Words {
            return Err(KeywordsError::Features(profile.features()));
        }
        let (table, _) = profile.idf().ok_or(KeywordsError::Idf)?;
        Ok(Self {
            analyzer: Analyzer::new(profile, key),
            table: table.clone(),
        })
    }

    /// The `limit` words with the highest weight, the heaviest first. The weight is the number of occurrences times the
    /// idf, ln(N / df), which the table has in sixteenths. Words of equal weight are in the order of their bytes. Stop
    /// words of the profile are left out. Linear in the text, except for sorting its distinct words.
    pub fn keywords(&mut self, text: &str, limit: usize) -> Vec<WeightedFeature> {
        let features = self.analyzer.explain(text).into_iter();
        let mut words: Vec<WeightedFeature> = features
            .map(|feature| WeightedFeature {
                weight: f64::from(feature.tf) * f64::from(self.table.value(&feature.text)) / IDF_UNITS,
                name: feature.text,
            })
            .collect();
        words.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.name.cmp(&b.name)));
        words.truncate(limit);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> IdfTable {
        let words = [("a", 0.5), ("cat", 3.0), ("dog", 3.0)].map(|(word, idf)| (word.to_owned(), idf));
        IdfTable::new("pets", 9, words).unwrap()
    }

    #[test]
    fn keywords_are_sorted_by_count_times_idf() {
        let profile = Profile::default_for(64).unwrap();
        let profile = profile.with_idf(table(), crate::IdfPower::Root);
        let mut extractor = KeywordExtractor::new(&profile, HashKey::PUBLIC).unwrap();
        let mut keywords = |text: &str, limit| {
            let found = extractor.keywords(text, limit).into_iter();
            found.map(|word| (word.name, word.weight)).collect::<Vec<_>>()
        };
        let expected =
            [("a", 3.5), ("cat", 3.0), ("dog", 3.0)].map(|(word, weight)| (word.to_owned(), weight));
        assert_eq!(keywords("A cat, a dog. A a a a a", 9), expected);
        assert_eq!(keywords("A cat, a dog. A a a a a", 2), expected[..2]);
        assert_eq!(keywords("", 5), []);
    }

    #[test]
    fn a_profile_without_idf_or_words_is_refused() {
        let refusal = |id: &str| KeywordExtractor::new(&Profile::parse(id).unwrap(), HashKey::PUBLIC).err();
        assert_eq!(refusal("tp1-words-lntf-64"), Some(KeywordsError::Idf));
        assert!(matches!(
            refusal("tp1-chars4-tf.zhen1-64"),
            Some(KeywordsError::Features(_))
        ));
    }
}
