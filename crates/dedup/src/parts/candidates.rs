//! Candidates of the search for partial copies: pairs of texts that may have the wanted containment.

use rayon::prelude::*;

use super::MIN_SHARED;
use super::covered::Covered;
use super::ids::TextId;
use super::postings::{Postings, TextEntry};
use crate::ids::{Id, IdVec, par_ids};

/// The fraction of the wanted containment that a candidate pair must reach in fingerprints: the shared fingerprints
/// over those of the smaller text. It is below 1/2 because a shared run of words has at least half of the mean number
/// of fingerprints for its length, and the remaining text may have more than the mean.
const MIN_FINGERPRINT_SHARE: f64 = 0.4;

/// Finds the candidates of one text after another.
pub(crate) struct Candidates<'p> {
    postings: &'p Postings,
    covered: &'p Covered,
    /// For each text, the number of its fingerprints that are common (many texts have them) or covered (in a passage of
    /// many texts).
    of_many: IdVec<TextId, u32>,
    /// The minimum containment of a reported pair.
    least: f64,
    /// If the texts are in two parts, the first text of the second part. A pair then has a text of each part.
    second_part: Option<TextId>,
}

impl<'p> Candidates<'p> {
    /// Prepares the search for pairs with a containment of at least `least`. Linear in the number of fingerprints.
    pub(crate) fn new(postings: &'p Postings, covered: &'p Covered, least: f64) -> Self {
        let is_of_many =
            |entry: &TextEntry| postings.is_common(entry.fingerprint) || covered.is_set(entry.position);
        let of_many = |text: TextId| postings.entries_of(text).filter(is_of_many).count() as u32;
        Self {
            postings,
            covered,
            of_many: par_ids(postings.all_texts())
                .map(of_many)
                .collect::<Vec<_>>()
                .into(),
            least,
            second_part: None,
        }
    }

    /// Finds only pairs of a text before `second_part` and a text from it on.
    pub(crate) fn across(self, second_part: TextId) -> Self {
        Self {
            second_part: Some(second_part),
            ..self
        }
    }

    /// The number of texts that may have candidates.
    pub(super) fn texts(&self) -> usize {
        self.second_part.map_or(self.postings.all_texts(), TextId::index)
    }

    /// The candidates of a text among the later texts, ascending. A candidate shares enough fingerprints with the text
    /// for the containment, and among them one that is neither common nor covered in both texts.
    pub(super) fn of(&self, text: TextId) -> Vec<TextId> {
        let mut met: Vec<TextId> = Vec::new();
        for entry in self.postings.entries_of(text) {
            if self.postings.is_common(entry.fingerprint) {
                continue;
            }
            let list = self.postings.texts(entry.fingerprint);
            let is_before =
                |other: TextId| other <= text || self.second_part.is_some_and(|first| other < first);
            let later = &list[list.partition_point(|&other| is_before(other))..];
            met.extend(
                later
                    .iter()
                    .filter(|&&other| !self.is_covered_in_both(entry, other)),
            );
        }
        met.sort_unstable();
        let runs = met.chunk_by(|a, b| a == b);
        let candidates = runs.filter(|run| self.is_candidate(text, run[0], run.len() as u32));
        candidates.map(|run| run[0]).collect()
    }

    fn is_covered_in_both(&self, entry: TextEntry, other: TextId) -> bool {
        let of_other = || self.postings.position(other, entry.fingerprint);
        self.covered.is_set(entry.position)
            && of_other().is_some_and(|position| self.covered.is_set(position))
    }

    /// True if two texts share enough fingerprints. `own` is the number of shared fingerprints that are neither common
    /// nor covered in both texts. Common and covered fingerprints count too, since most of a text may consist of them.
    fn is_candidate(&self, text: TextId, other: TextId, own: u32) -> bool {
        let smaller = self.postings.size(text).min(self.postings.size(other));
        let needed = (MIN_FINGERPRINT_SHARE * self.least * f64::from(smaller)) as u32;
        let needed = needed.max(MIN_SHARED);
        if own >= needed {
            return true;
        }
        if own + self.of_many[text].min(self.of_many[other]) < needed {
            return false;
        }
        let (mut all, mut uncovered) = (0, 0);
        for entry in self.postings.entries_of(text) {
            if self.postings.position(other, entry.fingerprint).is_some() {
                all += 1;
                uncovered += u32::from(!self.is_covered_in_both(entry, other));
            }
        }
        all >= needed && uncovered >= MIN_SHARED
    }
}
