//! Pairs of texts of which one contains a share of the other: the exact measurement of candidate pairs.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::passages::passages;

use super::CheckCancelled;
use super::candidates::Candidates;
use super::ids::TextId;
use super::numbers::{NumberReader, NumberWriter};
use super::texts::{MAX_PARALLEL_TEXT_BYTES, Texts};
use super::{MIN_TEXTS_PER_TASK, longest};
use crate::error::DedupError;
use crate::ids::Id;
use twinprint_io::work::BlockBuffer;

/// The number of texts whose pairs are found in parallel and are in memory together.
const BATCH_TEXTS: usize = 1 << 10;

/// Two texts of which one contains a share of the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextPair {
    /// The text that comes first in the input.
    pub(crate) a: TextId,
    pub(crate) b: TextId,
    pub(crate) jaccard: f64,
    pub(crate) containment: f64,
    /// For text a and then text b, the share of its shingles that the other text has too.
    pub(crate) shares: [f64; 2],
    /// The longest common passages in the order of text a: their ranges in a and in b, in characters of the canonical
    /// texts.
    pub(crate) passages: Vec<[Range<u64>; 2]>,
}

impl TextPair {
    pub(super) fn write(&self, file: &mut NumberWriter) -> Result<(), DedupError> {
        file.push(self.a.get())?;
        file.push(self.b.get())?;
        for real in [self.jaccard, self.containment, self.shares[0], self.shares[1]] {
            file.push_real(real)?;
        }
        file.push(self.passages.len() as u64)?;
        for place in self.passages.iter().flatten() {
            file.push(place.start)?;
            file.push(place.end)?;
        }
        Ok(())
    }

    /// Reads the next pair from a temporary file; `None` at the end of the file.
    pub(super) fn read(file: &mut NumberReader) -> Result<Option<Self>, DedupError> {
        let Some(a) = file.next()? else { return Ok(None) };
        let mut pair = Self {
            a: TextId::new(a as u32),
            b: TextId::new(file.number()? as u32),
            jaccard: file.real()?,
            containment: file.real()?,
            shares: [file.real()?, file.real()?],
            passages: Vec::new(),
        };
        for _ in 0..file.number()? {
            let mut place = || Ok::<_, DedupError>(file.number()?..file.number()?);
            pair.passages.push([place()?, place()?]);
        }
        Ok(Some(pair))
    }
}

/// Finds the pairs with a containment of at least `least` and calls `found` with them, in order. Returns the number of
/// candidate pairs that were measured.
pub(crate) fn find(
    texts: &Texts<'_>,
    candidates: &Candidates<'_>,
    key: HashKey,
    least: f64,
    mut found: impl FnMut(TextPair) -> Result<(), DedupError>,
    check_cancelled: CheckCancelled<'_>,
) -> Result<u64, DedupError> {
    let measured = AtomicU64::new(0);
    let all = candidates.texts();
    for first in (0..all).step_by(BATCH_TEXTS) {
        let last = first.saturating_add(BATCH_TEXTS).min(all);
        let pairs: Vec<Vec<TextPair>> = (first..last)
            .into_par_iter()
            .map(TextId::from_index)
            .with_min_len(MIN_TEXTS_PER_TASK)
            .map_init(
                || PairMeasurer::new(key),
                |measuring, a| {
                    check_cancelled()?;
                    let others = candidates.of(a);
                    if others.is_empty() {
                        return Ok(Vec::new());
                    }
                    measured.fetch_add(others.len() as u64, Ordering::Relaxed);
                    let mut longest = texts.place(a)?.bytes();
                    for &b in &others {
                        longest = longest.max(texts.place(b)?.bytes());
                    }
                    let measure = |measuring: &mut PairMeasurer| measuring.pairs(texts, a, &others, least);
                    texts.measured(longest, measuring, || PairMeasurer::new(key), measure)
                },
            )
            .collect::<Result<_, _>>()?;
        pairs.into_iter().flatten().try_for_each(&mut found)?;
    }
    Ok(measured.into_inner())
}

/// Measures pairs of texts. Each thread has one measurer, whose buffers are reused.
pub(super) struct PairMeasurer {
    key: HashKey,
    shingler: Shingler,
    own: BlockBuffer,
    other: BlockBuffer,
}

impl PairMeasurer {
    pub(super) fn new(key: HashKey) -> Self {
        Self {
            key,
            shingler: Shingler::for_one_run(key),
            own: BlockBuffer::default(),
            other: BlockBuffer::default(),
        }
    }

    /// Compares text `a` with the texts `others`, and returns the pairs with a containment of at least `least`.
    pub(super) fn pairs(
        &mut self,
        texts: &Texts<'_>,
        a: TextId,
        others: &[TextId],
        least: f64,
    ) -> Result<Vec<TextPair>, DedupError> {
        let mut pairs = Vec::new();
        let Self {
            key,
            shingler,
            own,
            other,
        } = self;
        let place = texts.place(a)?;
        let text = texts.canonical(place, own)?;
        // The shingle sets of text `a` by measure. Nearly all pairs use the measure of the text itself.
        let mut sets: [Option<Vec<u64>>; 2] = [None, None];
        for &b in others {
            let other_place = texts.place(b)?;
            let by = place.measure.with(other_place.measure);
            let set =
                sets[usize::from(by == Measure::CharGrams)].get_or_insert_with(|| shingler.shingle(text, by));
            let its = texts.canonical(other_place, other)?;
            let shingles = shingler.shingle(its, by);
            let shared = overlap(set, &shingles);
            if shared.containment() < least {
                continue;
            }
            let share = |of: usize| f64::from(shared.common) / of.max(1) as f64;
            let shares = [share(set.len()), share(shingles.len())];
            // The search for common passages needs memory too, so the shingle sets are freed before it.
            drop(shingles);
            if text.len().max(its.len()) > MAX_PARALLEL_TEXT_BYTES {
                *shingler = Shingler::for_one_run(*key);
            }
            let places = passages(text, its, by);
            let places = places.into_iter().map(|passage| [passage.a, passage.b]);
            let places = places.map(|both| both.map(|place| place.start as u64..place.end as u64));
            pairs.push(TextPair {
                a,
                b,
                jaccard: shared.jaccard(),
                containment: shared.containment(),
                shares,
                passages: longest(places.collect(), |both| &both[0]),
            });
        }
        Ok(pairs)
    }
}
