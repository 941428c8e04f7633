//! Passages that many texts share. Pairs would grow with the square of their number, so each of the texts is compared with one, the
//! reference.
//!
//! The texts with the most common fingerprints are references first. What a reference has in common with others is located by
//! [`Reference`]. A passage is a range of the reference of which more than [`PartsReport::MAX_PAIRED_TEXTS`](super::PartsReport::MAX_PAIRED_TEXTS) texts hold every character; each holder
//! has its part of it. The fingerprints that stand in the passage are covered, in the reference as in every other holder, and a text becomes a
//! reference only if it has common fingerprints that are not covered. So a text is compared with few references however many texts there
//! are, and a passage that differs a little from text to text is found once. What fewer texts hold is left to pairs, even where it stands
//! next to a passage.
//!
//! Time: expected linear in the fingerprints, and in the texts of the holders of each reference. What the holders of one reference have in common with
//! it waits in a temporary file.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::passages::{Reference, Winnower};

use super::compared::{Compared, Placed, Run, Shared};
use super::depth::Depth;
use super::holders::{FoundPassages, Holders};
use super::numbers::{NumberReader, NumberWriter};
use super::postings::{Covered, Entry, Postings};
use super::shares::Measuring;
use super::texts::Texts;
use super::{CheckCancelled, MIN_SHARED, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use twinprint_io::work::BlockBuffer;

/// Work for one fingerprint at most, so that it stays linear: its texts are counted, or compared with a reference.
const MAX_WORK: u8 = 64;
/// Work of counting the texts of a fingerprint.
const COUNTED: u8 = 1;
/// Work of comparing them.
const COMPARED: u8 = 8;
/// Bytes of texts compared at a time.
const BATCH: usize = 8 << 20;

/// What the search found.
pub(super) struct SharedPassages {
    pub(super) found: FoundPassages,
    pub(super) left: Left,
    pub(super) covered: Covered,
}

/// Fingerprints that more than [`PartsReport::MAX_PAIRED_TEXTS`](super::PartsReport::MAX_PAIRED_TEXTS) texts have outside of the passages that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// No passage of that many texts was found around them.
    pub(super) phrases: u64,
    /// Their texts were compared with as many references as are allowed.
    pub(super) limited: u64,
}

/// Finds the passages of common fingerprints; those are reported that make up the share `least` of a text.
pub(super) fn find(
    texts: &Texts<'_>,
    postings: &Postings,
    key: HashKey,
    least: f64,
    work: &Path,
    check_cancelled: CheckCancelled<'_>,
) -> Result<SharedPassages, DedupError> {
    let mut search = Search {
        texts,
        postings,
        key,
        work,
        check_cancelled,
        covered: Covered::none(postings),
        work_done: vec![0; postings.len() as usize],
        holders: Holders::new(work),
    };
    let common = |text: u32| {
        let entries = postings.entries_of(text);
        entries
            .filter(|entry| postings.is_common(entry.fingerprint))
            .count() as u32
    };
    let mut references: Vec<(u32, u32)> = (0..texts.len())
        .into_par_iter()
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
            &Measuring {
                texts,
                key,
                check_cancelled,
            },
        )?,
        left,
        covered: search.covered,
    })
}

/// Buffers of one thread.
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

/// The state of the search.
struct Search<'s> {
    texts: &'s Texts<'s>,
    postings: &'s Postings,
    key: HashKey,
    work: &'s Path,
    check_cancelled: CheckCancelled<'s>,
    covered: Covered,
    /// Work done for each fingerprint.
    work_done: Vec<u8>,
    holders: Holders,
}

impl Search<'_> {
    /// Whether a fingerprint of a text is common, and stands in no passage that was found.
    fn is_uncovered(&self, entry: Entry) -> bool {
        self.postings.is_common(entry.fingerprint) && !self.covered.is_set(entry)
    }

    /// Compares other texts with a reference that has common fingerprints in no passage.
    fn compare_with(&mut self, reference: u32) -> Result<(), DedupError> {
        let entries = self.postings.entries_of(reference);
        let uncovered: Vec<u32> = entries
            .filter(|&entry| self.is_uncovered(entry))
            .map(|entry| entry.fingerprint)
            .collect();
        if uncovered.len() < MIN_SHARED as usize {
            return Ok(());
        }
        let is_open = |number: &u32| self.work_done[*number as usize] < MAX_WORK;
        let open: Vec<u32> = uncovered.iter().copied().filter(is_open).collect();
        let others = self.others(reference, &uncovered, &open);
        let is_enough = others.len() >= self.postings.many();
        for number in open {
            self.work_done[number as usize] += if is_enough { COMPARED } else { COUNTED };
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
        let whole = Shared(vec![Run {
            in_holder: 0..length,
            in_reference: 0..length,
        }]);
        let itself = self.compared(reference, text, &mut buffers.winnower, vec![whole]);
        let (depth, mut compared) = self.compare(&prepared, &others)?;
        drop(prepared);
        self.add_passages(&itself, &uncovered, &depth, &mut compared)
    }

    /// The texts that share an open fingerprint of the reference and enough of all its uncovered ones, ascending.
    fn others(&self, reference: u32, uncovered: &[u32], open: &[u32]) -> Vec<u32> {
        let mut texts: Vec<u32> = Vec::new();
        for &number in open {
            texts.extend(self.postings.texts(number));
        }
        texts.par_sort_unstable();
        texts.dedup();
        let shares_enough = |&text: &u32| {
            let shared = uncovered
                .iter()
                .filter(|&&number| self.postings.entry(text, number).is_some());
            text != reference && shared.take(MIN_SHARED as usize).count() == MIN_SHARED as usize
        };
        texts.into_par_iter().filter(shares_enough).collect()
    }

    /// Locates what other texts have in common with the reference: the number of texts at each place of it, and a file of what each has.
    fn compare(
        &mut self,
        reference: &Reference<'_>,
        others: &[u32],
    ) -> Result<(Depth, NumberReader), DedupError> {
        let (texts, key) = (self.texts, self.key);
        let mut depth = Depth::default();
        let mut file = NumberWriter::create(self.work)?;
        let mut rest = others;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |&&text: &&u32| {
                bytes += texts.bytes(text);
                bytes <= BATCH
            };
            let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = after;
            let compare = |own: &mut Buffers, &text: &u32| {
                (self.check_cancelled)()?;
                texts.measured(
                    texts.bytes(text),
                    own,
                    || Buffers::new(key),
                    |buffers| {
                        let canonical = texts.canonical(text, &mut buffers.block)?;
                        let found = reference.aligned(canonical).into_iter();
                        let found = found.map(|runs| Shared(runs.iter().map(Run::from).collect()));
                        Ok(self.compared(text, canonical, &mut buffers.winnower, found.collect()))
                    },
                )
            };
            let compared: Vec<Compared> = batch
                .par_iter()
                .with_min_len(MIN_TEXTS_PER_TASK)
                .map_init(|| Buffers::new(key), compare)
                .collect::<Result<_, DedupError>>()?;
            for compared in compared {
                depth.add(compared.passages.iter().map(Shared::in_reference));
                compared.write(&mut file)?;
            }
        }
        Ok((depth, file.finish()?))
    }

    /// A text with its passages and the fingerprints in them.
    fn compared(
        &self,
        text: u32,
        canonical: &str,
        winnower: &mut Winnower,
        passages: Vec<Shared>,
    ) -> Compared {
        let places: Vec<Range<u64>> = passages.iter().map(Shared::in_holder).collect();
        let placed = winnower.placed(canonical, self.texts.measure(text)).into_iter();
        let numbered = placed.filter_map(|placed| {
            let fingerprint = self
                .postings
                .entry_of_value(text, placed.fingerprint)?
                .fingerprint;
            let place = placed.chars.start as u64..placed.chars.end as u64;
            Some(Placed { fingerprint, place })
        });
        let mut compared = Compared {
            text,
            passages,
            fingerprints: numbered.collect(),
        };
        compared.retain_fingerprints_in(&places);
        compared
    }

    /// Adds the passages in which uncovered fingerprints of the reference stand, and covers all fingerprints in them.
    fn add_passages(
        &mut self,
        itself: &Compared,
        uncovered: &[u32],
        depth: &Depth,
        compared: &mut NumberReader,
    ) -> Result<(), DedupError> {
        let many = self.postings.many();
        let mut ranges = depth.ranges(many);
        ranges.retain(|range| {
            let mut within = itself.fingerprints_in(std::slice::from_ref(range));
            within.any(|number| uncovered.binary_search(&number).is_ok())
        });
        // Of some holders nothing may be left within a range.
        let mut holders = vec![1u32; ranges.len()];
        while let Some(other) = Compared::read(compared)? {
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
        let passages: Vec<u32> = holders
            .iter()
            .map(|&n| self.holders.add(itself.text, n))
            .collect();
        self.cover(itself, &ranges, &passages)?;
        compared.rewind()?;
        while let Some(other) = Compared::read(compared)? {
            self.cover(&other, &ranges, &passages)?;
        }
        Ok(())
    }

    /// Adds the places of a holder within the passages of the reference, and covers the fingerprints in them.
    fn cover(
        &mut self,
        holder: &Compared,
        ranges: &[Range<u64>],
        passages: &[u32],
    ) -> Result<(), DedupError> {
        let mut places = Vec::new();
        for (number, place) in holder.within(ranges) {
            self.holders.place(passages[number], holder.text, &place)?;
            places.push(place);
        }
        places.sort_unstable_by_key(|place| place.start);
        for number in holder.fingerprints_in(&places) {
            if let Some(entry) = self.postings.entry(holder.text, number) {
                self.covered.set(entry);
            }
        }
        Ok(())
    }

    /// Common fingerprints that stand in no passage in many texts.
    fn left(&self) -> Left {
        let is_left = |&number: &u32| {
            let texts = self.postings.texts(number).iter();
            let entries = texts.filter_map(|&text| self.postings.entry(text, number));
            entries.filter(|&entry| self.is_uncovered(entry)).count() > self.postings.many()
        };
        let left: Vec<u32> = (0..self.postings.len()).into_par_iter().filter(is_left).collect();
        let is_limited = |number: &&u32| self.work_done[**number as usize] >= MAX_WORK;
        let limited = left.iter().filter(is_limited).count() as u64;
        Left {
            phrases: left.len() as u64 - limited,
            limited,
        }
    }
}
