//! Which texts have which fingerprint, and which pairs of texts have many in common.

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
    /// Values and numbers of the common fingerprints, ascending.
    common: Vec<(u64, u32)>,
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
            common: Vec::new(),
            many,
            picked: all,
        };
        let mut counts = vec![0u64; postings.sizes.len() + 1];
        for run in pairs.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            if run.len() > many {
                let number = postings.starts.len() as u32 - 1;
                postings.common.push((run[0].0, number));
            }
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

    /// Fingerprints by number.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
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
        self.common.len() as u64
    }

    /// The number of a common fingerprint by its value.
    pub(super) fn common_of_value(&self, value: u64) -> Option<u32> {
        let at = self.common.binary_search_by_key(&value, |common| common.0).ok()?;
        Some(self.common[at].1)
    }

    /// The numbers of a text's fingerprints, ascending, and where the first stands among those of all texts.
    pub(super) fn of_text(&self, text: u32) -> (&[u32], u64) {
        let start = self.text_starts[text as usize];
        let end = self.text_starts[text as usize + 1];
        (&self.of_text[start as usize..end as usize], start)
    }

    /// Fingerprints of all texts together.
    pub(super) fn entries(&self) -> u64 {
        self.of_text.len() as u64
    }

    /// Fingerprints of a text, those that no other has included.
    pub(super) fn size(&self, text: u32) -> u32 {
        self.sizes[text as usize]
    }

    /// The later texts with which a text may have a containment of `least`, ascending. Common fingerprints do not count.
    pub(super) fn candidates(&self, text: u32, least: f64) -> Vec<u32> {
        let mut met: Vec<u32> = Vec::new();
        for &fingerprint in self.of_text(text).0 {
            let list = self.texts(fingerprint);
            if list.len() <= self.many {
                met.extend(&list[list.partition_point(|&other| other <= text)..]);
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
