//! Passages that very many texts share. Pairs would grow with the square of their number, so each of the texts is compared with one, the
//! reference.
//!
//! The texts with the most common fingerprints are references first. What a reference has in common with others is located by
//! [`Reference`]; passages that overlap in the reference are one. A fingerprint that stands in such a passage is covered, in the reference as
//! in every other holder, and a text becomes a reference only where it has a stretch of common fingerprints that are not covered. So a text
//! is compared with few references however many texts there are, and a passage that differs a little from text to text is reported once.
//!
//! A passage is reported if the reference and one of its other holders have the containment asked for, as pairs have, or if passages that
//! are found make up that share of one of its holders.
//!
//! Time: expected linear in the fingerprints, and in the texts of the holders of each reference.

use std::ops::Range;

use fingerprint::HashKey;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use text::overlap::Shingler;
use text::passages::{Reference, Winnower};

use super::numbers::{NumberReader, NumberWriter};
use super::postings::{Covered, Entry, Postings};
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
    pub(super) covered: Covered,
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
            let (holders, _) = (self.file.number()?, self.file.number()?);
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

/// Finds the passages of common fingerprints; those are reported that reach the containment `least`.
pub(super) fn find(
    texts: &Texts<'_>,
    postings: &Postings,
    key: HashKey,
    least: f64,
    found: NumberWriter,
    go_on: GoOn<'_>,
) -> Result<SharedPassages, DedupError> {
    let mut search = Search::new((texts, postings), key, least, found, go_on);
    let common = |text: u32| {
        let entries = postings.entries_of(text);
        entries
            .filter(|entry| postings.is_common(entry.fingerprint))
            .count() as u32
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
    search.finish()
}

/// What a holder has in common with a reference.
struct Compared {
    text: u32,
    /// Characters of the holder.
    length: u64,
    /// Places in the holder and in the reference.
    passages: Vec<[Range<u64>; 2]>,
    /// The two have the containment asked for.
    is_pair: bool,
}

/// A text that others are compared with.
struct Prepared<'t> {
    passages: Reference<'t>,
    shingles: FxHashSet<u64>,
}

/// A common fingerprint of the reference that is not covered, and its place.
struct Fresh {
    entry: Entry,
    place: Range<u64>,
}

/// Buffers of one thread.
struct Buffers {
    winnower: Winnower,
    shingler: Shingler,
    block: BlockBuffer,
}

/// The state of the search.
struct Search<'s> {
    texts: &'s Texts<'s>,
    postings: &'s Postings,
    key: HashKey,
    least: f64,
    go_on: GoOn<'s>,
    covered: Covered,
    /// Fingerprints that stand in a passage of a reference, and so are covered in all texts.
    covered_in_all: Vec<bool>,
    /// References for which the texts of each fingerprint were counted.
    counted: Vec<u8>,
    /// Fingerprints that a text shares with the reference at hand.
    shared: Vec<u32>,
    /// The share of each text that stands in passages found.
    totals: Vec<f64>,
    file: NumberWriter,
    /// Passages in the file.
    passages: u64,
}

impl<'s> Search<'s> {
    fn new(
        (texts, postings): (&'s Texts<'s>, &'s Postings),
        key: HashKey,
        least: f64,
        file: NumberWriter,
        go_on: GoOn<'s>,
    ) -> Self {
        Self {
            texts,
            postings,
            key,
            least,
            go_on,
            covered: Covered::none(postings),
            covered_in_all: vec![false; postings.len() as usize],
            counted: vec![0; postings.len() as usize],
            shared: vec![0; texts.len() as usize],
            totals: vec![0.0; texts.len() as usize],
            file,
            passages: 0,
        }
    }

    fn buffers(&self) -> Buffers {
        Buffers {
            winnower: Winnower::new(self.key),
            shingler: Shingler::new(self.key),
            block: BlockBuffer::default(),
        }
    }

    /// Whether a fingerprint of a text stands in a passage that was found.
    fn is_covered(&self, entry: Entry) -> bool {
        self.covered_in_all[entry.fingerprint as usize] || self.covered.is_set(entry)
    }

    /// Whether a fingerprint makes its text a reference.
    fn is_fresh(&self, entry: Entry) -> bool {
        self.postings.is_common(entry.fingerprint)
            && self.counted[entry.fingerprint as usize] < REFERENCES
            && !self.is_covered(entry)
    }

    /// Takes a text as reference if it has a stretch that is not covered.
    fn compare_with(&mut self, reference: u32) -> Result<(), DedupError> {
        let entries = self.postings.entries_of(reference);
        if entries.filter(|&entry| self.is_fresh(entry)).count() < LEAST_SHARED as usize {
            return Ok(());
        }
        let mut buffers = self.buffers();
        let text = self.texts.canonical(reference, &mut buffers.block)?;
        let measure = self.texts.measure(reference);
        let fresh: Vec<Option<Fresh>> = buffers
            .winnower
            .placed(text, measure)
            .into_iter()
            .map(|(value, place)| {
                let entry = self.postings.entry_of_value(reference, value);
                let entry = entry.filter(|&entry| self.is_fresh(entry))?;
                let place = place.start as u64..place.end as u64;
                Some(Fresh { entry, place })
            })
            .collect();
        let stretches = fresh.split(Option::is_none);
        let stretches = stretches.filter(|stretch| stretch.len() >= LEAST_SHARED as usize);
        let fresh: Vec<&Fresh> = stretches.flatten().flatten().collect();
        let holders = self.holders(reference, &fresh);
        if holders.is_empty() {
            return Ok(());
        }
        let prepared = Prepared {
            passages: Reference::new(text, measure),
            shingles: buffers.shingler.shingle(text, measure).into_iter().collect(),
        };
        let compared = self.compare(&prepared, &holders)?;
        self.report(reference, text, &fresh, &compared)
    }

    /// The texts that share enough of the reference's fresh fingerprints, ascending.
    fn holders(&mut self, reference: u32, fresh: &[&Fresh]) -> Vec<u32> {
        let mut numbers: Vec<u32> = fresh.iter().map(|fresh| fresh.entry.fingerprint).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut holders = Vec::new();
        for &number in &numbers {
            self.counted[number as usize] += 1;
            for &text in self.postings.texts(number) {
                let shared = &mut self.shared[text as usize];
                *shared += 1;
                if *shared == LEAST_SHARED && text != reference {
                    holders.push(text);
                }
            }
        }
        for number in numbers {
            for &text in self.postings.texts(number) {
                self.shared[text as usize] = 0;
            }
        }
        holders.sort_unstable();
        holders
    }

    fn compare(&self, reference: &Prepared<'_>, holders: &[u32]) -> Result<Vec<Compared>, DedupError> {
        let compare = |buffers: &mut Buffers, &text: &u32| {
            (self.go_on)()?;
            let Buffers {
                winnower,
                shingler,
                block,
            } = buffers;
            let canonical = self.texts.canonical(text, block)?;
            let measure = self.texts.measure(text);
            let long = |place: Range<usize>| place.start as u64..place.end as u64;
            let found = reference.passages.passages(canonical).into_iter();
            let passages: Vec<_> = found.map(|passage| [long(passage.a), long(passage.b)]).collect();
            let own = passages.iter().map(|both| &both[0]);
            self.cover(text, winnower.placed(canonical, measure), own);
            let shingles = shingler.shingle(canonical, measure);
            let is_common = |shingle: &&u64| reference.shingles.contains(shingle);
            let common = shingles.iter().filter(is_common).count();
            let smaller = shingles.len().min(reference.shingles.len()).max(1);
            Ok(Compared {
                text,
                length: canonical.chars().count() as u64,
                passages,
                is_pair: common as f64 / smaller as f64 >= self.least,
            })
        };
        holders
            .par_iter()
            .with_min_len(TEXTS_A_TASK)
            .map_init(|| self.buffers(), compare)
            .collect()
    }

    /// Marks the fingerprints of a text that stand within `passages`, which ascend and do not overlap.
    fn cover<'p>(
        &self,
        text: u32,
        placed: Vec<(u64, Range<usize>)>,
        passages: impl Iterator<Item = &'p Range<u64>>,
    ) {
        let mut passages = passages.peekable();
        for (value, place) in placed {
            while passages
                .next_if(|passage| passage.end < place.end as u64)
                .is_some()
            {}
            let within = passages
                .peek()
                .is_some_and(|passage| passage.start <= place.start as u64);
            if let Some(entry) = self.postings.entry_of_value(text, value).filter(|_| within) {
                self.covered.set(entry);
            }
        }
    }

    /// Writes the passages of the reference in which fresh fingerprints stand.
    fn report(
        &mut self,
        reference: u32,
        text: &str,
        fresh: &[&Fresh],
        compared: &[Compared],
    ) -> Result<(), DedupError> {
        let length = text.chars().count() as u64;
        let places = compared.iter().flat_map(|holder| &holder.passages);
        let passages = merged(places.map(|both| both[1].clone()).collect());
        let placed = Winnower::new(self.key).placed(text, self.texts.measure(reference));
        self.cover(reference, placed, passages.iter());
        for passage in passages {
            let within = |place: &Range<u64>| passage.start <= place.start && place.end <= passage.end;
            let mut is_common = false;
            for fresh in fresh.iter().filter(|fresh| within(&fresh.place)) {
                self.covered_in_all[fresh.entry.fingerprint as usize] = true;
                is_common = true;
            }
            if !is_common {
                continue;
            }
            let mut is_pair = false;
            let mut holders = vec![Holder {
                text: reference,
                is_reference: true,
                share: share(std::slice::from_ref(&passage), length),
                places: vec![passage.clone()],
            }];
            for other in compared {
                let here = other.passages.iter().filter(|both| within(&both[1]));
                let places: Vec<Range<u64>> = here.map(|both| both[0].clone()).collect();
                if !places.is_empty() {
                    is_pair |= other.is_pair;
                    holders.push(Holder {
                        text: other.text,
                        is_reference: false,
                        share: share(&places, other.length),
                        places: longest(places, |place| place),
                    });
                }
            }
            holders.sort_unstable_by_key(|holder| holder.text);
            self.write(&holders, is_pair)?;
        }
        Ok(())
    }

    fn write(&mut self, holders: &[Holder], is_pair: bool) -> Result<(), DedupError> {
        self.passages += 1;
        self.file.push(holders.len() as u64)?;
        self.file.push(u8::from(is_pair))?;
        for holder in holders {
            self.totals[holder.text as usize] += holder.share;
            holder.write(&mut self.file)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<SharedPassages, DedupError> {
        let is_left = |&number: &u32| {
            let texts = self.postings.texts(number).iter();
            let mut entries = texts.filter_map(|&text| self.postings.entry(text, number));
            self.postings.is_common(number)
                && !self.covered_in_all[number as usize]
                && entries.any(|entry| !self.covered.is_set(entry))
        };
        let left = (0..self.postings.len()).into_par_iter().filter(is_left).count() as u64;
        let mut file = self.file.finish()?;
        let mut reported = Vec::new();
        for _ in 0..self.passages {
            let holders = file.number()?;
            let mut any = file.number()? != 0;
            for _ in 0..holders {
                let holder = Holder::read(&mut file)?;
                any |= self.totals[holder.text as usize] >= self.least;
            }
            reported.push(any);
        }
        Ok(SharedPassages {
            file,
            reported,
            left,
            covered: self.covered,
        })
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
