//! The terms of a stream: their numbers, in how many items they occurred, and their rows of random hyperplanes.
//!
//! Counts are taken as items come, and are never taken back. Memory is bounded: when there are more terms than there is room for, the
//! rarest that no live story needs are forgotten, as in lossy counting (Manku and Motwani 2002); a term that comes back begins anew.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, hyperplane};

use super::exact::ln;

/// Rows of a term.
pub(super) const ROWS: usize = 4;

/// What a word is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WordRole {
    /// It tells what a text is about.
    Term,
    /// It may be part of a name, but says nothing by itself: a single ideograph, a number.
    Part,
    /// It says nothing and ends a name.
    Stop,
}

/// A term known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct VocabularyEntry {
    pub(super) text: Box<str>,
    pub(super) role: WordRole,
    /// Items in which it occurred.
    pub(super) items: u32,
    /// Occurrences.
    pub(super) occurrences: u64,
    /// Its rows, each of 128 hyperplanes.
    #[serde(skip)]
    rows: [u128; ROWS],
}

/// All terms known. Numbers of forgotten terms are given again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Vocabulary {
    /// Under a random key, so that nobody can prepare words that crowd one place; its order is never used.
    #[serde(skip)]
    numbers: HashMap<Box<str>, u32>,
    pub(super) known: Vec<Option<VocabularyEntry>>,
    pub(super) free: Vec<u32>,
    pub(super) most: usize,
    /// Terms from which on some are forgotten: more than `most` where live stories need nearly as many.
    pub(super) crowded: usize,
    /// Items counted.
    pub(super) items: u64,
    /// Occurrences of terms in all of them.
    pub(super) occurrences: u64,
}

/// The keys of the rows. Whoever prepares texts that meet in a fingerprint still has to pass the cosine.
fn rows(text: &str) -> [u128; ROWS] {
    [[1, 2], [3, 4], [5, 6], [7, 8]].map(|[a, b]| {
        let dimension = twinprint_fingerprint::hash_one(&HashKey::new(a, b), text.as_bytes());
        hyperplane::row(&HashKey::new(a, b), dimension as u64)
    })
}

impl VocabularyEntry {
    /// A term with what was counted of it; its rows come with [`Vocabulary::rebuild`].
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
    /// No terms; room for `most`.
    pub fn new(most: usize) -> Self {
        Self {
            numbers: HashMap::new(),
            known: Vec::new(),
            free: Vec::new(),
            most,
            crowded: most,
            items: 0,
            occurrences: 0,
        }
    }

    /// Makes what is not stored anew, after reading a stored state.
    pub(super) fn rebuild(&mut self) {
        for (number, known) in (0..).zip(&mut self.known) {
            if let Some(known) = known {
                known.rows = rows(&known.text);
                self.numbers.insert(known.text.clone(), number);
            }
        }
    }

    /// Terms known.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no term is known.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The number of a word, which is known from now on.
    pub(super) fn number(&mut self, text: &str, role: WordRole) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let known = VocabularyEntry {
            rows: rows(text),
            ..VocabularyEntry::new(text, role, 0, 0)
        };
        let number = if let Some(number) = self.free.pop() {
            if let Some(place) = self.known.get_mut(number as usize) {
                *place = Some(known);
            }
            number
        } else {
            self.known.push(Some(known));
            (self.known.len() - 1) as u32
        };
        self.numbers.insert(text.into(), number);
        number
    }

    /// Counts an item by its distinct words and how often it has each.
    pub(super) fn count(&mut self, words: &[(u32, u32)]) {
        self.items += 1;
        for &(word, occurrences) in words {
            if let Some(Some(known)) = self.known.get_mut(word as usize) {
                known.items = known.items.saturating_add(1);
                known.occurrences += u64::from(occurrences);
                if known.role == WordRole::Term {
                    self.occurrences += u64::from(occurrences);
                }
            }
        }
    }

    fn get(&self, word: u32) -> Option<&VocabularyEntry> {
        self.known.get(word as usize).and_then(Option::as_ref)
    }

    /// The word of a number; empty for one that is unknown.
    pub(super) fn text(&self, word: u32) -> &str {
        self.get(word).map_or("", |known| &known.text)
    }

    /// What a word is good for.
    pub(super) fn role(&self, word: u32) -> WordRole {
        self.get(word).map_or(WordRole::Stop, |known| known.role)
    }

    /// The rows of a word.
    pub(super) fn rows(&self, word: u32) -> [u128; ROWS] {
        self.get(word).map_or([0; ROWS], |known| known.rows)
    }

    /// Items in which a word occurred.
    pub(super) fn items_with(&self, word: u32) -> u64 {
        self.get(word).map_or(0, |known| u64::from(known.items))
    }

    /// How often a word occurred.
    pub(super) fn occurrences_of(&self, word: u32) -> u64 {
        self.get(word).map_or(0, |known| known.occurrences)
    }

    /// Items counted.
    pub(super) fn items(&self) -> u64 {
        self.items
    }

    /// Occurrences of all terms.
    pub(super) fn occurrences(&self) -> u64 {
        self.occurrences
    }

    /// What a term weighs by its rarity: ln((n + 1) / (items with it + ½)), 0 or more.
    pub(super) fn rarity(&self, word: u32) -> f64 {
        let with = self.items_with(word) as f64 + 0.5;
        ln((self.items as f64 + 1.0) / with).max(0.0)
    }

    /// Whether there are more terms than there is room for.
    pub(super) fn is_crowded(&self) -> bool {
        self.numbers.len() > self.crowded
    }

    /// Forgets the rarest terms but for those `needed`, until half the room is left: those of one item, then of two, of up to four, and so
    /// on. What is needed may be more than that; then nothing is forgotten again before there are twice as many. O(terms + needed).
    pub(super) fn forget(&mut self, needed: impl Iterator<Item = u32>) {
        let mut stays = vec![false; self.known.len()];
        for word in needed {
            if let Some(stays) = stays.get_mut(word as usize) {
                *stays = true;
            }
        }
        let rank = |known: &VocabularyEntry| {
            u64::from(known.items).max(1).next_power_of_two().trailing_zeros() as usize
        };
        let mut of_rank = [0; 33];
        for (known, stays) in self.known.iter().zip(&stays) {
            if let (Some(known), false) = (known, stays) {
                of_rank[rank(known)] += 1;
            }
        }
        let (mut left, mut ranks) = (self.numbers.len(), 0);
        while left > self.most / 2 && ranks < of_rank.len() {
            left -= of_rank[ranks];
            ranks += 1;
        }
        for ((place, stays), number) in self.known.iter_mut().zip(&stays).zip(0..) {
            if !stays && let Some(known) = place.take_if(|known| rank(known) < ranks) {
                self.numbers.remove(&known.text);
                self.free.push(number);
            }
        }
        self.crowded = self.most.max(2 * self.numbers.len());
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
        fn what_is_forgotten_is_the_rarest_that_nobody_needs(
            items in prop::collection::vec(0u32..40, 0..40),
            needed in prop::collection::vec(0u32..45, 0..20),
            most in 0usize..60,
        ) {
            let mut vocabulary = Vocabulary::new(most);
            for (word, &items) in (0..).zip(&items) {
                vocabulary.number(&format!("{word}"), WordRole::Term);
                if let Some(Some(known)) = vocabulary.known.get_mut(word) {
                    known.items = items;
                }
            }
            // The definition: round by round, until half the room is left or nothing can go.
            let mut expected: Vec<u32> = (0..items.len() as u32).collect();
            let mut rarest = 1;
            while expected.len() > most / 2 && rarest < 100 {
                expected.retain(|word| needed.contains(word) || items[*word as usize] > rarest);
                rarest *= 2;
            }
            vocabulary.forget(needed.iter().copied());
            let left = (0..items.len() as u32).filter(|&word| !vocabulary.text(word).is_empty());
            prop_assert_eq!(left.collect::<Vec<u32>>(), expected);
            prop_assert_eq!(vocabulary.free.len() + vocabulary.len(), items.len());
        }
    }

    #[test]
    fn the_rarest_are_forgotten_and_numbers_given_again() {
        let mut vocabulary = Vocabulary::new(4);
        let words = ["a", "b", "c", "d", "e"].map(|word| vocabulary.number(word, WordRole::Term));
        let once = words.map(|word| (word, 1));
        vocabulary.count(&once);
        vocabulary.count(&once[..2]);
        assert!(vocabulary.is_crowded());
        vocabulary.forget([words[2]].into_iter());
        assert_eq!(
            vocabulary.len(),
            1,
            "all but the one needed, since half of four was asked for"
        );
        assert_eq!(vocabulary.text(words[2]), "c");
        let again = vocabulary.number("f", WordRole::Term);
        assert!(words.contains(&again) && vocabulary.items_with(again) == 0);
    }
}
