//! Stop words: features that a profile leaves out.

use crate::canonical::canonical;

/// A sorted list of distinct words in canonical form.
///
/// A feature whose text is in the list is dropped, for any kind of features. A shingle that contains a stop word among
/// others stays. The list is part of a profile's checksum.
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
    /// The list of the given words, each made canonical. A word that becomes several words there ("don't")
    /// counts as each of them.
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
