//! Stop words: features that a profile ignores.

use crate::canonical::canonical;

/// A sorted list of distinct words in canonical form.
///
/// A feature is ignored if its text is in the list, whatever kind of feature it is. A shingle of several words is
/// ignored only if it is in the list as a whole. The checksum of a profile covers the list.
///
/// ```
/// use twinprint_text::StopWords;
///
/// let list = StopWords::new(["The", "a", "of"]);
/// assert_eq!(list.words(), ["a", "of", "the"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopWords(Vec<String>);

impl StopWords {
    /// Makes a list from the canonical texts of the given words. If a canonical text has several words ("don't"), each
    /// of them is a stop word.
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut list: Vec<String> = words
            .into_iter()
            .flat_map(|word| canonical(word).split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|word| !word.is_empty())
            .collect();
        list.sort_unstable();
        list.dedup();
        Self(list)
    }

    /// The words, sorted by their bytes.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Returns `true` if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_canonical_sorted_and_distinct() {
        let list = StopWords::new(["The", "don't", " the ", "的", "…"]);
        assert_eq!(list.words(), ["don", "t", "the", "的"]);
        assert!(StopWords::new(["", "!"]).is_empty());
    }
}
