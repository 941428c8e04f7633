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

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::passages::{Reference, Winnower};

use super::compared::{CommonRun, ComparedText, PlacedFingerprint, SharedPassage};
use super::covered::Covered;
use super::depth::Depth;
use super::holders::{FoundPassages, Holders};
use super::ids::{FingerprintId, PassageId, TextId};
use super::index::{FingerprintIndex, TextFingerprint};
use super::numbers::{NumberReader, NumberWriter, SortSpace};
use super::shares::ShareMeasurer;
use super::texts::{TextPlace, Texts};
use super::{CheckCancelled, MIN_SHARED, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::ids::IdVec;
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
/// The number of texts from which equal texts are left out while more are added.
const MIN_TEXTS_TO_SORT: usize = 1 << 20;

/// The result of the search for passages of many texts.
pub(crate) struct SharedPassages {
    pub(crate) found: FoundPassages,
    pub(crate) left: UncoveredCounts,
    pub(crate) covered: Covered,
}

/// The numbers of common fingerprints that are left over: more than
/// [`PartsReport::MAX_PAIRED_TEXTS`](super::PartsReport::MAX_PAIRED_TEXTS) texts have them outside of all passages
/// found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UncoveredCounts {
    /// The number of left-over fingerprints without a passage around them that as many texts share.
    pub(crate) phrases: u64,
    /// The number of left-over fingerprints on which the maximum work ([`MAX_WORK`]) was spent.
    pub(crate) limited: u64,
}

/// The texts and their fingerprints, in which passages are searched.
#[derive(Clone, Copy)]
pub(crate) struct PassageInput<'s> {
    pub(crate) texts: &'s Texts<'s>,
    pub(crate) index: &'s dyn FingerprintIndex,
    pub(crate) key: HashKey,
    pub(crate) work: SortSpace<'s>,
    pub(crate) check_cancelled: CheckCancelled<'s>,
}

/// Finds the passages around common fingerprints. Passages that make up at least the share `least` of a text are
/// reported. `references` has the texts with at least [`MIN_SHARED`] common fingerprints, those with the most first, then
/// those with the fewest fingerprints, then in the order of the texts.
pub(crate) fn find(
    input: PassageInput<'_>,
    least: f64,
    references: impl Iterator<Item = Result<TextId, DedupError>>,
) -> Result<SharedPassages, DedupError> {
    let mut search = PassageSearch {
        input,
        covered: Covered::none(input.index.entries()),
        work_done: IdVec::filled(0, input.index.numbers()),
        holders: Holders::new(input.work),
    };
    for text in references {
        (input.check_cancelled)()?;
        search.compare_with(text?)?;
    }
    let left = search.left()?;
    let measurer = ShareMeasurer {
        texts: input.texts,
        key: input.key,
        check_cancelled: input.check_cancelled,
    };
    Ok(SharedPassages {
        found: search.holders.finish(least, &measurer)?,
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
    input: PassageInput<'s>,
    covered: Covered,
    /// The work spent on each fingerprint so far, at most about [`MAX_WORK`].
    work_done: IdVec<FingerprintId, u8>,
    holders: Holders<'s>,
}

/// The common fingerprints of a reference that are not covered.
struct Uncovered {
    /// Their numbers, ascending.
    numbers: Vec<FingerprintId>,
    /// Their positions in the table of the fingerprints of all texts, ascending.
    positions: Vec<u64>,
}

/// A text that is compared with a reference.
#[derive(Clone, Copy)]
struct OtherText {
    text: TextId,
    place: TextPlace,
}

impl PassageSearch<'_> {
    /// The fingerprints of a text that are common and are not in a passage of this text that was found already.
    fn uncovered(&self, text: TextId) -> Result<Uncovered, DedupError> {
        let mut uncovered = Uncovered {
            numbers: Vec::new(),
            positions: Vec::new(),
        };
        for TextFingerprint { position, common, .. } in self.input.index.of_text(text)? {
            if let Some(number) = common.filter(|_| !self.covered.is_set(position)) {
                uncovered.numbers.push(number);
                uncovered.positions.push(position);
            }
        }
        Ok(uncovered)
    }

    /// Compares other texts with the text `reference`, if that text has enough uncovered fingerprints.
    fn compare_with(&mut self, reference: TextId) -> Result<(), DedupError> {
        let uncovered = self.uncovered(reference)?;
        if uncovered.numbers.len() < MIN_SHARED as usize {
            return Ok(());
        }
        let is_open = |&fingerprint: &FingerprintId| self.work_done[fingerprint] < MAX_WORK;
        let open: Vec<FingerprintId> = uncovered.numbers.iter().copied().filter(is_open).collect();
        let others = self.others(reference, &uncovered, &open)?;
        let is_enough = others.len() >= self.input.index.many();
        for fingerprint in open {
            self.work_done[fingerprint] += if is_enough { COMPARISON_WORK } else { COUNTING_WORK };
        }
        if !is_enough {
            return Ok(());
        }
        let PassageInput { texts, key, .. } = self.input;
        let mut buffers = Buffers::new(key);
        let place = texts.place(reference)?;
        let text = texts.canonical(place, &mut buffers.block)?;
        let prepare = |(): &mut ()| Reference::new(text, place.measure);
        let prepared = texts.measured(place.bytes(), &mut (), || (), prepare);
        let length = text.chars().count() as u64;
        let whole = SharedPassage(vec![CommonRun {
            in_holder: 0..length,
            in_reference: 0..length,
        }]);
        let itself = OtherText {
            text: reference,
            place,
        };
        let itself = self.compared(itself, text, &mut buffers.winnower, vec![whole])?;
        let (depth, mut compared) = self.compare(&prepared, &others)?;
        drop(prepared);
        self.add_passages(&itself, &uncovered.positions, &depth, &mut compared)
    }

    /// The texts to compare with the reference, ascending. They have one of the fingerprints `open`, and enough of the
    /// fingerprints `uncovered` of the reference.
    fn others(
        &self,
        reference: TextId,
        uncovered: &Uncovered,
        open: &[FingerprintId],
    ) -> Result<Vec<TextId>, DedupError> {
        let index = self.input.index;
        let mut texts: Vec<TextId> = Vec::new();
        let mut most = MIN_TEXTS_TO_SORT;
        for &fingerprint in open {
            index.add_texts(fingerprint, &mut texts)?;
            if texts.len() >= most {
                keep_few(&mut texts);
                most = MIN_TEXTS_TO_SORT.max(2 * texts.len());
            }
        }
        keep_few(&mut texts);
        let others: Vec<&[TextId]> = texts.chunk_by(|a, b| a == b).collect();
        let shares_enough = |same: &[TextId]| -> Result<bool, DedupError> {
            // All fingerprints of the text that are uncovered in the reference were counted if all of them are open.
            if same.len() == MIN_SHARED as usize || open.len() == uncovered.numbers.len() {
                return Ok(same.len() == MIN_SHARED as usize);
            }
            let own = index.of_text(same[0])?.into_iter();
            let mut shared = own.filter_map(|of| of.common);
            let mut found = 0;
            let is_enough = shared.any(|number| {
                found += u32::from(uncovered.numbers.binary_search(&number).is_ok());
                found == MIN_SHARED
            });
            Ok(is_enough)
        };
        let wanted = others.into_par_iter().map(|same| {
            let is_wanted = same[0] != reference && shares_enough(same)?;
            Ok(is_wanted.then_some(same[0]))
        });
        let wanted: Vec<Option<TextId>> = wanted.collect::<Result<_, DedupError>>()?;
        Ok(wanted.into_iter().flatten().collect())
    }

    /// Locates the passages that other texts share with the reference. Returns, for each character of the reference,
    /// the number of texts that share it, and a file with the passages of each text.
    fn compare(
        &mut self,
        reference: &Reference<'_>,
        others: &[TextId],
    ) -> Result<(Depth, NumberReader), DedupError> {
        let PassageInput {
            texts,
            key,
            check_cancelled,
            ..
        } = self.input;
        let mut depth = Depth::default();
        let mut file = NumberWriter::create(self.input.work.dir)?;
        let mut rest = others.iter().copied().peekable();
        while rest.peek().is_some() {
            let mut bytes = 0;
            let mut batch: Vec<OtherText> = Vec::new();
            while let Some(&text) = rest.peek() {
                let place = texts.place(text)?;
                bytes += place.bytes();
                if bytes > BATCH_BYTES && !batch.is_empty() {
                    break;
                }
                batch.push(OtherText { text, place });
                rest.next();
            }
            let compare = |own: &mut Buffers, &other: &OtherText| {
                check_cancelled()?;
                let new = || Buffers::new(key);
                texts.measured(other.place.bytes(), own, new, |buffers| {
                    let canonical = texts.canonical(other.place, &mut buffers.block)?;
                    let found = reference.aligned(canonical).into_iter();
                    let found = found.map(|runs| SharedPassage(runs.iter().map(CommonRun::from).collect()));
                    self.compared(other, canonical, &mut buffers.winnower, found.collect())
                })
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
        OtherText { text, place }: OtherText,
        canonical: &str,
        winnower: &mut Winnower,
        passages: Vec<SharedPassage>,
    ) -> Result<ComparedText, DedupError> {
        let places: Vec<Range<u64>> = passages.iter().map(SharedPassage::in_holder).collect();
        let own = self.input.index.of_text(text)?;
        let placed = winnower.placed(canonical, place.measure).into_iter();
        let positioned = placed.filter_map(|placed| {
            let at = own
                .binary_search_by_key(&placed.fingerprint, |of| of.value)
                .ok()?;
            Some(PlacedFingerprint {
                position: own[at].position,
                place: placed.chars.start as u64..placed.chars.end as u64,
            })
        });
        let mut compared = ComparedText {
            text,
            passages,
            fingerprints: positioned.collect(),
        };
        compared.retain_fingerprints_in(&places);
        Ok(compared)
    }

    /// Adds the passages that contain uncovered fingerprints of the reference, which are given by their positions. Covers
    /// all fingerprints in these passages.
    fn add_passages(
        &mut self,
        itself: &ComparedText,
        uncovered: &[u64],
        depth: &Depth,
        compared: &mut NumberReader,
    ) -> Result<(), DedupError> {
        let many = self.input.index.many();
        let mut ranges = depth.ranges(many);
        ranges.retain(|range| {
            let mut within = itself.positions_in(std::slice::from_ref(range));
            within.any(|position| uncovered.binary_search(&position).is_ok())
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
        holder
            .positions_in(&places)
            .for_each(|position| self.covered.set(position));
        Ok(())
    }

    /// Counts the common fingerprints that many texts have outside of all passages found.
    fn left(&self) -> Result<UncoveredCounts, DedupError> {
        let index = self.input.index;
        let mut uncovered: IdVec<FingerprintId, u32> = IdVec::filled(0, index.numbers());
        index.each_common(&mut |position, fingerprint| {
            uncovered[fingerprint] += u32::from(!self.covered.is_set(position));
        })?;
        let mut left = UncoveredCounts::default();
        for (&texts, &work_done) in uncovered.iter().zip(&self.work_done) {
            if texts as usize > index.many() {
                let count = if work_done >= MAX_WORK {
                    &mut left.limited
                } else {
                    &mut left.phrases
                };
                *count += 1;
            }
        }
        Ok(left)
    }
}

/// Sorts texts, and keeps at most [`MIN_SHARED`] of equal ones.
fn keep_few(texts: &mut Vec<TextId>) {
    texts.par_sort_unstable();
    let mut same = 0;
    let mut last = None;
    texts.retain(|&text| {
        same = if last == Some(text) { same + 1 } else { 1 };
        last = Some(text);
        same <= MIN_SHARED
    });
}
