//! The passages that were found, with the texts that hold them.
//!
//! Places wait in a file that is sorted by passage and text. A passage is reported if it makes up the share asked for of one of its holders, by
//! shingles ([`shares`](super::shares)). If passages that are smaller than that make it up together in one text, they are reported as well.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::longest;
use super::numbers::{Ahead, Sorting};
use super::shares::{Measuring, OfPassage, OfText, Share};
use crate::error::DedupError;

/// Bits of the number of a text.
const TEXT: u32 = 32;
/// Bits of the number of a passage.
const PASSAGE: u32 = 28;
/// Bits of a share.
const SHARE: u32 = 64;
/// Bits of a position in a text, in characters.
const POSITION: u32 = 34;

/// A text that holds a passage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Holder {
    pub(super) text: u32,
    /// The text that the others were compared with.
    pub(super) is_reference: bool,
    /// The share of the text's shingles that stand in the passage.
    pub(super) share: f64,
    /// The longest places of the passage in the text, in characters of the canonical text.
    pub(super) places: Vec<Range<u64>>,
}

/// A place of a passage in one of its holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlaceOf {
    passage: u32,
    text: u32,
    start: u64,
    end: u64,
}

impl PlaceOf {
    fn new(passage: u32, text: u32, place: &Range<u64>) -> Self {
        Self {
            passage,
            text,
            start: place.start,
            end: place.end,
        }
    }

    fn ends(self) -> u128 {
        u128::from(self.start) << POSITION | u128::from(self.end)
    }

    /// A number that sorts by passage and text.
    fn by_passage(self) -> u128 {
        (u128::from(self.passage) << TEXT | u128::from(self.text)) << (2 * POSITION) | self.ends()
    }

    fn from_by_passage(packed: u128) -> Self {
        Self {
            passage: (packed >> (2 * POSITION + TEXT)) as u32,
            text: (packed >> (2 * POSITION)) as u32,
            start: position(packed >> POSITION),
            end: position(packed),
        }
    }

    /// A number that sorts by text and passage.
    fn by_text(self) -> u128 {
        (u128::from(self.text) << PASSAGE | u128::from(self.passage)) << (2 * POSITION) | self.ends()
    }

    fn from_by_text(packed: u128) -> Self {
        Self {
            text: (packed >> (2 * POSITION + PASSAGE)) as u32,
            passage: (packed >> (2 * POSITION)) as u32 & ((1 << PASSAGE) - 1),
            start: position(packed >> POSITION),
            end: position(packed),
        }
    }
}

fn position(packed: u128) -> u64 {
    (packed & ((1 << POSITION) - 1)) as u64
}

impl Share {
    /// A number that sorts by passage and text.
    fn packed(self) -> u128 {
        let holder = u128::from(self.passage) << TEXT | u128::from(self.text);
        holder << SHARE | u128::from(self.value.to_bits())
    }

    fn unpacked(packed: u128) -> Self {
        Self {
            passage: (packed >> (SHARE + TEXT)) as u32,
            text: (packed >> SHARE) as u32,
            value: f64::from_bits(packed as u64),
        }
    }
}

/// A passage.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The text that the others were compared with.
    reference: u32,
    holders: u32,
}

/// Collects passages and their holders.
pub(super) struct Holders {
    work: PathBuf,
    found: Vec<Found>,
    places: Sorting,
}

impl Holders {
    pub(super) fn new(work: &Path) -> Self {
        Self {
            work: work.to_owned(),
            found: Vec::new(),
            places: Sorting::new(work),
        }
    }

    /// The number of a further passage.
    pub(super) fn add(&mut self, reference: u32, holders: u32) -> u32 {
        self.found.push(Found { reference, holders });
        self.found.len() as u32 - 1
    }

    /// A place of a passage in one of its holders.
    pub(super) fn place(&mut self, passage: u32, text: u32, place: &Range<u64>) -> Result<(), DedupError> {
        self.places.push(PlaceOf::new(passage, text, place).by_passage())
    }

    /// Decides which are reported: those with the share `least` of a text.
    ///
    /// # Errors
    /// Those of temporary files and of reading texts.
    pub(super) fn finish(self, least: f64, measuring: &Measuring<'_>) -> Result<FoundPassages, DedupError> {
        let mut places = Ahead::new(self.places.finish()?, PlaceOf::from_by_passage)?;
        let mut by_text = Sorting::new(&self.work);
        while let Some(place) = places.next_if(|_| true)? {
            by_text.push(place.by_text())?;
        }
        let mut by_text = Ahead::new(by_text.finish()?, PlaceOf::from_by_text)?;
        let mut shares = Sorting::new(&self.work);
        let mut reported = vec![false; self.found.len()];
        measuring.each(
            || next_text(&mut by_text),
            |share| {
                reported[share.passage as usize] |= share.value >= least;
                shares.push(share.packed())
            },
        )?;
        // The smaller ones of each text together; one alone is too small.
        let small = |of: &mut OfText| {
            of.passages.retain(|of| !reported[of.passage as usize]);
            of.passages.len() > 1
        };
        let mut large = FxHashSet::default();
        by_text.rewind()?;
        measuring.each(
            || {
                while let Some(mut of) = next_text(&mut by_text)? {
                    if small(&mut of) {
                        of.put_together();
                        return Ok(Some(of));
                    }
                }
                Ok(None)
            },
            |together| {
                if together.value >= least {
                    large.insert(together.text);
                }
                Ok(())
            },
        )?;
        by_text.rewind()?;
        while let Some(place) = by_text.next_if(|_| true)? {
            reported[place.passage as usize] |= large.contains(&place.text);
        }
        Ok(FoundPassages {
            places,
            shares: Ahead::new(shares.finish()?, Share::unpacked)?,
            found: self.found,
            reported,
        })
    }
}

/// The passages of the next text.
fn next_text(places: &mut Ahead<PlaceOf>) -> Result<Option<OfText>, DedupError> {
    let Some(text) = places.next.map(|place| place.text) else {
        return Ok(None);
    };
    let mut passages: Vec<OfPassage> = Vec::new();
    while let Some(place) = places.next_if(|place| place.text == text)? {
        let here = place.start..place.end;
        match passages.last_mut() {
            Some(of) if of.passage == place.passage => of.places.push(here),
            _ => passages.push(OfPassage {
                passage: place.passage,
                places: vec![here],
            }),
        }
    }
    Ok(Some(OfText { text, passages }))
}

/// The passages that were found, in files.
pub(super) struct FoundPassages {
    /// By passage and text.
    places: Ahead<PlaceOf>,
    /// One for each holder, by passage and text.
    shares: Ahead<Share>,
    found: Vec<Found>,
    /// Whether each passage is reported.
    reported: Vec<bool>,
}

impl FoundPassages {
    /// Passages that are not reported.
    pub(super) fn unreported(&self) -> u64 {
        self.reported.iter().filter(|&&reported| !reported).count() as u64
    }

    /// Gives the holders of the reported passages, passage after passage in the order of their texts, each with the number of holders.
    pub(super) fn each(
        &mut self,
        mut f: impl FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        self.places.rewind()?;
        self.shares.rewind()?;
        while let Some(share) = self.shares.next_if(|_| true)? {
            let mut places = Vec::new();
            let is_here = |place: PlaceOf| (place.passage, place.text) == (share.passage, share.text);
            while let Some(place) = self.places.next_if(is_here)? {
                places.push(place.start..place.end);
            }
            let (passage, is_reported) = (share.passage as usize, self.reported[share.passage as usize]);
            if is_reported {
                let Found { reference, holders } = self.found[passage];
                let holder = Holder {
                    text: share.text,
                    is_reference: share.text == reference,
                    share: share.value,
                    places: longest(places, |place| place),
                };
                f(u64::from(holders), holder)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_come_back_in_both_orders(
            passage in 0u32..1 << PASSAGE, text: u32, start in 0u64..1 << POSITION, end in 0u64..1 << POSITION,
            value in 0.0..1.0f64,
        ) {
            let place = PlaceOf { passage, text, start, end };
            prop_assert_eq!(PlaceOf::from_by_passage(place.by_passage()), place);
            prop_assert_eq!(PlaceOf::from_by_text(place.by_text()), place);
            let share = Share { text, passage, value };
            prop_assert_eq!(Share::unpacked(share.packed()), share);
        }
    }
}
