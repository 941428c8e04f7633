//! The shares of texts that passages make up, in shingles as with pairs: a passage is measured in the same way whether few texts hold it or many.
//!
//! Texts are read in their order, each with the places of all its passages, and cut into shingles in parallel.

use std::ops::Range;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{Shingler, overlap};

use super::depth::merged;
use super::texts::Texts;
use super::{CheckCancelled, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use twinprint_io::work::BlockBuffer;

/// Places held at a time.
const HELD: usize = 1 << 15;

/// The places of a passage in one of its holders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfPassage {
    pub(super) passage: u32,
    /// In characters of the canonical text.
    pub(super) places: Vec<Range<u64>>,
}

/// The passages of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfText {
    pub(super) text: u32,
    /// By their numbers, ascending.
    pub(super) passages: Vec<OfPassage>,
}

impl OfText {
    /// Makes one passage of all.
    pub(super) fn put_together(&mut self) {
        let places = self.passages.drain(..).flat_map(|of| of.places).collect();
        self.passages.push(OfPassage { passage: 0, places });
    }
}

/// A share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) text: u32,
    pub(super) passage: u32,
    /// The share of the text's distinct shingles that stand in the passage.
    pub(super) value: f64,
}

/// Measures shares.
pub(super) struct Measuring<'m> {
    pub(super) texts: &'m Texts<'m>,
    pub(super) key: HashKey,
    pub(super) check_cancelled: CheckCancelled<'m>,
}

/// Buffers of one thread.
struct Buffers {
    shingler: Shingler,
    block: BlockBuffer,
}

impl Measuring<'_> {
    /// Gives the shares of all passages of all texts, which `next` gives in order.
    ///
    /// # Errors
    /// Those of `next`, of `f` and of reading texts.
    pub(super) fn each(
        &self,
        mut next: impl FnMut() -> Result<Option<OfText>, DedupError>,
        mut f: impl FnMut(Share) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let mut batch: Vec<OfText> = Vec::new();
        let mut places = 0;
        loop {
            let of = next()?;
            let is_last = of.is_none();
            if let Some(of) = of {
                places += of.passages.iter().map(|of| of.places.len()).sum::<usize>();
                batch.push(of);
            }
            if is_last || places >= HELD {
                self.shares(&batch)?.into_iter().flatten().try_for_each(&mut f)?;
                batch.clear();
                places = 0;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn shares(&self, batch: &[OfText]) -> Result<Vec<Vec<Share>>, DedupError> {
        let new = || Buffers {
            shingler: Shingler::new(self.key),
            block: BlockBuffer::default(),
        };
        let measure = |own: &mut Buffers, of: &OfText| {
            (self.check_cancelled)()?;
            self.texts
                .measured(self.texts.bytes(of.text), own, new, |buffers| {
                    let text = self.texts.canonical(of.text, &mut buffers.block)?;
                    Ok(shares_of(
                        &mut buffers.shingler,
                        text,
                        self.texts.measure(of.text),
                        of,
                    ))
                })
        };
        let batch = batch.par_iter().with_min_len(MIN_TEXTS_PER_TASK);
        batch.map_init(new, measure).collect()
    }
}

/// The shares of the passages of one text.
fn shares_of(shingler: &mut Shingler, text: &str, measure: Measure, of: &OfText) -> Vec<Share> {
    let whole = shingler.shingle(text, measure);
    let share = |of_passage: &OfPassage| {
        let mut shingles = Vec::new();
        for place in cut(text, merged(of_passage.places.clone())) {
            shingles.extend(shingler.shingle(place, measure));
        }
        shingles.sort_unstable();
        shingles.dedup();
        Share {
            text: of.text,
            passage: of_passage.passage,
            value: f64::from(overlap(&whole, &shingles).common) / whole.len().max(1) as f64,
        }
    };
    of.passages.iter().map(share).collect()
}

/// Cuts places, which ascend, out of a text. One walk over the text.
fn cut(text: &str, places: Vec<Range<u64>>) -> impl Iterator<Item = &str> {
    let (mut at, mut rest) = (0, text);
    places.into_iter().map(move |place| {
        let mut take = |to: u64| {
            let bytes = rest.char_indices().nth(to.saturating_sub(at) as usize);
            let (taken, after) = rest.split_at(bytes.map_or(rest.len(), |(byte, _)| byte));
            (at, rest) = (to.max(at), after);
            taken
        };
        take(place.start);
        take(place.end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_cut_by_characters(text in "[a-c是é ]{0,40}", places in prop::collection::vec((0u64..50, 0u64..9), 0..6)) {
            let places = merged(places.into_iter().map(|(start, length)| start..start + length).collect());
            let characters: Vec<char> = text.chars().collect();
            let cut: Vec<&str> = cut(&text, places.clone()).collect();
            for (place, cut) in places.iter().zip(cut) {
                let end = (place.end as usize).min(characters.len());
                let expected: String = characters[(place.start as usize).min(end)..end].iter().collect();
                prop_assert_eq!(cut, expected);
            }
        }
    }

    #[test]
    fn a_share_is_that_of_distinct_shingles() {
        let mut shingler = Shingler::new(HashKey::new(1, 2));
        // Eight words: six shingles. The first four words have two of them.
        let mut of = OfText {
            text: 5,
            passages: vec![
                OfPassage {
                    passage: 2,
                    places: vec![0..3, 2..7],
                },
                OfPassage {
                    passage: 3,
                    places: vec![2..9, 4..15],
                },
            ],
        };
        let mut shares = |of: &OfText| -> Vec<f64> {
            let shares = shares_of(&mut shingler, "a b c d e f g h", Measure::WordGrams, of);
            assert!(shares.iter().all(|share| share.text == 5));
            shares.iter().map(|share| share.value).collect()
        };
        assert_eq!(shares(&of), [2.0 / 6.0, 5.0 / 6.0]);
        of.put_together();
        assert_eq!(shares(&of), [1.0]);
    }
}
