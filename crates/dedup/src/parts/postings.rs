//! The fingerprints of each text, and the texts of each fingerprint.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::passages::Winnower;

use super::texts::Texts;
use super::{CheckCancelled, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::memory::Budget;
use twinprint_io::work::BlockBuffer;

/// Bytes held for a fingerprint at most, while they are sorted.
const FINGERPRINT_BYTES: u64 = 32;
/// Bytes held for a text at most, while passages of many texts are looked for.
const TEXT_BYTES: u64 = 128;

/// Fingerprints that two texts or more have, by text and by fingerprint. They are numbered in the order of their values.
pub(super) struct Postings {
    /// Texts of each fingerprint, ascending, one fingerprint after another.
    texts: Vec<u32>,
    /// Where each fingerprint's texts begin, and the end.
    starts: Vec<u64>,
    /// Numbers of fingerprints, text after text, ascending.
    of_text: Vec<u32>,
    /// Where each text's fingerprints begin, and the end.
    text_starts: Vec<u64>,
    /// Fingerprints of each text, those that no other has included.
    sizes: Vec<u32>,
    /// The value of each fingerprint, ascending.
    values: Vec<u64>,
    /// Texts beyond which a fingerprint is common.
    many: usize,
    /// All that were picked.
    pub(super) picked: u64,
}

impl Postings {
    /// Reads all texts once. A fingerprint that more than `many` texts have is common. Expected O(text + fingerprints · log).
    ///
    /// # Errors
    /// [`DedupError::Memory`] where the fingerprints do not fit beside the tables of `held` bytes; a spool that cannot be read; what `check_cancelled` says.
    pub(super) fn of(
        texts: &Texts<'_>,
        key: HashKey,
        many: usize,
        (budget, held): (Budget, u64),
        check_cancelled: CheckCancelled<'_>,
    ) -> Result<Self, DedupError> {
        let buffers = || (Winnower::new(key), BlockBuffer::default());
        let pick = |own: &mut (Winnower, BlockBuffer), text: u32| {
            check_cancelled()?;
            texts.measured(texts.bytes(text), own, buffers, |(winnower, block)| {
                Ok(winnower.fingerprints(texts.canonical(text, block)?, texts.measure(text)))
            })
        };
        let picked: Vec<Vec<u64>> = (0..texts.len())
            .into_par_iter()
            .with_min_len(MIN_TEXTS_PER_TASK)
            .map_init(buffers, pick)
            .collect::<Result<_, DedupError>>()?;
        let sizes: Vec<u32> = picked.iter().map(|of| of.len() as u32).collect();
        let all: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
        budget.check(held + all * FINGERPRINT_BYTES + u64::from(texts.len()) * TEXT_BYTES)?;
        let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(all as usize);
        for (text, of) in (0u32..).zip(picked) {
            pairs.extend(of.into_iter().map(|fingerprint| (fingerprint, text)));
        }
        pairs.par_sort_unstable();
        let mut postings = Self {
            texts: Vec::new(),
            starts: vec![0],
            of_text: Vec::new(),
            text_starts: Vec::new(),
            sizes,
            values: Vec::new(),
            many,
            picked: all,
        };
        let mut counts = vec![0u64; postings.sizes.len() + 1];
        for run in pairs.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            postings.values.push(run[0].0);
            for &(_, text) in run {
                counts[text as usize + 1] += 1;
                postings.texts.push(text);
            }
            postings.starts.push(postings.texts.len() as u64);
        }
        drop(pairs);
        postings.turn(counts);
        Ok(postings)
    }

    /// Lists the fingerprints of each text, of which `counts` has that many, one place further.
    fn turn(&mut self, mut counts: Vec<u64>) {
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        self.text_starts.clone_from(&counts);
        self.of_text = vec![0; self.texts.len()];
        for (fingerprint, bounds) in (0u32..).zip(self.starts.windows(2)) {
            for &text in &self.texts[bounds[0] as usize..bounds[1] as usize] {
                let next = &mut counts[text as usize];
                self.of_text[*next as usize] = fingerprint;
                *next += 1;
            }
        }
    }

    /// Texts beyond which a fingerprint is common.
    pub(super) fn many(&self) -> usize {
        self.many
    }

    /// Texts of the run.
    pub(super) fn all_texts(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// Different fingerprints.
    pub(super) fn len(&self) -> u32 {
        self.values.len() as u32
    }

    /// The texts that have a fingerprint, ascending.
    pub(super) fn texts(&self, fingerprint: u32) -> &[u32] {
        let at = fingerprint as usize;
        &self.texts[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether more than the given number of texts have a fingerprint.
    pub(super) fn is_common(&self, fingerprint: u32) -> bool {
        self.texts(fingerprint).len() > self.many
    }

    /// Common fingerprints.
    pub(super) fn common(&self) -> u64 {
        (0..self.len())
            .filter(|&fingerprint| self.is_common(fingerprint))
            .count() as u64
    }

    /// The entry of a text's fingerprint by its value; `None` if no other text has it.
    pub(super) fn entry_of_value(&self, text: u32, value: u64) -> Option<Entry> {
        let (own, start) = self.of_text(text);
        let at = own
            .binary_search_by_key(&value, |&number| self.values[number as usize])
            .ok()?;
        Some(Entry {
            fingerprint: own[at],
            at: start + at as u64,
        })
    }

    /// The entry of a text's fingerprint.
    pub(super) fn entry(&self, text: u32, fingerprint: u32) -> Option<Entry> {
        let (own, start) = self.of_text(text);
        let at = own.binary_search(&fingerprint).ok()?;
        Some(Entry {
            fingerprint,
            at: start + at as u64,
        })
    }

    /// The entries of a text.
    pub(super) fn entries_of(&self, text: u32) -> impl Iterator<Item = Entry> {
        let (own, start) = self.of_text(text);
        let entries = (start..).zip(own);
        entries.map(|(at, &fingerprint)| Entry { fingerprint, at })
    }

    /// The numbers of a text's fingerprints, ascending, and where the first stands among those of all texts.
    fn of_text(&self, text: u32) -> (&[u32], u64) {
        let start = self.text_starts[text as usize];
        let end = self.text_starts[text as usize + 1];
        (&self.of_text[start as usize..end as usize], start)
    }

    /// Fingerprints of all texts together.
    fn entries(&self) -> u64 {
        self.of_text.len() as u64
    }

    /// Fingerprints of a text, those that no other has included.
    pub(super) fn size(&self, text: u32) -> u32 {
        self.sizes[text as usize]
    }
}

/// A fingerprint of one text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The number of the fingerprint.
    pub(super) fingerprint: u32,
    /// Where it stands among the fingerprints of all texts.
    at: u64,
}

/// The fingerprints that stand in passages of many texts, text by text.
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

    pub(super) fn is_set(&self, entry: Entry) -> bool {
        let word = &self.bits[entry.at as usize / 64];
        word.load(Ordering::Relaxed) >> (entry.at % 64) & 1 == 1
    }

    /// Bits are only ever set, so that the order of threads does not matter.
    pub(super) fn set(&self, entry: Entry) {
        self.bits[entry.at as usize / 64].fetch_or(1 << (entry.at % 64), Ordering::Relaxed);
    }
}
