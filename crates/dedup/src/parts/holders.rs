//! The passages that many texts share, with the texts that have them (their holders).
//!
//! The places of the passages are in a temporary file, sorted by passage and text. A passage is reported if it makes up
//! the wanted share of one of its holders, in shingles ([`shares`](super::shares)). Smaller passages are also reported
//! if together they make up that share of one text.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::ids::{PassageId, TextId};
use super::longest;
use super::numbers::{NumberSorter, PeekReader, SortSpace};
use super::shares::{PassagePlaces, PassageShare, ShareMeasurer, TextPassages};
use crate::error::DedupError;
use crate::ids::{Id, IdVec};

/// The bits of a text number in a packed value.
const TEXT: u32 = 32;
/// The bits of a passage number in a packed value.
const PASSAGE: u32 = 28;
/// The bits of a share in a packed value: an `f64`.
const SHARE: u32 = 64;
/// The bits of a position in a packed value. A position counts the characters of a text.
const POSITION: u32 = 34;

/// A text that has a reported passage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    pub(crate) text: TextId,
    /// True for the reference of the passage: the text that its other holders were compared with.
    pub(crate) is_reference: bool,
    /// The share of the text's shingles that are in the passage.
    pub(crate) share: f64,
    /// The longest occurrences of the passage, as character ranges of the canonical text.
    pub(crate) places: Vec<Range<u64>>,
}

/// One occurrence of a passage in a holder, as a character range of the canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HolderPlace {
    passage: PassageId,
    text: TextId,
    start: u64,
    end: u64,
}

impl HolderPlace {
    fn new(passage: PassageId, text: TextId, place: &Range<u64>) -> Self {
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

    /// Packs the place into a number. Such numbers sort by passage, then by text.
    fn by_passage(self) -> u128 {
        (u128::from(self.passage.get()) << TEXT | u128::from(self.text.get())) << (2 * POSITION) | self.ends()
    }

    fn from_by_passage(packed: u128) -> Self {
        Self {
            passage: PassageId::new((packed >> (2 * POSITION + TEXT)) as u32),
            text: TextId::new((packed >> (2 * POSITION)) as u32),
            start: position(packed >> POSITION),
            end: position(packed),
        }
    }

    /// Packs the place into a number. Such numbers sort by text, then by passage.
    fn by_text(self) -> u128 {
        (u128::from(self.text.get()) << PASSAGE | u128::from(self.passage.get())) << (2 * POSITION)
            | self.ends()
    }

    fn from_by_text(packed: u128) -> Self {
        Self {
            text: TextId::new((packed >> (2 * POSITION + PASSAGE)) as u32),
            passage: PassageId::new((packed >> (2 * POSITION)) as u32 & ((1 << PASSAGE) - 1)),
            start: position(packed >> POSITION),
            end: position(packed),
        }
    }
}

fn position(packed: u128) -> u64 {
    (packed & ((1 << POSITION) - 1)) as u64
}

impl PassageShare {
    /// Packs the share into a number. Such numbers sort by passage, then by text.
    fn packed(self) -> u128 {
        let holder = u128::from(self.passage.get()) << TEXT | u128::from(self.text.get());
        holder << SHARE | u128::from(self.value.to_bits())
    }

    fn unpacked(packed: u128) -> Self {
        Self {
            passage: PassageId::new((packed >> (SHARE + TEXT)) as u32),
            text: TextId::new((packed >> SHARE) as u32),
            value: f64::from_bits(packed as u64),
        }
    }
}

/// A passage that many texts share. Whether it is reported is decided later.
#[derive(Clone, Copy, Debug)]
struct FoundPassage {
    /// The text that the other holders were compared with.
    reference: TextId,
    /// The number of texts that have this passage.
    holders: u32,
}

/// Collects the passages and their places in all holders.
pub(super) struct Holders<'w> {
    work: SortSpace<'w>,
    found: IdVec<PassageId, FoundPassage>,
    places: NumberSorter,
}

impl<'w> Holders<'w> {
    pub(super) fn new(work: SortSpace<'w>) -> Self {
        Self {
            work,
            found: IdVec::default(),
            places: NumberSorter::new(work),
        }
    }

    /// Adds a passage with its reference and its number of holders, and returns the number of the passage.
    pub(super) fn add(&mut self, reference: TextId, holders: u32) -> PassageId {
        self.found.push(FoundPassage { reference, holders })
    }

    /// Adds one occurrence of a passage in one of its holders.
    pub(super) fn place(
        &mut self,
        passage: PassageId,
        text: TextId,
        place: &Range<u64>,
    ) -> Result<(), DedupError> {
        self.places
            .push(HolderPlace::new(passage, text, place).by_passage())
    }

    /// Decides which passages are reported: those that make up at least the share `least` of a text, alone or together
    /// with other passages of that text.
    ///
    /// # Errors
    /// The errors of temporary files and of reading texts.
    pub(super) fn finish(
        self,
        least: f64,
        measuring: &ShareMeasurer<'_>,
    ) -> Result<FoundPassages, DedupError> {
        let mut places = PeekReader::new(self.places.finish()?, HolderPlace::from_by_passage)?;
        let mut by_text = NumberSorter::new(self.work);
        while let Some(place) = places.next_if(|_| true)? {
            by_text.push(place.by_text())?;
        }
        let mut by_text = PeekReader::new(by_text.finish()?, HolderPlace::from_by_text)?;
        let mut shares = NumberSorter::new(self.work);
        let mut reported = IdVec::filled(false, self.found.len());
        measuring.each(
            || next_text(&mut by_text),
            |share| {
                reported[share.passage] |= share.value >= least;
                shares.push(share.packed())
            },
        )?;
        // The passages that are too small to be reported alone are measured together, text by text.
        let small = |of: &mut TextPassages| {
            of.passages.retain(|of| !reported[of.passage]);
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
            reported[place.passage] |= large.contains(&place.text);
        }
        Ok(FoundPassages {
            places,
            shares: PeekReader::new(shares.finish()?, PassageShare::unpacked)?,
            found: self.found,
            reported,
        })
    }
}

/// Reads the places of the next text and groups them by passage.
fn next_text(places: &mut PeekReader<HolderPlace>) -> Result<Option<TextPassages>, DedupError> {
    let Some(text) = places.next.map(|place| place.text) else {
        return Ok(None);
    };
    let mut passages: Vec<PassagePlaces> = Vec::new();
    while let Some(place) = places.next_if(|place| place.text == text)? {
        let here = place.start..place.end;
        match passages.last_mut() {
            Some(of) if of.passage == place.passage => of.places.push(here),
            _ => passages.push(PassagePlaces {
                passage: place.passage,
                places: vec![here],
            }),
        }
    }
    Ok(Some(TextPassages { text, passages }))
}

/// The passages that were found. Their places and shares are in temporary files.
pub(crate) struct FoundPassages {
    /// The places, sorted by passage and text.
    places: PeekReader<HolderPlace>,
    /// One share for each holder of each passage, sorted by passage and text.
    shares: PeekReader<PassageShare>,
    found: IdVec<PassageId, FoundPassage>,
    /// True for each passage that is reported.
    reported: IdVec<PassageId, bool>,
}

impl FoundPassages {
    /// The number of passages that are not reported.
    pub(crate) fn unreported(&self) -> u64 {
        self.reported.iter().filter(|&&reported| !reported).count() as u64
    }

    /// Calls `f` with every holder of every reported passage, sorted by passage and text. The first argument of `f` is
    /// the number of holders of the passage.
    pub(crate) fn each(
        &mut self,
        mut f: impl FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        self.places.rewind()?;
        self.shares.rewind()?;
        while let Some(share) = self.shares.next_if(|_| true)? {
            let mut places = Vec::new();
            let is_here = |place: HolderPlace| (place.passage, place.text) == (share.passage, share.text);
            while let Some(place) = self.places.next_if(is_here)? {
                places.push(place.start..place.end);
            }
            if self.reported[share.passage] {
                let FoundPassage { reference, holders } = self.found[share.passage];
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
        fn packed_ranges_of_both_orders_are_unpacked(
            passage in 0u32..1 << PASSAGE, text: u32, start in 0u64..1 << POSITION, end in 0u64..1 << POSITION,
            value in 0.0..1.0f64,
        ) {
            let (passage, text) = (PassageId::new(passage), TextId::new(text));
            let place = HolderPlace { passage, text, start, end };
            prop_assert_eq!(HolderPlace::from_by_passage(place.by_passage()), place);
            prop_assert_eq!(HolderPlace::from_by_text(place.by_text()), place);
            let share = PassageShare { text, passage, value };
            prop_assert_eq!(PassageShare::unpacked(share.packed()), share);
        }
    }
}
