//! Which texts have which fingerprint, and which pairs of texts have many in common.

use std::sync::atomic::{AtomicU64, Ordering};

use fingerprint::HashKey;
use rayon::prelude::*;
use text::passages::Winnower;

use super::texts::Texts;
use super::{GoOn, LEAST_SHARED, TEXTS_A_TASK};
use crate::error::DedupError;
use crate::memory::Budget;
use crate::spool::BlockBuffer;

/// The share of its fingerprints that the smaller text of a candidate has in the other, of the containment asked for. A run has at least
/// half as many fingerprints as the mean, and the rest of the text may have more than that.
const SLACK: f64 = 0.4;
/// Bytes held for a fingerprint at most, while they are sorted.
const A_FINGERPRINT: u64 = 32;
/// Bytes held for a text at most, while passages of many texts are looked for.
const A_TEXT: u64 = 128;

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
    /// [`DedupError::Memory`] where the fingerprints do not fit beside the tables of `held` bytes; a spool that cannot be read; what `go_on` says.
    pub(super) fn of(
        texts: &Texts<'_>,
        key: HashKey,
        many: usize,
        (budget, held): (Budget, u64),
        go_on: GoOn<'_>,
    ) -> Result<Self, DedupError> {
        let pick = |(winnower, buffer): &mut (Winnower, BlockBuffer), text: u32| {
            go_on()?;
            Ok(winnower.fingerprints(texts.canonical(text, buffer)?, texts.measure(text)))
        };
        let picked: Vec<Vec<u64>> = (0..texts.len())
            .into_par_iter()
            .with_min_len(TEXTS_A_TASK)
            .map_init(|| (Winnower::new(key), BlockBuffer::default()), pick)
            .collect::<Result<_, DedupError>>()?;
        let sizes: Vec<u32> = picked.iter().map(|of| of.len() as u32).collect();
        let all: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
        budget.check(held + all * A_FINGERPRINT + u64::from(texts.len()) * A_TEXT)?;
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

    /// Different fingerprints.
    pub(super) fn len(&self) -> u32 {
        self.values.len() as u32
    }

    /// The texts that have a fingerprint, ascending.
    pub(super) fn texts(&self, fingerprint: u32) -> &[u32] {
        let at = fingerprint as usize;
        &self.texts[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether very many texts have a fingerprint.
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

    /// The later texts with which a text may have a containment of `least`, ascending. Common fingerprints do not count, nor those that
    /// stand in passages of very many texts in both.
    pub(super) fn candidates(&self, text: u32, least: f64, covered: &Covered) -> Vec<u32> {
        let mut met: Vec<u32> = Vec::new();
        for entry in self.entries_of(text) {
            let list = self.texts(entry.fingerprint);
            if list.len() > self.many {
                continue;
            }
            let later = &list[list.partition_point(|&other| other <= text)..];
            if covered.is_set(entry) {
                let is_covered = |other: u32| {
                    let entry = self.entry(other, entry.fingerprint);
                    entry.is_some_and(|entry| covered.is_set(entry))
                };
                met.extend(later.iter().filter(|&&other| !is_covered(other)));
            } else {
                met.extend(later);
            }
        }
        met.sort_unstable();
        let enough = |run: &&[u32]| {
            let smaller = self.size(text).min(self.size(run[0]));
            let shared = run.len() as u32;
            let enough = SLACK * least * f64::from(smaller);
            shared >= LEAST_SHARED && f64::from(shared) >= enough.floor()
        };
        let runs = met.chunk_by(|a, b| a == b).filter(enough);
        runs.map(|run| run[0]).collect()
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

/// The fingerprints that stand in passages of very many texts, text by text.
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
