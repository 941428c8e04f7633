//! The fingerprints of each text, and the texts of each fingerprint, in memory.

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;

use super::CheckCancelled;
use super::ids::{FingerprintId, TextId};
use super::index::{FingerprintIndex, TextFingerprint};
use super::texts::Texts;
use super::winnow::fingerprints;
use crate::error::DedupError;
use crate::ids::{IdVec, Lists, ids, par_ids};

/// The peak memory per fingerprint in bytes, reached while the fingerprints are sorted.
pub(crate) const FINGERPRINT_BYTES: u64 = 32;
/// The peak memory per text in bytes, reached while passages of many texts are searched.
pub(crate) const TEXT_BYTES: u64 = 128;

/// A fingerprint of a text, in a table that is sorted to make [`Postings`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Occurrence {
    /// The hash value.
    pub(crate) value: u64,
    pub(crate) text: TextId,
    /// True if it is known that many texts have the fingerprint, although the table does not have all of them.
    pub(crate) is_common: bool,
}

/// The fingerprints that at least two texts have, by text and by fingerprint.
pub(crate) struct Postings {
    /// For each fingerprint, the texts that have it, ascending.
    texts: Lists<FingerprintId, TextId>,
    /// For each text, its fingerprints, ascending.
    of_text: Lists<TextId, FingerprintId>,
    /// The number of fingerprints of each text, including fingerprints that no other text has.
    sizes: IdVec<TextId, u32>,
    /// For each fingerprint, its hash value, ascending.
    values: IdVec<FingerprintId, u64>,
    /// True for each common fingerprint: one that many texts have.
    common: IdVec<FingerprintId, bool>,
    /// The number of texts above which a fingerprint is common.
    many: usize,
    /// The number of fingerprints of all texts, including fingerprints that only one text has.
    pub(super) picked: u64,
}

impl Postings {
    /// Reads all texts once and makes the postings. A fingerprint that more than `many` texts have is common.
    /// `check_memory` is called with the number of bytes that the postings need. Expected O(text + fingerprints · log).
    ///
    /// # Errors
    /// The errors of `check_memory` and of `check_cancelled`, and an error if the spool cannot be read.
    pub(super) fn of(
        texts: &Texts<'_>,
        key: HashKey,
        many: usize,
        check_memory: &dyn Fn(u64) -> Result<(), DedupError>,
        check_cancelled: CheckCancelled<'_>,
    ) -> Result<Self, DedupError> {
        let picked = fingerprints(texts, 0..texts.len() as u32, key, check_cancelled)?;
        let sizes: IdVec<TextId, u32> = picked.iter().map(|of| of.len() as u32).collect();
        let all: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
        check_memory(all * FINGERPRINT_BYTES + texts.len() as u64 * TEXT_BYTES)?;
        let mut occurrences: Vec<Occurrence> = Vec::with_capacity(all as usize);
        for (text, of) in ids(picked.len()).zip(picked) {
            occurrences.extend(of.into_iter().map(|value| Occurrence {
                value,
                text,
                is_common: false,
            }));
        }
        Ok(Self::grouped(occurrences, sizes, many))
    }

    /// Makes the postings of the fingerprints of some texts. `sizes` has the number of fingerprints of each text. A
    /// fingerprint is common if it says so, or if more than `many` of these texts have it.
    pub(crate) fn grouped(mut occurrences: Vec<Occurrence>, sizes: IdVec<TextId, u32>, many: usize) -> Self {
        occurrences.par_sort_unstable();
        let mut postings = Self {
            texts: Lists::default(),
            of_text: Lists::default(),
            picked: sizes.iter().map(|&size| u64::from(size)).sum(),
            sizes,
            values: IdVec::default(),
            common: IdVec::default(),
            many,
        };
        let runs = occurrences.chunk_by(|a, b| a.value == b.value);
        for run in runs.filter(|run| run.len() > 1) {
            postings.values.push(run[0].value);
            postings.common.push(run[0].is_common || run.len() > many);
            postings.texts.push(run.iter().map(|occurrence| occurrence.text));
        }
        drop(occurrences);
        let by_fingerprint = &postings.texts;
        postings.of_text = Lists::group(postings.sizes.len(), || {
            let texts = |fingerprint| by_fingerprint.of(fingerprint).iter();
            ids(by_fingerprint.len())
                .flat_map(move |fingerprint| texts(fingerprint).map(move |&text| (text, fingerprint)))
        });
        postings
    }

    /// The texts that may be references of passages of many texts, those with the most common fingerprints first. Each
    /// has at least `least` of them.
    pub(super) fn references(&self, least: u32) -> Vec<TextId> {
        let common = |text: TextId| {
            let entries = self.of_text.of(text).iter();
            entries.filter(|&&fingerprint| self.common[fingerprint]).count() as u32
        };
        let mut references: Vec<(u32, TextId)> = par_ids(self.all_texts())
            .map(|text| (common(text), text))
            .filter(|&(common, _)| common >= least)
            .collect();
        references
            .par_sort_unstable_by_key(|&(common, text)| (std::cmp::Reverse(common), self.sizes[text], text));
        references.into_iter().map(|(_, text)| text).collect()
    }

    /// The number of distinct texts of the run, with or without fingerprints.
    pub(super) fn all_texts(&self) -> usize {
        self.sizes.len()
    }

    /// The texts that have a fingerprint, ascending.
    pub(super) fn texts(&self, fingerprint: FingerprintId) -> &[TextId] {
        self.texts.of(fingerprint)
    }

    /// True if many texts have the fingerprint.
    pub(super) fn is_common(&self, fingerprint: FingerprintId) -> bool {
        self.common[fingerprint]
    }

    /// The number of common fingerprints: those that many texts have.
    pub(super) fn common(&self) -> u64 {
        self.common.iter().filter(|&&is_common| is_common).count() as u64
    }

    /// The position of a fingerprint of a text by its hash value; `None` if no other text has the fingerprint.
    pub(crate) fn position_of_value(&self, text: TextId, value: u64) -> Option<u64> {
        let of_text = |&fingerprint: &FingerprintId| self.values[fingerprint];
        let i = self.of_text.of(text).binary_search_by_key(&value, of_text).ok()?;
        Some((self.of_text.range(text).start + i) as u64)
    }

    /// The position of a fingerprint among those of a text; `None` if the text does not have it.
    pub(super) fn position(&self, text: TextId, fingerprint: FingerprintId) -> Option<u64> {
        let i = self.of_text.of(text).binary_search(&fingerprint).ok()?;
        Some((self.of_text.range(text).start + i) as u64)
    }

    /// The fingerprints of a text that at least one other text has.
    pub(super) fn entries_of(&self, text: TextId) -> impl Iterator<Item = TextEntry> {
        let entries = self.of_text.range(text).zip(self.of_text.of(text));
        entries.map(|(position, &fingerprint)| TextEntry {
            fingerprint,
            position: position as u64,
        })
    }

    /// The number of fingerprints of a text, including fingerprints that no other text has.
    pub(super) fn size(&self, text: TextId) -> u32 {
        self.sizes[text]
    }
}

/// A fingerprint as a member of one text's list of fingerprints.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextEntry {
    pub(super) fingerprint: FingerprintId,
    /// The position of the entry in the table that contains the lists of all texts.
    pub(super) position: u64,
}

impl FingerprintIndex for Postings {
    fn many(&self) -> usize {
        self.many
    }

    fn numbers(&self) -> usize {
        self.values.len()
    }

    fn entries(&self) -> u64 {
        self.of_text.values().len() as u64
    }

    fn of_text(&self, text: TextId) -> Result<Vec<TextFingerprint>, DedupError> {
        let entries = self.entries_of(text).map(|entry| TextFingerprint {
            value: self.values[entry.fingerprint],
            position: entry.position,
            common: Some(entry.fingerprint).filter(|&fingerprint| self.is_common(fingerprint)),
        });
        Ok(entries.collect())
    }

    fn add_texts(&self, common: FingerprintId, texts: &mut Vec<TextId>) -> Result<(), DedupError> {
        texts.extend(self.texts(common));
        Ok(())
    }

    fn each_common(&self, f: &mut dyn FnMut(u64, FingerprintId)) -> Result<(), DedupError> {
        for (position, &fingerprint) in (0..).zip(self.of_text.values()) {
            if self.is_common(fingerprint) {
                f(position, fingerprint);
            }
        }
        Ok(())
    }
}
