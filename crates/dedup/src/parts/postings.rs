//! An index of fingerprints: the fingerprints of each text, and the texts of each fingerprint.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::passages::Winnower;

use super::ids::{FingerprintId, TextId};
use super::texts::Texts;
use super::{CheckCancelled, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::ids::{IdVec, Lists, ids, par_ids};
use twinprint_io::work::BlockBuffer;

/// The peak memory per fingerprint in bytes, reached while the fingerprints are sorted.
const FINGERPRINT_BYTES: u64 = 32;
/// The peak memory per text in bytes, reached while passages of many texts are searched.
const TEXT_BYTES: u64 = 128;

/// The fingerprints that at least two texts have, by text and by fingerprint.
pub(super) struct Postings {
    /// For each fingerprint, the texts that have it, ascending.
    texts: Lists<FingerprintId, TextId>,
    /// For each text, its fingerprints, ascending.
    of_text: Lists<TextId, FingerprintId>,
    /// The number of fingerprints of each text, including fingerprints that no other text has.
    sizes: IdVec<TextId, u32>,
    /// For each fingerprint, its hash value, ascending.
    values: IdVec<FingerprintId, u64>,
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
        let buffers = || (Winnower::new(key), BlockBuffer::default());
        let pick = |own: &mut (Winnower, BlockBuffer), text: TextId| {
            check_cancelled()?;
            texts.measured(texts.bytes(text), own, buffers, |(winnower, block)| {
                Ok(winnower.fingerprints(texts.canonical(text, block)?, texts.measure(text)))
            })
        };
        let picked: Vec<Vec<u64>> = par_ids(texts.len())
            .with_min_len(MIN_TEXTS_PER_TASK)
            .map_init(buffers, pick)
            .collect::<Result<_, DedupError>>()?;
        let sizes: IdVec<TextId, u32> = picked.iter().map(|of| of.len() as u32).collect();
        let all: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
        check_memory(all * FINGERPRINT_BYTES + texts.len() as u64 * TEXT_BYTES)?;
        let mut pairs: Vec<(u64, TextId)> = Vec::with_capacity(all as usize);
        for (text, of) in ids(picked.len()).zip(picked) {
            pairs.extend(of.into_iter().map(|fingerprint| (fingerprint, text)));
        }
        pairs.par_sort_unstable();
        let mut postings = Self {
            texts: Lists::default(),
            of_text: Lists::default(),
            sizes,
            values: IdVec::default(),
            many,
            picked: all,
        };
        for run in pairs.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            postings.values.push(run[0].0);
            postings.texts.push(run.iter().map(|&(_, text)| text));
        }
        drop(pairs);
        let by_fingerprint = &postings.texts;
        postings.of_text = Lists::group(postings.sizes.len(), || {
            let texts = |fingerprint| by_fingerprint.of(fingerprint).iter();
            ids(by_fingerprint.len())
                .flat_map(move |fingerprint| texts(fingerprint).map(move |&text| (text, fingerprint)))
        });
        Ok(postings)
    }

    /// The number of texts above which a fingerprint is common.
    pub(super) fn many(&self) -> usize {
        self.many
    }

    /// The number of distinct texts of the run, with or without fingerprints.
    pub(super) fn all_texts(&self) -> usize {
        self.sizes.len()
    }

    /// The number of distinct fingerprints that at least two texts have.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The texts that have a fingerprint, ascending.
    pub(super) fn texts(&self, fingerprint: FingerprintId) -> &[TextId] {
        self.texts.of(fingerprint)
    }

    /// True if more texts have the fingerprint than the limit for a fingerprint that is not common.
    pub(super) fn is_common(&self, fingerprint: FingerprintId) -> bool {
        self.texts(fingerprint).len() > self.many
    }

    /// The number of common fingerprints: those that many texts have.
    pub(super) fn common(&self) -> u64 {
        self.values
            .ids()
            .filter(|&fingerprint| self.is_common(fingerprint))
            .count() as u64
    }

    /// Finds the fingerprint of a text by its hash value; `None` if no other text has the fingerprint.
    pub(super) fn entry_of_value(&self, text: TextId, value: u64) -> Option<TextEntry> {
        let own = self.of_text.of(text);
        let i = own
            .binary_search_by_key(&value, |&fingerprint| self.values[fingerprint])
            .ok()?;
        Some(TextEntry {
            fingerprint: own[i],
            position: self.of_text.range(text).start + i,
        })
    }

    /// Finds a fingerprint among those of a text; `None` if the text does not have it.
    pub(super) fn entry(&self, text: TextId, fingerprint: FingerprintId) -> Option<TextEntry> {
        let i = self.of_text.of(text).binary_search(&fingerprint).ok()?;
        Some(TextEntry {
            fingerprint,
            position: self.of_text.range(text).start + i,
        })
    }

    /// The fingerprints of a text that at least one other text has.
    pub(super) fn entries_of(&self, text: TextId) -> impl Iterator<Item = TextEntry> {
        let entries = self.of_text.range(text).zip(self.of_text.of(text));
        entries.map(|(position, &fingerprint)| TextEntry {
            fingerprint,
            position,
        })
    }

    /// The number of pairs of a text and one of its fingerprints.
    fn entries(&self) -> usize {
        self.of_text.values().len()
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
    position: usize,
}

/// The covered fingerprints of each text: those in a passage that many texts share.
pub(super) struct Covered {
    bits: Vec<AtomicU64>,
}

impl Covered {
    pub(super) fn none(postings: &Postings) -> Self {
        let words = postings.entries().div_ceil(64);
        Self {
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(super) fn is_set(&self, entry: TextEntry) -> bool {
        let word = &self.bits[entry.position / 64];
        word.load(Ordering::Relaxed) >> (entry.position % 64) & 1 == 1
    }

    /// Marks a fingerprint of a text as covered. Bits are set and never cleared, so the result does not depend on the
    /// order of the threads.
    pub(super) fn set(&self, entry: TextEntry) {
        self.bits[entry.position / 64].fetch_or(1 << (entry.position % 64), Ordering::Relaxed);
    }
}
