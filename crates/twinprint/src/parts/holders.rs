//! The passages that were found, with the texts that hold them.
//!
//! Places wait in a file that is sorted by passage and text. A passage is reported if it makes up the share asked for of one of its holders. If
//! passages that are smaller than that make it up together in one text, they are reported as well.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::depth::merged;
use super::longest;
use super::numbers::{NumberReader, Sorting};
use crate::error::DedupError;

/// Bits of the number of a text.
const TEXT: u32 = 32;
/// Bits of a position in a text, in characters.
const POSITION: u32 = 34;

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

    fn packed(self) -> u128 {
        let ends = u128::from(self.start) << POSITION | u128::from(self.end);
        (u128::from(self.passage) << TEXT | u128::from(self.text)) << (2 * POSITION) | ends
    }

    fn unpacked(packed: u128) -> Self {
        let position = |number: u128| (number & ((1 << POSITION) - 1)) as u64;
        Self {
            passage: (packed >> (2 * POSITION + TEXT)) as u32,
            text: (packed >> (2 * POSITION)) as u32,
            start: position(packed >> POSITION),
            end: position(packed),
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
        self.places.push(PlaceOf::new(passage, text, place).packed())
    }

    /// Decides which are reported. `lengths` are the characters of the texts that hold passages.
    ///
    /// # Errors
    /// What the system says of temporary files.
    pub(super) fn finish(self, least: f64, lengths: Vec<u64>) -> Result<FoundPassages, DedupError> {
        let mut places = self.places.finish()?;
        let is_enough = |text: u32, places: &[Range<u64>]| share(places, lengths[text as usize]) >= least;
        let mut reported = vec![false; self.found.len()];
        each_group(&mut places, |passage, text, places| {
            reported[passage as usize] |= is_enough(text, places);
            Ok(())
        })?;
        // The smaller ones of each text together.
        let mut small = Sorting::new(&self.work);
        each_group(&mut places, |passage, text, places| {
            let mut places = places.iter().filter(|_| !reported[passage as usize]);
            places.try_for_each(|place| small.push(PlaceOf::new(0, text, place).packed()))
        })?;
        let mut together = vec![false; lengths.len()];
        each_group(&mut small.finish()?, |_, text, places| {
            together[text as usize] = is_enough(text, places);
            Ok(())
        })?;
        each_group(&mut places, |passage, text, _| {
            reported[passage as usize] |= together[text as usize];
            Ok(())
        })?;
        Ok(FoundPassages {
            places,
            found: self.found,
            reported,
            lengths,
        })
    }
}

/// The passages that were found, in a file.
pub(super) struct FoundPassages {
    places: NumberReader,
    found: Vec<Found>,
    /// Whether each passage is reported.
    reported: Vec<bool>,
    /// Characters of the texts that hold passages.
    lengths: Vec<u64>,
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
        let (found, reported, lengths) = (&self.found, &self.reported, &self.lengths);
        each_group(&mut self.places, |passage, text, places| {
            if !reported[passage as usize] {
                return Ok(());
            }
            let passage = found[passage as usize];
            let holder = Holder {
                text,
                is_reference: text == passage.reference,
                share: share(places, lengths[text as usize]),
                places: longest(places.to_vec(), |place| place),
            };
            f(u64::from(passage.holders), holder)
        })
    }
}

/// Gives the places of each passage in each of its holders, from the first.
fn each_group(
    file: &mut NumberReader,
    mut f: impl FnMut(u32, u32, &[Range<u64>]) -> Result<(), DedupError>,
) -> Result<(), DedupError> {
    file.rewind()?;
    let mut next = || Ok::<_, DedupError>(file.next()?.map(PlaceOf::unpacked));
    let mut places = Vec::new();
    let mut here = next()?;
    while let Some(place) = here {
        places.push(place.start..place.end);
        here = next()?;
        if here.is_none_or(|next| (next.passage, next.text) != (place.passage, place.text)) {
            f(place.passage, place.text, &places)?;
            places.clear();
        }
    }
    Ok(())
}

/// The share of a text of so many characters that places in it make up together.
fn share(places: &[Range<u64>], length: u64) -> f64 {
    let places = merged(places.to_vec());
    let characters: u64 = places.iter().map(|place| place.end - place.start).sum();
    characters as f64 / length.max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_come_back(passage in 0u32..1 << 28, text: u32, start in 0u64..1 << POSITION, end in 0u64..1 << POSITION) {
            let place = PlaceOf { passage, text, start, end };
            prop_assert_eq!(PlaceOf::unpacked(place.packed()), place);
        }
    }

    #[test]
    fn a_passage_is_reported_if_it_makes_up_the_share_of_a_text_alone_or_with_other_small_ones() {
        let dir = tempfile::tempdir().unwrap();
        // Characters of 100, in texts of 100.
        let reported = |passages: &[&[(u32, Range<u64>)]]| {
            let mut holders = Holders::new(dir.path());
            for places in passages {
                let passage = holders.add(places[0].0, places.len() as u32);
                for (text, place) in *places {
                    holders.place(passage, *text, place).unwrap();
                }
            }
            holders.finish(0.3, vec![100; 4]).unwrap().reported
        };
        assert_eq!(
            reported(&[&[(0, 0..29), (1, 0..30)], &[(2, 0..29), (3, 0..29)]]),
            [true, false]
        );
        // A footer is not reported for a passage that is large by itself.
        assert_eq!(
            reported(&[&[(0, 0..40), (1, 0..40)], &[(0, 50..60), (2, 0..10)]]),
            [true, false]
        );
        assert_eq!(
            reported(&[&[(0, 0..20), (1, 0..20)], &[(0, 50..60), (1, 0..10)]]),
            [true, true]
        );
        // What overlaps counts once.
        assert_eq!(
            reported(&[&[(0, 0..20), (1, 0..20)], &[(0, 10..29), (1, 10..29)]]),
            [false, false]
        );
    }
}
