//! Passages that many texts share. The number of pairs of these texts would be quadratic, so each text is compared with
//! one text only, the reference.
//!
//! Texts become references in the order of their number of common fingerprints, the largest first. [`Reference`]
//! locates the passages that other texts share with it. A passage is a range of the reference in which more than
//! [`PartsReport::MAX_PAIRED_TEXTS`](super::PartsReport::MAX_PAIRED_TEXTS) texts have every character; a holder may
//! have only a part of the range. The fingerprints in the passage are then covered, in the reference and in every
//! holder. A text becomes a reference only if it has common fingerprints that are not covered. So a text is compared
//! with few references, and a passage that differs a little from text to text is found once. Passages of fewer texts
//! are found by comparing pairs, even if they are next to a passage of many texts.
//!
//! Time: expected linear in the fingerprints, and in the length of the holders of each reference. The passages that the
//! holders of one reference share with it are in a temporary file.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::passages::{Reference, Winnower};

use super::compared::{CommonRun, ComparedText, PlacedFingerprint, SharedPassage};
use super::depth::Depth;
use super::holders::{FoundPassages, Holders};
use super::ids::{FingerprintId, PassageId, TextId};
use super::numbers::{NumberReader, NumberWriter};
use super::postings::{Covered, Postings, TextEntry};
use super::shares::ShareMeasurer;
use super::texts::Texts;
use super::{CheckCancelled, MIN_SHARED, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::ids::{IdVec, par_ids};
use twinprint_io::work::BlockBuffer;

/// The maximum work spent on one fingerprint, so that the total work is linear. Counting the texts of the fingerprint
/// costs [`COUNTING_WORK`], comparing them with a reference [`COMPARISON_WORK`].
const MAX_WORK: u8 = 64;
/// The cost of counting the texts of a fingerprint, in units of [`MAX_WORK`].
const COUNTING_WORK: u8 = 1;
/// The cost of comparing the texts of a fingerprint with a reference, in units of [`MAX_WORK`].
const COMPARISON_WORK: u8 = 8;
/// The bytes of texts that are compared with a reference at a time.
const BATCH_BYTES: usize = 8 << 20;

/// The result of the search for passages of many texts.
pub(super) struct SharedPassages {
    pub(super) found: FoundPassages,
    pub(super) left: UncoveredCounts,
    pub(super) covered: Covered,
}

/// The numbers of common fingerprints that are left over: more than
/// [`PartsReport::MAX_PAIRED_TEXTS`](super::PartsReport::MAX_PAIRED_TEXTS) texts have them outside of all passages
/// found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UncoveredCounts {
    /// The number of left-over fingerprints without a passage around them that as many texts share.
    pub(super) phrases: u64,
    /// The number of left-over fingerprints on which the maximum work ([`MAX_WORK`]) was spent.
    pub(super) limited: u64,
}

/// Finds the passages around common fingerprints. Passages that make up at least the share `least` of a text are
/// reported.
pub(super) fn find(
    texts: &Texts<'_>,
    postings: &Postings,
    key: HashKey,
    least: f64,
    work: &Path,
    check_cancelled: CheckCancelled<'_>,
) -> Result<SharedPassages, DedupError> {
    let mut search = PassageSearch {
        texts,
        postings,
        key,
        work,
        check_cancelled,
        covered: Covered::none(postings),
        work_done: IdVec::filled(0, postings.len()),
        holders: Holders::new(work),
    };
    let common = |text: TextId| {
        let entries = postings.entries_of(text);
        entries
            .filter(|entry| postings.is_common(entry.fingerprint))
            .count() as u32
    };
    let mut references: Vec<(u32, TextId)> = par_ids(texts.len())
        .map(|text| (common(text), text))
        .filter(|&(common, _)| common >= MIN_SHARED)
        .collect();
    references
        .par_sort_unstable_by_key(|&(common, text)| (std::cmp::Reverse(common), postings.size(text), text));
    for (_, text) in references {
        check_cancelled()?;
        search.compare_with(text)?;
    }
    let left = search.left();
    Ok(SharedPassages {
        found: search.holders.finish(
            least,
            &ShareMeasurer {
                texts,
                key,
                check_cancelled,
            },
        )?,
        left,
        covered: search.covered,
    })
}

/// The buffers of one thread that compares texts with a reference.
struct Buffers {
    winnower: Winnower,
    block: BlockBuffer,
}

impl Buffers {
    fn new(key: HashKey) -> Self {
        Self {
            winnower: Winnower::new(key),
            block: BlockBuffer::default(),
        }
    }
}

/// The state of the search for passages of many texts.
struct PassageSearch<'s> {
    texts: &'s Texts<'s>,
    postings: &'s Postings,
    key: HashKey,
    work: &'s Path,
    check_cancelled: CheckCancelled<'s>,
    covered: Covered,
    /// The work spent on each fingerprint so far, at most about [`MAX_WORK`].
    work_done: IdVec<FingerprintId, u8>,
    holders: Holders,
}

impl PassageSearch<'_> {
    /// True if a fingerprint is common and is not in a passage of this text that was found already.
    fn is_uncovered(&self, entry: TextEntry) -> bool {
        self.postings.is_common(entry.fingerprint) && !self.covered.is_set(entry)
    }

    /// Compares other texts with the text `reference`, if that text has enough uncovered fingerprints.
    fn compare_with(&mut self, reference: TextId) -> Result<(), DedupError> {
        let entries = self.postings.entries_of(reference);
        let uncovered: Vec<FingerprintId> = entries
            .filter(|&entry| self.is_uncovered(entry))
            .map(|entry| entry.fingerprint)
            .collect();
        if uncovered.len() < MIN_SHARED as usize {
            return Ok(());
        }
        let is_open = |&fingerprint: &FingerprintId| self.work_done[fingerprint] < MAX_WORK;
        let open: Vec<FingerprintId> = uncovered.iter().copied().filter(is_open).collect();
        let others = self.others(reference, &uncovered, &open);
        let is_enough = others.len() >= self.postings.many();
        for fingerprint in open {
            self.work_done[fingerprint] += if is_enough { COMPARISON_WORK } else { COUNTING_WORK };
        }
        if !is_enough {
            return Ok(());
        }
        let (texts, key) = (self.texts, self.key);
        let mut buffers = Buffers::new(key);
        let text = texts.canonical(reference, &mut buffers.block)?;
        let prepare = |(): &mut ()| Reference::new(text, texts.measure(reference));
        let prepared = texts.measured(texts.bytes(reference), &mut (), || (), prepare);
        let length = text.chars().count() as u64;
        let whole = SharedPassage(vec![CommonRun {
            in_holder: 0..length,
            in_reference: 0..length,
        }]);
        let itself = self.compared(reference, text, &mut buffers.winnower, vec![whole]);
        let (depth, mut compared) = self.compare(&prepared, &others)?;
        drop(prepared);
        self.add_passages(&itself, &uncovered, &depth, &mut compared)
    }

    /// The texts to compare with the reference, ascending. They have one of the fingerprints `open`, and enough of the
    /// fingerprints `uncovered` of the reference.
    fn others(&self, reference: TextId, uncovered: &[FingerprintId], open: &[FingerprintId]) -> Vec<TextId> {
        let mut texts: Vec<TextId> = Vec::new();
        for &fingerprint in open {
            texts.extend(self.postings.texts(fingerprint));
        }
        texts.par_sort_unstable();
        texts.dedup();
        let shares_enough = |&text: &TextId| {
            let shared = uncovered
                .iter()
                .filter(|&&number| self.postings.entry(text, number).is_some());
            text != reference && shared.take(MIN_SHARED as usize).count() == MIN_SHARED as usize
        };
        texts.into_par_iter().filter(shares_enough).collect()
    }

    /// Locates the passages that other texts share with the reference. Returns, for each character of the reference,
    /// the number of texts that share it, and a file with the passages of each text.
    fn compare(
        &mut self,
        reference: &Reference<'_>,
        others: &[TextId],
    ) -> Result<(Depth, NumberReader), DedupError> {
        let (texts, key) = (self.texts, self.key);
        let mut depth = Depth::default();
        let mut file = NumberWriter::create(self.work)?;
        let mut rest = others;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |&&text: &&TextId| {
                bytes += texts.bytes(text);
                bytes <= BATCH_BYTES
            };
            let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = after;
            let compare = |own: &mut Buffers, &text: &TextId| {
                (self.check_cancelled)()?;
                texts.measured(
                    texts.bytes(text),
                    own,
                    || Buffers::new(key),
                    |buffers| {
                        let canonical = texts.canonical(text, &mut buffers.block)?;
                        let found = reference.aligned(canonical).into_iter();
                        let found =
                            found.map(|runs| SharedPassage(runs.iter().map(CommonRun::from).collect()));
                        Ok(self.compared(text, canonical, &mut buffers.winnower, found.collect()))
                    },
                )
            };
            let compared: Vec<ComparedText> = batch
                .par_iter()
                .with_min_len(MIN_TEXTS_PER_TASK)
                .map_init(|| Buffers::new(key), compare)
                .collect::<Result<_, DedupError>>()?;
            for compared in compared {
                depth.add(compared.passages.iter().map(SharedPassage::in_reference));
                compared.write(&mut file)?;
            }
        }
        Ok((depth, file.finish()?))
    }

    /// Makes a [`ComparedText`]: a text with its passages and the fingerprints in them.
    fn compared(
        &self,
        text: TextId,
        canonical: &str,
        winnower: &mut Winnower,
        passages: Vec<SharedPassage>,
    ) -> ComparedText {
        let places: Vec<Range<u64>> = passages.iter().map(SharedPassage::in_holder).collect();
        let placed = winnower.placed(canonical, self.texts.measure(text)).into_iter();
        let numbered = placed.filter_map(|placed| {
            let fingerprint = self
                .postings
                .entry_of_value(text, placed.fingerprint)?
                .fingerprint;
            let place = placed.chars.start as u64..placed.chars.end as u64;
            Some(PlacedFingerprint { fingerprint, place })
        });
        let mut compared = ComparedText {
            text,
            passages,
            fingerprints: numbered.collect(),
        };
        compared.retain_fingerprints_in(&places);
        compared
    }

    /// Adds the passages that contain uncovered fingerprints of the reference, and covers all fingerprints in these
    /// passages.
    fn add_passages(
        &mut self,
        itself: &ComparedText,
        uncovered: &[FingerprintId],
        depth: &Depth,
        compared: &mut NumberReader,
    ) -> Result<(), DedupError> {
        let many = self.postings.many();
        let mut ranges = depth.ranges(many);
        ranges.retain(|range| {
            let mut within = itself.fingerprints_in(std::slice::from_ref(range));
            within.any(|fingerprint| uncovered.binary_search(&fingerprint).is_ok())
        });
        // The holders are counted range by range, because a holder's part of a range may be too short to count.
        let mut holders = vec![1u32; ranges.len()];
        while let Some(other) = ComparedText::read(compared)? {
            let mut numbers: Vec<usize> = other.within(&ranges).iter().map(|place| place.0).collect();
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                holders[number] += 1;
            }
        }
        let mut kept = holders.iter().map(|&holders| holders as usize > many);
        ranges.retain(|_| kept.next().unwrap_or(false));
        if ranges.is_empty() {
            return Ok(());
        }
        holders.retain(|&holders| holders as usize > many);
        let passages: Vec<PassageId> = holders
            .iter()
            .map(|&n| self.holders.add(itself.text, n))
            .collect();
        self.cover(itself, &ranges, &passages)?;
        compared.rewind()?;
        while let Some(other) = ComparedText::read(compared)? {
            self.cover(&other, &ranges, &passages)?;
        }
        Ok(())
    }

    /// Adds the places of the passages in one holder, and covers the holder's fingerprints in these places.
    fn cover(
        &mut self,
        holder: &ComparedText,
        ranges: &[Range<u64>],
        passages: &[PassageId],
    ) -> Result<(), DedupError> {
        let mut places = Vec::new();
        for (number, place) in holder.within(ranges) {
            self.holders.place(passages[number], holder.text, &place)?;
            places.push(place);
        }
        places.sort_unstable_by_key(|place| place.start);
        for fingerprint in holder.fingerprints_in(&places) {
            if let Some(entry) = self.postings.entry(holder.text, fingerprint) {
                self.covered.set(entry);
            }
        }
        Ok(())
    }

    /// Counts the common fingerprints that many texts have outside of all passages found.
    fn left(&self) -> UncoveredCounts {
        let is_left = |&fingerprint: &FingerprintId| {
            let texts = self.postings.texts(fingerprint).iter();
            let entries = texts.filter_map(|&text| self.postings.entry(text, fingerprint));
            entries.filter(|&entry| self.is_uncovered(entry)).count() > self.postings.many()
        };
        let left: Vec<FingerprintId> = par_ids(self.postings.len()).filter(is_left).collect();
        let is_limited = |&&fingerprint: &&FingerprintId| self.work_done[fingerprint] >= MAX_WORK;
        let limited = left.iter().filter(is_limited).count() as u64;
        UncoveredCounts {
            phrases: left.len() as u64 - limited,
            limited,
        }
    }
}
