//! The passages that a holder shares with the reference, the text that all holders of a passage are compared with.

use std::ops::Range;

use twinprint_text::passages::{MIN_PASSAGE_CHARS, Passage};

use super::ids::TextId;
use super::numbers::{NumberReader, NumberWriter};
use crate::error::DedupError;
use crate::ids::Id;

/// The minimum length, in characters, of the part of a passage that is left after a cut.
const MIN_CUT_CHARS: u64 = MIN_PASSAGE_CHARS as u64;

/// A run of equal words or letters in a holder and the reference, as character ranges of their canonical texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CommonRun {
    pub(super) in_holder: Range<u64>,
    pub(super) in_reference: Range<u64>,
}

impl From<&Passage> for CommonRun {
    fn from(passage: &Passage) -> Self {
        let long = |place: &Range<usize>| place.start as u64..place.end as u64;
        Self {
            in_holder: long(&passage.a),
            in_reference: long(&passage.b),
        }
    }
}

/// A passage that a holder and the reference share: runs of equal text with small differences between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedPassage(pub(super) Vec<CommonRun>);

impl SharedPassage {
    fn around(&self, side: fn(&CommonRun) -> &Range<u64>) -> Range<u64> {
        match self.0.as_slice() {
            [] => 0..0,
            [first, .., last] => side(first).start..side(last).end,
            [only] => side(only).clone(),
        }
    }

    pub(super) fn in_holder(&self) -> Range<u64> {
        self.around(|run| &run.in_holder)
    }

    pub(super) fn in_reference(&self) -> Range<u64> {
        self.around(|run| &run.in_reference)
    }

    /// Maps a range of the reference to the corresponding part of the holder; `None` if too few characters of the range
    /// are in the passage.
    pub(super) fn within(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let whole = self.in_reference();
        let cut = whole.start.max(range.start)..whole.end.min(range.end);
        if cut == whole {
            return Some(self.in_holder());
        }
        if cut.start + MIN_CUT_CHARS > cut.end {
            return None;
        }
        let first = self.0.iter().find(|run| run.in_reference.end > cut.start)?;
        let last = self.0.iter().rfind(|run| run.in_reference.start < cut.end)?;
        let start = first.in_holder.start + cut.start.saturating_sub(first.in_reference.start);
        let end = if cut.end < last.in_reference.end {
            last.in_holder.start + (cut.end - last.in_reference.start)
        } else {
            last.in_holder.end
        };
        let place = start.min(first.in_holder.end)..end.min(last.in_holder.end);
        (place.start < place.end).then_some(place)
    }
}

/// A winnowed fingerprint of a text, with its range of characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedFingerprint {
    /// The position in the table of the fingerprints of all texts.
    pub(super) position: u64,
    pub(super) place: Range<u64>,
}

impl PlacedFingerprint {
    /// True if the fingerprint is inside one of `places`, which are ascending ranges of characters.
    fn is_in(&self, places: &[Range<u64>]) -> bool {
        let at = places.partition_point(|place| place.end < self.place.end);
        places
            .get(at)
            .is_some_and(|place| place.start <= self.place.start)
    }
}

/// A holder with the passages that it shares with a reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ComparedText {
    pub(super) text: TextId,
    /// The shared passages, in their order in the holder.
    pub(super) passages: Vec<SharedPassage>,
    /// The holder's fingerprints that are in the passages, in their order in the holder.
    pub(super) fingerprints: Vec<PlacedFingerprint>,
}

fn write_range(file: &mut NumberWriter, range: &Range<u64>) -> Result<(), DedupError> {
    file.push(range.start)?;
    file.push(range.end - range.start)
}

fn read_range(file: &mut NumberReader) -> Result<Range<u64>, DedupError> {
    let start = file.number()?;
    Ok(start..start + file.number()?)
}

impl ComparedText {
    pub(super) fn write(&self, file: &mut NumberWriter) -> Result<(), DedupError> {
        file.push(self.text.get())?;
        file.push(self.passages.len() as u64)?;
        for SharedPassage(runs) in &self.passages {
            file.push(runs.len() as u64)?;
            for run in runs {
                write_range(file, &run.in_holder)?;
                write_range(file, &run.in_reference)?;
            }
        }
        file.push(self.fingerprints.len() as u64)?;
        for placed in &self.fingerprints {
            file.push(placed.position)?;
            write_range(file, &placed.place)?;
        }
        Ok(())
    }

    /// Reads the next text from a temporary file; `None` at the end of the file.
    pub(super) fn read(file: &mut NumberReader) -> Result<Option<Self>, DedupError> {
        let Some(text) = file.next()? else { return Ok(None) };
        let mut compared = Self {
            text: TextId::new(text as u32),
            passages: Vec::new(),
            fingerprints: Vec::new(),
        };
        for _ in 0..file.number()? {
            let runs = (0..file.number()?).map(|_| {
                Ok(CommonRun {
                    in_holder: read_range(file)?,
                    in_reference: read_range(file)?,
                })
            });
            compared
                .passages
                .push(SharedPassage(runs.collect::<Result<_, DedupError>>()?));
        }
        for _ in 0..file.number()? {
            compared.fingerprints.push(PlacedFingerprint {
                position: file.number()?,
                place: read_range(file)?,
            });
        }
        Ok(Some(compared))
    }

    /// Maps ascending ranges of the reference to the corresponding places in the holder. Each place comes with the
    /// index of its range.
    pub(super) fn within(&self, ranges: &[Range<u64>]) -> Vec<(usize, Range<u64>)> {
        let mut places = Vec::new();
        for passage in &self.passages {
            let whole = passage.in_reference();
            let first = ranges.partition_point(|range| range.end <= whole.start);
            let here = (first..).zip(&ranges[first..]);
            let here = here.take_while(|(_, range)| range.start < whole.end);
            places.extend(here.filter_map(|(number, range)| Some((number, passage.within(range)?))));
        }
        places
    }

    /// Drops the fingerprints outside of `places`, which are ascending ranges of the holder.
    pub(super) fn retain_fingerprints_in(&mut self, places: &[Range<u64>]) {
        self.fingerprints.retain(|placed| placed.is_in(places));
    }

    /// The positions of the fingerprints inside `places`, which are ascending ranges of the holder.
    pub(super) fn positions_in(&self, places: &[Range<u64>]) -> impl Iterator<Item = u64> {
        let within = self.fingerprints.iter().filter(|placed| placed.is_in(places));
        within.map(|placed| placed.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(in_holder: Range<u64>, in_reference: Range<u64>) -> CommonRun {
        CommonRun {
            in_holder,
            in_reference,
        }
    }

    #[test]
    fn a_part_of_a_passage_begins_and_ends_in_its_runs() {
        let passage = SharedPassage(vec![run(100..140, 10..50), run(147..200, 60..113)]);
        assert_eq!(passage.within(&(0..200)), Some(100..200));
        assert_eq!(passage.within(&(20..200)), Some(110..200));
        assert_eq!(passage.within(&(0..40)), Some(100..130));
        // A part that begins or ends between two runs is shortened to a run.
        assert_eq!(passage.within(&(55..113)), Some(147..200));
        assert_eq!(passage.within(&(10..55)), Some(100..140));
        assert_eq!(passage.within(&(30..70)), Some(120..157));
        assert_eq!(passage.within(&(0..20)), None);
        assert_eq!(passage.within(&(113..300)), None);
    }

    #[test]
    fn a_written_text_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let compared = ComparedText {
            text: TextId::new(7),
            passages: vec![
                SharedPassage(vec![run(1..40, 300..339), run(45..50, 340..345)]),
                SharedPassage(vec![run(60..90, 0..30)]),
            ],
            fingerprints: vec![PlacedFingerprint {
                position: 3,
                place: 4..30,
            }],
        };
        let mut file = NumberWriter::create(dir.path()).unwrap();
        compared.write(&mut file).unwrap();
        let mut file = file.finish().unwrap();
        assert_eq!(ComparedText::read(&mut file).unwrap().as_ref(), Some(&compared));
        assert_eq!(ComparedText::read(&mut file).unwrap(), None);
        let ranges = [10..20, 310..345];
        assert_eq!(compared.within(&ranges), [(1, 11..50)]);
        let within = |place: &Range<u64>| compared.positions_in(std::slice::from_ref(place)).count();
        assert_eq!((within(&(1..40)), within(&(5..40))), (1, 0));
    }
}
