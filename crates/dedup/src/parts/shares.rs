//! The share of a text that a passage makes up, in shingles.
//!
//! Pairs are measured in shingles too, so the share of a passage is comparable with the containment of a pair. Texts
//! are read in input order, each with the places of all its passages, and cut into shingles in parallel.

use std::ops::Range;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{Shingler, overlap};

use super::depth::merged;
use super::ids::{PassageId, TextId};
use super::texts::Texts;
use super::{CheckCancelled, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::ids::Id;
use twinprint_io::work::BlockBuffer;

/// The number of places at which a batch of texts is large enough to be measured.
const BATCH_PLACES: usize = 1 << 15;

/// The occurrences of a passage in one of its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PassagePlaces {
    pub(super) passage: PassageId,
    /// The occurrences as ranges of characters of the canonical text.
    pub(super) places: Vec<Range<u64>>,
}

/// A text with the passages that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPassages {
    pub(super) text: TextId,
    /// The passages of the text with their places, ascending by number.
    pub(super) passages: Vec<PassagePlaces>,
}

impl TextPassages {
    /// Merges all passages of the text into one, so that they are measured together.
    pub(super) fn put_together(&mut self) {
        let places = self.passages.drain(..).flat_map(|of| of.places).collect();
        self.passages.push(PassagePlaces {
            passage: PassageId::new(0),
            places,
        });
    }
}

/// The share of a text that a passage makes up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PassageShare {
    pub(super) text: TextId,
    pub(super) passage: PassageId,
    /// The number of distinct shingles of the passage over the number of those of the text.
    pub(super) value: f64,
}

/// Measures the shares of passages.
pub(super) struct ShareMeasurer<'m> {
    pub(super) texts: &'m Texts<'m>,
    pub(super) key: HashKey,
    pub(super) check_cancelled: CheckCancelled<'m>,
}

/// The buffers of one thread that measures shares.
struct Buffers {
    shingler: Shingler,
    block: BlockBuffer,
}

impl ShareMeasurer<'_> {
    /// Calls `f` with the share of every passage of every text. `next` returns one text after another.
    ///
    /// # Errors
    /// The errors of `next` and of `f`, and those of reading texts.
    pub(super) fn each(
        &self,
        mut next: impl FnMut() -> Result<Option<TextPassages>, DedupError>,
        mut f: impl FnMut(PassageShare) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let mut batch: Vec<TextPassages> = Vec::new();
        let mut places = 0;
        loop {
            let of = next()?;
            let is_last = of.is_none();
            if let Some(of) = of {
                places += of.passages.iter().map(|of| of.places.len()).sum::<usize>();
                batch.push(of);
            }
            if is_last || places >= BATCH_PLACES {
                self.shares(&batch)?.into_iter().flatten().try_for_each(&mut f)?;
                batch.clear();
                places = 0;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn shares(&self, batch: &[TextPassages]) -> Result<Vec<Vec<PassageShare>>, DedupError> {
        let new = || Buffers {
            shingler: Shingler::for_one_run(self.key),
            block: BlockBuffer::default(),
        };
        let measure = |own: &mut Buffers, of: &TextPassages| {
            (self.check_cancelled)()?;
            let place = self.texts.place(of.text)?;
            self.texts.measured(place.bytes(), own, new, |buffers| {
                let text = self.texts.canonical(place, &mut buffers.block)?;
                Ok(shares_of(&mut buffers.shingler, text, place.measure, of))
            })
        };
        let batch = batch.par_iter().with_min_len(MIN_TEXTS_PER_TASK);
        batch.map_init(new, measure).collect()
    }
}

/// Measures the shares of the passages of one text.
fn shares_of(shingler: &mut Shingler, text: &str, measure: Measure, of: &TextPassages) -> Vec<PassageShare> {
    let whole = shingler.shingle(text, measure);
    let share = |of_passage: &PassagePlaces| {
        let mut shingles = Vec::new();
        for place in cut(text, merged(of_passage.places.clone())) {
            shingles.extend(shingler.shingle(place, measure));
        }
        shingles.sort_unstable();
        shingles.dedup();
        PassageShare {
            text: of.text,
            passage: of_passage.passage,
            value: f64::from(overlap(&whole, &shingles).common) / whole.len().max(1) as f64,
        }
    };
    of.passages.iter().map(share).collect()
}

/// Cuts the pieces at `places`, which are ascending ranges of characters, out of a text in one pass.
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
        fn ranges_are_cut_by_characters(text in "[a-c是é ]{0,40}", places in prop::collection::vec((0u64..50, 0u64..9), 0..6)) {
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
    fn a_share_counts_distinct_shingles() {
        let mut shingler = Shingler::for_one_run(HashKey::new(1, 2));
        // Eight words have six shingles. The first four words have two of them.
        let mut of = TextPassages {
            text: TextId::new(5),
            passages: vec![
                PassagePlaces {
                    passage: PassageId::new(2),
                    places: vec![0..3, 2..7],
                },
                PassagePlaces {
                    passage: PassageId::new(3),
                    places: vec![2..9, 4..15],
                },
            ],
        };
        let mut shares = |of: &TextPassages| -> Vec<f64> {
            let shares = shares_of(&mut shingler, "a b c d e f g h", Measure::WordGrams, of);
            assert!(shares.iter().all(|share| share.text == TextId::new(5)));
            shares.iter().map(|share| share.value).collect()
        };
        assert_eq!(shares(&of), [2.0 / 6.0, 5.0 / 6.0]);
        of.put_together();
        assert_eq!(shares(&of), [1.0]);
    }
}
