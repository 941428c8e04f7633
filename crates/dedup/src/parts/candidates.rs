//! The pairs of texts that may have the containment asked for.

use rayon::prelude::*;

use super::MIN_SHARED;
use super::postings::{Covered, Entry, Postings};

/// The share of its fingerprints that the smaller text of a candidate has in the other, of the containment asked for. A run has at least
/// half as many fingerprints as the mean, and the rest of the text may have more than that.
const SLACK: f64 = 0.4;

/// Finds the candidates of each text.
pub(super) struct Candidates<'p> {
    postings: &'p Postings,
    covered: &'p Covered,
    /// Fingerprints of each text that are common or covered.
    of_many: Vec<u32>,
    /// Least containment.
    least: f64,
}

impl<'p> Candidates<'p> {
    /// Linear in the fingerprints.
    pub(super) fn new(postings: &'p Postings, covered: &'p Covered, least: f64) -> Self {
        let is_of_many = |entry: &Entry| postings.is_common(entry.fingerprint) || covered.is_set(*entry);
        let of_many = |text| postings.entries_of(text).filter(is_of_many).count() as u32;
        Self {
            postings,
            covered,
            of_many: (0..postings.all_texts()).into_par_iter().map(of_many).collect(),
            least,
        }
    }

    /// The later texts that share with a text a fingerprint that is neither common nor covered in both, and enough others for the
    /// containment. Ascending.
    pub(super) fn of(&self, text: u32) -> Vec<u32> {
        let mut met: Vec<u32> = Vec::new();
        for entry in self.postings.entries_of(text) {
            if self.postings.is_common(entry.fingerprint) {
                continue;
            }
            let list = self.postings.texts(entry.fingerprint);
            let later = &list[list.partition_point(|&other| other <= text)..];
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

    fn is_covered_in_both(&self, entry: Entry, other: u32) -> bool {
        let of_other = || self.postings.entry(other, entry.fingerprint);
        self.covered.is_set(entry) && of_other().is_some_and(|entry| self.covered.is_set(entry))
    }

    /// Whether two texts share enough, which have `own` fingerprints in common that are neither common nor covered in both. Those of
    /// many texts count as well: the texts may consist of them for the most part.
    fn is_candidate(&self, text: u32, other: u32, own: u32) -> bool {
        let smaller = self.postings.size(text).min(self.postings.size(other));
        let needed = (SLACK * self.least * f64::from(smaller)) as u32;
        let needed = needed.max(MIN_SHARED);
        if own >= needed {
            return true;
        }
        if own + self.of_many[text as usize].min(self.of_many[other as usize]) < needed {
            return false;
        }
        let (mut all, mut uncovered) = (0, 0);
        for entry in self.postings.entries_of(text) {
            if self.postings.entry(other, entry.fingerprint).is_some() {
                all += 1;
                uncovered += u32::from(!self.is_covered_in_both(entry, other));
            }
        }
        all >= needed && uncovered >= MIN_SHARED
    }
}
