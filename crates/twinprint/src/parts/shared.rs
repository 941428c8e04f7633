//! Passages that very many texts share. Pairs would grow with the square of their number, so each of the texts is compared with one, the
//! reference.
//!
//! The texts with the most common fingerprints are references first. What a reference has in common with others is located by
//! [`Reference`]; passages that overlap in the reference are one. A common fingerprint that stands in such a passage is covered, in the
//! reference as in every other holder, and a text becomes a reference only where it has a stretch of fingerprints that are not covered. So a
//! text is compared with few references however many texts there are, and a passage that differs a little from text to text is reported
//! once.
//!
//! Time: expected linear in the fingerprints, and in the texts of the holders of each reference.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fingerprint::HashKey;
use rayon::prelude::*;
use text::passages::{Reference, Winnower};

use super::numbers::{NumberReader, NumberWriter};
use super::postings::Postings;
use super::texts::Texts;
use super::{GoOn, LEAST_SHARED, TEXTS_A_TASK, longest};
use crate::error::DedupError;
use crate::spool::BlockBuffer;

/// References that the texts of one fingerprint are counted for, at most.
const REFERENCES: u8 = 8;

/// A text that holds a passage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Holder {
    pub(super) text: u32,
    /// The text that the others were compared with.
    pub(super) is_reference: bool,
    /// The share of the text's characters that stand in the passage.
    pub(super) share: f64,
    /// The longest places of the passage in the text, in characters of the canonical text.
    pub(super) places: Vec<Range<u64>>,
}

impl Holder {
    fn write(&self, file: &mut NumberWriter) -> Result<(), DedupError> {
        file.push(self.text)?;
        file.push(u8::from(self.is_reference))?;
        file.push_real(self.share)?;
        file.push(self.places.len() as u64)?;
        for place in &self.places {
            file.push(place.start)?;
            file.push(place.end)?;
        }
        Ok(())
    }

    fn read(file: &mut NumberReader) -> Result<Self, DedupError> {
        let mut holder = Self {
            text: file.number()? as u32,
            is_reference: file.number()? != 0,
            share: file.real()?,
            places: Vec::new(),
        };
        for _ in 0..file.number()? {
            holder.places.push(file.number()?..file.number()?);
        }
        Ok(holder)
    }
}

/// The passages that were found.
pub(super) struct SharedPassages {
    file: NumberReader,
    /// Whether each passage is reported.
    reported: Vec<bool>,
    /// Common fingerprints in no passage.
    pub(super) left: u64,
}

impl SharedPassages {
    /// Passages that are not reported.
    pub(super) fn unreported(&self) -> u64 {
        self.reported.iter().filter(|&&reported| !reported).count() as u64
    }

    /// Gives the holders of the reported passages, passage after passage in the order of their texts, each with the number of holders.
    pub(super) fn each(
        &mut self,
        mut f: impl FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        self.file.rewind()?;
        for &reported in &self.reported {
            let holders = self.file.number()?;
            for _ in 0..holders {
                let holder = Holder::read(&mut self.file)?;
                if reported {
                    f(holders, holder)?;
                }
            }
        }
        Ok(())
    }
}

/// Finds the passages of common fingerprints. One is reported if some of its holders consist of such passages to the share `least`.
pub(super) fn find(
    texts: &Texts<'_>,
    postings: &Postings,
    key: HashKey,
    least: f64,
    found: NumberWriter,
    go_on: GoOn<'_>,
) -> Result<SharedPassages, DedupError> {
    let mut search = Search::new(texts, postings, key, found, go_on);
    let common = |text: u32| {
        let (fingerprints, _) = postings.of_text(text);
        fingerprints.iter().filter(|&&f| postings.is_common(f)).count() as u32
    };
    let mut references: Vec<(u32, u32)> = (0..texts.len())
        .into_par_iter()
        .map(|text| (common(text), text))
        .filter(|&(common, _)| common >= LEAST_SHARED)
        .collect();
    references
        .par_sort_unstable_by_key(|&(common, text)| (std::cmp::Reverse(common), postings.size(text), text));
    for (_, text) in references {
        go_on()?;
        search.compare_with(text)?;
    }
    search.finish(least)
}

/// What a holder has in common with a reference.
struct Compared {
    text: u32,
    /// Characters of the holder.
    length: u64,
    /// Places in the holder and in the reference.
    passages: Vec<[Range<u64>; 2]>,
}

/// The state of the search.
struct Search<'s> {
    texts: &'s Texts<'s>,
    postings: &'s Postings,
    key: HashKey,
    go_on: GoOn<'s>,
    /// A bit for each fingerprint of each text: it stands in a passage that was found.
    covered: Vec<AtomicU64>,
    /// The same for fingerprints of references: in all texts.
    covered_in_all: Vec<bool>,
    /// References for which the texts of each fingerprint were counted.
    counted: Vec<u8>,
    /// Fingerprints that a text shares with the reference at hand.
    shared: Vec<u32>,
    /// The share of each text that stands in passages found.
    totals: Vec<f64>,
    file: NumberWriter,
    /// The first holders of each passage stand there in the file.
    passages: u64,
}

impl<'s> Search<'s> {
    fn new(
        texts: &'s Texts<'s>,
        postings: &'s Postings,
        key: HashKey,
        file: NumberWriter,
        go_on: GoOn<'s>,
    ) -> Self {
        let words = postings.entries().div_ceil(64);
        Self {
            texts,
            postings,
            key,
            go_on,
            covered: (0..words).map(|_| AtomicU64::new(0)).collect(),
            covered_in_all: vec![false; postings.len()],
            counted: vec![0; postings.len()],
            shared: vec![0; texts.len() as usize],
            totals: vec![0.0; texts.len() as usize],
            file,
            passages: 0,
        }
    }

    /// The entry of a text's fingerprint among those of all texts.
    fn entry(&self, text: u32, fingerprint: u32) -> Option<u64> {
        let (fingerprints, start) = self.postings.of_text(text);
        let at = fingerprints.binary_search(&fingerprint).ok()?;
        Some(start + at as u64)
    }

    fn is_covered(&self, text: u32, fingerprint: u32) -> bool {
        let is_set = |entry: u64| {
            let word = &self.covered[entry as usize / 64];
            word.load(Ordering::Relaxed) >> (entry % 64) & 1 == 1
        };
        self.covered_in_all[fingerprint as usize] || self.entry(text, fingerprint).is_some_and(is_set)
    }

    fn cover(&self, text: u32, fingerprint: u32) {
        if let Some(entry) = self.entry(text, fingerprint) {
            // Bits are only ever set, so that the order of threads does not matter.
            self.covered[entry as usize / 64].fetch_or(1 << (entry % 64), Ordering::Relaxed);
        }
    }

    /// Takes a text as reference if it has a stretch that is not covered.
    fn compare_with(&mut self, reference: u32) -> Result<(), DedupError> {
        let fresh = |fingerprint: u32| {
            self.postings.is_common(fingerprint)
                && self.counted[fingerprint as usize] < REFERENCES
                && !self.is_covered(reference, fingerprint)
        };
        let (own, _) = self.postings.of_text(reference);
        if own.iter().filter(|&&fingerprint| fresh(fingerprint)).count() < LEAST_SHARED as usize {
            return Ok(());
        }
        let mut buffer = BlockBuffer::default();
        let text = self.texts.canonical(reference, &mut buffer)?;
        let measure = self.texts.measure(reference);
        let placed = Winnower::new(self.key).placed(text, measure);
        let stretches = placed.chunk_by(|a, b| {
            let is_fresh = |value| self.postings.common_of_value(value).is_some_and(&fresh);
            is_fresh(a.0) && is_fresh(b.0)
        });
        let mut stretch: Vec<(u32, Range<u64>)> = Vec::new();
        for placed in stretches.filter(|stretch| stretch.len() >= LEAST_SHARED as usize) {
            let number = |(value, place): &(u64, Range<usize>)| {
                let number = self.postings.common_of_value(*value)?;
                Some((number, place.start as u64..place.end as u64))
            };
            stretch.extend(placed.iter().filter_map(number));
        }
        let holders = self.holders(reference, &stretch);
        if holders.is_empty() {
            return Ok(());
        }
        let compared = self.compare(&Reference::new(text, measure), &holders)?;
        let length = text.chars().count() as u64;
        self.report(reference, length, &stretch, &compared)
    }

    /// The texts that share enough of a stretch with the reference, ascending.
    fn holders(&mut self, reference: u32, stretch: &[(u32, Range<u64>)]) -> Vec<u32> {
        let mut numbers: Vec<u32> = stretch.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut met = Vec::new();
        for number in numbers {
            self.counted[number as usize] += 1;
            for &text in self
                .postings
                .texts(number)
                .iter()
                .filter(|&&text| text != reference)
            {
                let shared = &mut self.shared[text as usize];
                *shared += 1;
                if *shared == LEAST_SHARED {
                    met.push(text);
                }
            }
        }
        for &(number, _) in stretch {
            for &text in self.postings.texts(number) {
                self.shared[text as usize] = 0;
            }
        }
        met.sort_unstable();
        met
    }

    fn compare(&self, reference: &Reference<'_>, holders: &[u32]) -> Result<Vec<Compared>, DedupError> {
        let compare = |(winnower, buffer): &mut (Winnower, BlockBuffer), &text: &u32| {
            (self.go_on)()?;
            let canonical = self.texts.canonical(text, buffer)?;
            let found = reference.passages(canonical);
            let mut next = 0;
            for (value, place) in winnower.placed(canonical, self.texts.measure(text)) {
                while found.get(next).is_some_and(|passage| passage.a.end < place.end) {
                    next += 1;
                }
                let within = found
                    .get(next)
                    .is_some_and(|passage| passage.a.start <= place.start);
                if let Some(number) = self.postings.common_of_value(value).filter(|_| within) {
                    self.cover(text, number);
                }
            }
            let long = |place: Range<usize>| place.start as u64..place.end as u64;
            let places = found
                .into_iter()
                .map(|passage| [long(passage.a), long(passage.b)]);
            Ok(Compared {
                text,
                length: canonical.chars().count() as u64,
                passages: places.collect(),
            })
        };
        holders
            .par_iter()
            .with_min_len(TEXTS_A_TASK)
            .map_init(|| (Winnower::new(self.key), BlockBuffer::default()), compare)
            .collect()
    }

    /// Writes the passages of the reference in which a stretch stands.
    fn report(
        &mut self,
        reference: u32,
        length: u64,
        stretch: &[(u32, Range<u64>)],
        compared: &[Compared],
    ) -> Result<(), DedupError> {
        let own = compared
            .iter()
            .flat_map(|holder| &holder.passages)
            .map(|both| both[1].clone());
        for passage in merged(own.collect()) {
            let within = |place: &Range<u64>| passage.start <= place.start && place.end <= passage.end;
            let mut is_common = false;
            for (number, _) in stretch.iter().filter(|(_, place)| within(place)) {
                is_common = true;
                self.covered_in_all[*number as usize] = true;
            }
            if !is_common {
                continue;
            }
            let mut holders = vec![Holder {
                text: reference,
                is_reference: true,
                share: share(&[passage.clone()], length),
                places: vec![passage.clone()],
            }];
            for other in compared {
                let here = other.passages.iter().filter(|both| within(&both[1]));
                let places: Vec<Range<u64>> = here.map(|both| both[0].clone()).collect();
                if !places.is_empty() {
                    holders.push(Holder {
                        text: other.text,
                        is_reference: false,
                        share: share(&places, other.length),
                        places: longest(places, |place| place),
                    });
                }
            }
            holders.sort_unstable_by_key(|holder| holder.text);
            self.file.push(holders.len() as u64)?;
            for holder in holders {
                self.totals[holder.text as usize] += holder.share;
                holder.write(&mut self.file)?;
            }
            self.passages += 1;
        }
        Ok(())
    }

    fn finish(self, least: f64) -> Result<SharedPassages, DedupError> {
        let is_left = |number: &usize| {
            let number = *number as u32;
            let texts = self.postings.texts(number);
            self.postings.is_common(number) && texts.iter().any(|&text| !self.is_covered(text, number))
        };
        let left = (0..self.postings.len()).into_par_iter().filter(is_left).count() as u64;
        let Self {
            totals,
            file,
            passages,
            ..
        } = self;
        let mut file = file.finish()?;
        let mut reported = Vec::new();
        for _ in 0..passages {
            let mut any = false;
            for _ in 0..file.number()? {
                let holder = Holder::read(&mut file)?;
                any |= totals[holder.text as usize] >= least;
            }
            reported.push(any);
        }
        Ok(SharedPassages { file, reported, left })
    }
}

/// Ranges that overlap as one, ascending.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The share of a text of so many characters that places in it make up.
fn share(places: &[Range<u64>], length: u64) -> f64 {
    let characters: u64 = places.iter().map(|place| place.end - place.start).sum();
    characters as f64 / length.max(1) as f64
}
