//! The vocabulary of a stream: its terms with their numbers, the number of items that have each, and hyperplane rows.
//!
//! Counts never decrease. Memory is bounded: if there are too many terms, the rarest terms that no live story needs are
//! evicted, as in lossy counting (Manku and Motwani 2002). If an evicted term occurs again, its count starts from 0.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, hyperplane};

use super::exact::ln;

/// Number of hyperplane rows of a term. Each row is for 128 hyperplanes.
pub(super) const ROWS: usize = 4;

/// The role of a word in topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WordRole {
    /// The word can characterise a story by itself.
    Term,
    /// The word can be part of a name, but has no meaning by itself: a single ideograph, a number.
    Part,
    /// A stop word: it has no meaning for topics, and a name cannot extend across it.
    Stop,
}

/// A term of the vocabulary.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct VocabularyEntry {
    pub(super) text: Box<str>,
    pub(super) role: WordRole,
    /// Number of items that have the term.
    pub(super) items: u32,
    /// Number of occurrences of the term in all items.
    pub(super) occurrences: u64,
    /// The term's coordinates in the random hyperplanes, 128 hyperplanes in each row.
    #[serde(skip)]
    rows: [u128; ROWS],
}

/// The terms of a stream with their counts. The numbers of evicted terms are reused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Vocabulary {
    /// The number of each term. The map hashes with a random key, so that nobody can prepare words that collide. The
    /// order of the map is never used.
    #[serde(skip)]
    numbers: HashMap<Box<str>, u32>,
    /// The entries by term number; `None` for a free number.
    #[serde(rename = "known")]
    pub(super) entries: Vec<Option<VocabularyEntry>>,
    /// The numbers of evicted terms, which new terms reuse.
    pub(super) free: Vec<u32>,
    #[serde(rename = "most")]
    pub(super) max_terms: usize,
    /// Terms are evicted when there are more than this number. It is larger than `max_terms` if live stories need
    /// nearly that many terms.
    #[serde(rename = "crowded")]
    pub(super) evict_above: usize,
    /// Number of items counted so far.
    pub(super) items: u64,
    /// Number of occurrences of terms in all items counted so far.
    pub(super) occurrences: u64,
}

/// Computes the hyperplane rows of a term. Their keys are public. That is safe: even if texts are prepared to have the
/// same fingerprint, the cosine still decides.
fn rows(text: &str) -> [u128; ROWS] {
    [[1, 2], [3, 4], [5, 6], [7, 8]].map(|[a, b]| {
        let dimension = twinprint_fingerprint::hash_one(&HashKey::new(a, b), text.as_bytes());
        hyperplane::row(&HashKey::new(a, b), dimension as u64)
    })
}

impl VocabularyEntry {
    /// Creates an entry from its counts. [`Vocabulary::rebuild`] computes its hyperplane rows later.
    pub(super) fn new(text: &str, role: WordRole, items: u32, occurrences: u64) -> Self {
        Self {
            text: text.into(),
            role,
            items,
            occurrences,
            rows: [0; ROWS],
        }
    }
}

impl Vocabulary {
    /// Creates an empty vocabulary for `max_terms` terms.
    pub fn new(max_terms: usize) -> Self {
        Self {
            numbers: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            max_terms,
            evict_above: max_terms,
            items: 0,
            occurrences: 0,
        }
    }

    /// Computes everything that is not serialized: the map of term numbers and the hyperplane rows.
    pub(super) fn rebuild(&mut self) {
        for (number, known) in (0..).zip(&mut self.entries) {
            if let Some(known) = known {
                known.rows = rows(&known.text);
                self.numbers.insert(known.text.clone(), number);
            }
        }
    }

    /// The number of terms in the vocabulary.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns `true` if the vocabulary has no terms.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the number of a word. Adds the word if it is not in the vocabulary.
    pub(super) fn number(&mut self, text: &str, role: WordRole) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let known = VocabularyEntry {
            rows: rows(text),
            ..VocabularyEntry::new(text, role, 0, 0)
        };
        let number = if let Some(number) = self.free.pop() {
            if let Some(place) = self.entries.get_mut(number as usize) {
                *place = Some(known);
            }
            number
        } else {
            self.entries.push(Some(known));
            (self.entries.len() - 1) as u32
        };
        self.numbers.insert(text.into(), number);
        number
    }

    /// Counts an item. `words` are the numbers of its distinct words, each with its occurrences in the item.
    pub(super) fn count(&mut self, words: &[(u32, u32)]) {
        self.items += 1;
        for &(word, occurrences) in words {
            if let Some(Some(known)) = self.entries.get_mut(word as usize) {
                known.items = known.items.saturating_add(1);
                known.occurrences += u64::from(occurrences);
                if known.role == WordRole::Term {
                    self.occurrences += u64::from(occurrences);
                }
            }
        }
    }

    fn get(&self, word: u32) -> Option<&VocabularyEntry> {
        self.entries.get(word as usize).and_then(Option::as_ref)
    }

    /// The word with the given number; empty if the number is free.
    pub(super) fn text(&self, word: u32) -> &str {
        self.get(word).map_or("", |known| &known.text)
    }

    /// The role of a word in topics.
    pub(super) fn role(&self, word: u32) -> WordRole {
        self.get(word).map_or(WordRole::Stop, |known| known.role)
    }

    /// The hyperplane rows of a word.
    pub(super) fn rows(&self, word: u32) -> [u128; ROWS] {
        self.get(word).map_or([0; ROWS], |known| known.rows)
    }

    /// Number of items in which a word occurred.
    pub(super) fn items_with(&self, word: u32) -> u64 {
        self.get(word).map_or(0, |known| u64::from(known.items))
    }

    /// Number of occurrences of a word in all items.
    pub(super) fn occurrences_of(&self, word: u32) -> u64 {
        self.get(word).map_or(0, |known| known.occurrences)
    }

    /// Number of items counted so far.
    pub(super) fn items(&self) -> u64 {
        self.items
    }

    /// Number of occurrences of all terms in all items counted so far.
    pub(super) fn occurrences(&self) -> u64 {
        self.occurrences
    }

    /// The rarity of a term, by which its frequency is weighted: ln((n + 1) / (df + ½)), at least 0. n is the number of
    /// items, df the number of items that have the term.
    pub(super) fn rarity(&self, word: u32) -> f64 {
        let with = self.items_with(word) as f64 + 0.5;
        ln((self.items as f64 + 1.0) / with).max(0.0)
    }

    /// Returns `true` if the vocabulary has so many terms that some must be evicted.
    pub(super) fn is_crowded(&self) -> bool {
        self.numbers.len() > self.evict_above
    }

    /// Evicts the rarest terms that are not `needed`, until at most half of `max_terms` are left: first the terms of
    /// one item, then those of two, of up to four, and so on. If the needed terms alone are more than that, the next
    /// eviction waits until the number of terms has doubled. O(terms + needed).
    pub(super) fn evict(&mut self, needed: impl Iterator<Item = u32>) {
        let mut stays = vec![false; self.entries.len()];
        for word in needed {
            if let Some(stays) = stays.get_mut(word as usize) {
                *stays = true;
            }
        }
        let rank = |known: &VocabularyEntry| {
            u64::from(known.items).max(1).next_power_of_two().trailing_zeros() as usize
        };
        let mut rank_sizes = [0; 33];
        for (known, stays) in self.entries.iter().zip(&stays) {
            if let (Some(known), false) = (known, stays) {
                rank_sizes[rank(known)] += 1;
            }
        }
        let (mut left, mut ranks) = (self.numbers.len(), 0);
        while left > self.max_terms / 2 && ranks < rank_sizes.len() {
            left -= rank_sizes[ranks];
            ranks += 1;
        }
        for ((place, stays), number) in self.entries.iter_mut().zip(&stays).zip(0..) {
            if !stays && let Some(known) = place.take_if(|known| rank(known) < ranks) {
                self.numbers.remove(&known.text);
                self.free.push(number);
            }
        }
        self.evict_above = self.max_terms.max(2 * self.numbers.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_counted_by_item_and_by_occurrence() {
        let mut vocabulary = Vocabulary::new(10);
        let [a, b] = ["a", "b"].map(|word| vocabulary.number(word, WordRole::Term));
        vocabulary.count(&[(a, 2), (b, 1)]);
        vocabulary.count(&[(a, 1)]);
        assert_eq!([vocabulary.items_with(a), vocabulary.items_with(b)], [2, 1]);
        assert_eq!(vocabulary.occurrences_of(a), 3);
        assert_eq!((vocabulary.items(), vocabulary.occurrences()), (2, 4));
        assert!(vocabulary.rarity(b) > vocabulary.rarity(a));
        assert_eq!(vocabulary.number("a", WordRole::Term), a);
    }

    proptest! {
        #[test]
        fn the_rarest_terms_that_are_not_needed_are_evicted(
            items in prop::collection::vec(0u32..40, 0..40),
            needed in prop::collection::vec(0u32..45, 0..20),
            most in 0usize..60,
        ) {
            let mut vocabulary = Vocabulary::new(most);
            for (word, &items) in (0..).zip(&items) {
                vocabulary.number(&format!("{word}"), WordRole::Term);
                if let Some(Some(known)) = vocabulary.entries.get_mut(word) {
                    known.items = items;
                }
            }
            // The expected result by the definition: words are evicted in rounds, until at most half the capacity is used or no further
            // word can be evicted.
            let mut expected: Vec<u32> = (0..items.len() as u32).collect();
            let mut rarest = 1;
            while expected.len() > most / 2 && rarest < 100 {
                expected.retain(|word| needed.contains(word) || items[*word as usize] > rarest);
                rarest *= 2;
            }
            vocabulary.evict(needed.iter().copied());
            let remaining = (0..items.len() as u32).filter(|&word| !vocabulary.text(word).is_empty());
            prop_assert_eq!(remaining.collect::<Vec<u32>>(), expected);
            prop_assert_eq!(vocabulary.free.len() + vocabulary.len(), items.len());
        }
    }

    #[test]
    fn evicted_numbers_are_reused() {
        let mut vocabulary = Vocabulary::new(4);
        let words = ["a", "b", "c", "d", "e"].map(|word| vocabulary.number(word, WordRole::Term));
        let once = words.map(|word| (word, 1));
        vocabulary.count(&once);
        vocabulary.count(&once[..2]);
        assert!(vocabulary.is_crowded());
        vocabulary.evict([words[2]].into_iter());
        assert_eq!(
            vocabulary.len(),
            1,
            "all words except the needed one are evicted, down to half of four"
        );
        assert_eq!(vocabulary.text(words[2]), "c");
        let again = vocabulary.number("f", WordRole::Term);
        assert!(words.contains(&again) && vocabulary.items_with(again) == 0);
    }
}
