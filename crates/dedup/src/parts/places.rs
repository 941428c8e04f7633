//! Maps places in canonical texts to the corresponding places in the original texts.
//!
//! Only the places of reported rows are located, for which the inputs are read again. Requests are sorted by document
//! and answered while the documents are read. The answers are then sorted into the order of the rows. Requests and
//! answers are in temporary files, so memory does not grow with their number.

use std::ops::Range;

use rayon::prelude::*;
use twinprint_text::origin::{Origin, origins};

use super::numbers::{NumberSorter, PeekReader, SortSpace};
use crate::corpus::RecordOrder;
use crate::error::DedupError;
use crate::ids::{DocumentId, Id};
use twinprint_io::sink::unchanged;
use twinprint_io::source::{Batch, OriginalText, PageExtractor, Sources, TracedPage};

/// The bytes of input in one batch. The requests and answers about the documents of a batch are in memory together.
const BATCH: usize = 1 << 20;

/// The bits of a boundary number in a packed value. Each place has two boundaries, its start and its end.
const NUMBER: u32 = 48;
/// The bits of a position in a packed value. A position counts the bytes or characters of a text.
const POSITION: u32 = 36;
/// The largest number of characters by which a boundary may be moved. A boundary that would have to be moved farther is
/// not located.
const MAX_MOVED: u64 = 0xFE;
/// The value of [`BoundaryAnswer::moved`] for a boundary that cannot be located in the original text.
const NOWHERE: u64 = 0xFF;

fn low(number: u128, bits: u32) -> u64 {
    (number & ((1 << bits) - 1)) as u64
}

/// A request to locate one boundary of a place in the canonical text of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundaryRequest {
    document: DocumentId,
    /// The position of the boundary in the canonical text, in characters.
    position: u64,
    /// The number of the boundary: even for the start of a place, odd for its end.
    number: u64,
}

impl BoundaryRequest {
    fn packed(self) -> u128 {
        (u128::from(self.document.get()) << POSITION | u128::from(self.position)) << NUMBER
            | u128::from(self.number)
    }

    fn unpacked(packed: u128) -> Self {
        Self {
            document: DocumentId::new((packed >> (NUMBER + POSITION)) as u32),
            position: low(packed >> NUMBER, POSITION),
            number: low(packed, NUMBER),
        }
    }

    fn is_end(self) -> bool {
        self.number % 2 == 1
    }
}

/// The answer to the [`BoundaryRequest`] with the same number: the boundary in the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundaryAnswer {
    number: u64,
    byte: u64,
    char: u64,
    /// The number of characters by which the boundary was moved in the canonical text; [`NOWHERE`] if it cannot be
    /// located.
    moved: u64,
}

impl BoundaryAnswer {
    fn packed(self) -> u128 {
        let place = u128::from(self.byte) << POSITION | u128::from(self.char);
        (u128::from(self.number) << (2 * POSITION) | place) << 8 | u128::from(self.moved)
    }

    fn unpacked(packed: u128) -> Self {
        Self {
            number: (packed >> (2 * POSITION + 8)) as u64,
            byte: low(packed >> (POSITION + 8), POSITION),
            char: low(packed >> 8, POSITION),
            moved: low(packed, 8),
        }
    }
}

/// A place in an original text, and the part of the canonical text that it corresponds to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OriginalPlace {
    /// The place in the canonical text. It is shorter than requested if it began or ended inside the output of one
    /// original character.
    pub(super) canonical: Range<u64>,
    pub(super) chars: Range<u64>,
    pub(super) bytes: Range<u64>,
}

/// The requests for the original places of all rows.
pub(super) struct PlaceRequests<'w> {
    work: SortSpace<'w>,
    sorting: NumberSorter,
    boundaries: u64,
}

impl<'w> PlaceRequests<'w> {
    pub(super) fn new(work: SortSpace<'w>) -> Self {
        Self {
            work,
            sorting: NumberSorter::new(work),
            boundaries: 0,
        }
    }

    /// Adds a request to locate `place`, a character range of the canonical text of a document.
    pub(super) fn push(&mut self, document: DocumentId, place: &Range<u64>) -> Result<(), DedupError> {
        for position in [place.start, place.end] {
            let request = BoundaryRequest {
                document,
                position,
                number: self.boundaries,
            };
            self.sorting.push(request.packed())?;
            self.boundaries += 1;
        }
        Ok(())
    }

    /// Reads the inputs again, up to the last document with a request.
    ///
    /// # Errors
    /// An input cannot be read or has changed, or a temporary file failed.
    pub(super) fn find(
        self,
        sources: &Sources,
        documents: RecordOrder<'_>,
    ) -> Result<OriginalPlaces, DedupError> {
        let mut answers = NumberSorter::new(self.work);
        if self.boundaries > 0 {
            let mut requests = PeekReader::new(self.sorting.finish()?, BoundaryRequest::unpacked)?;
            for batch in sources.reread(BATCH) {
                for answer in answer(&batch?, sources, documents, &mut requests)? {
                    answers.push(answer.packed())?;
                }
                if requests.next.is_none() {
                    break;
                }
            }
            sources.list().iter().try_for_each(unchanged)?;
        }
        Ok(OriginalPlaces {
            answers: PeekReader::new(answers.finish()?, BoundaryAnswer::unpacked)?,
            next: 0,
        })
    }
}

/// Answers the requests about the documents of a batch.
fn answer(
    batch: &Batch,
    sources: &Sources,
    documents: RecordOrder<'_>,
    requests: &mut PeekReader<BoundaryRequest>,
) -> Result<Vec<BoundaryAnswer>, DedupError> {
    let end = batch
        .chunks
        .last()
        .map_or(0, |chunk| chunk.first_ordinal() + chunk.records());
    let end = documents.first_at_record(end);
    let mut wanted = Vec::new();
    while let Some(request) = requests.next_if(|request| request.document < end)? {
        wanted.push(request);
    }
    let of = |document: DocumentId| {
        let from = wanted.partition_point(|request| request.document < document);
        let to = wanted.partition_point(|request| request.document <= document);
        &wanted[from..to]
    };
    let answers: Vec<Vec<BoundaryAnswer>> = batch
        .chunks
        .par_iter()
        .map_init(PageExtractor::default, |pages, chunk| {
            let mut answers = Vec::new();
            let requests = |ordinal| documents.of_record(ordinal).map_or(&[][..], of);
            let is_wanted = |ordinal| !requests(ordinal).is_empty();
            let records = chunk.first_ordinal()..chunk.first_ordinal() + chunk.records();
            let first = documents.first_at_record(records.start);
            let last = documents.first_at_record(records.end);
            let from = wanted.partition_point(|request| request.document < first);
            if wanted.get(from).is_some_and(|request| request.document < last) {
                chunk.originals(sources.options(), &is_wanted, &mut |ordinal, original| {
                    trace(&original, requests(ordinal), pages, &mut answers);
                });
            }
            answers
        })
        .collect();
    Ok(answers.into_iter().flatten().collect())
}

/// Answers the requests about one document, which are sorted by position.
fn trace(
    original: &OriginalText<'_>,
    requests: &[BoundaryRequest],
    pages: &mut PageExtractor,
    answers: &mut Vec<BoundaryAnswer>,
) {
    let page = if original.is_page {
        match pages.traced(&original.text) {
            Some(page) => Some(page),
            None => return,
        }
    } else {
        None
    };
    let text = page.as_ref().map_or(&*original.text, |page| &page.text);
    // Many rows may have the same boundary, which is traced once.
    let boundaries = |is_end: bool| {
        let here = requests.iter().filter(|request| request.is_end() == is_end);
        let mut positions: Vec<u64> = here.map(|request| request.position).collect();
        positions.dedup();
        positions
    };
    let sides = [boundaries(false), boundaries(true)];
    let [starts, ends] = sides
        .each_ref()
        .map(|side| side.iter().map(|&at| at as usize).collect::<Vec<_>>());
    let found = origins(text, &starts, &ends);
    let mut places: Vec<(bool, u64, Origin)> = Vec::new();
    for (is_end, positions, origins) in [(false, &sides[0], found.starts), (true, &sides[1], found.ends)] {
        let both = positions.iter().zip(origins);
        places.extend(both.filter_map(|(&position, origin)| {
            Some((is_end, position, in_markup(is_end, origin?, page.as_ref())?))
        }));
    }
    places.sort_unstable_by_key(|(.., origin)| origin.byte);
    let mut chars = 0;
    let mut before = 0;
    let mut answered: Vec<(bool, u64, BoundaryAnswer)> = Vec::new();
    for (is_end, position, origin) in places {
        let passed = original.text.get(before..origin.byte).unwrap_or_default();
        chars += passed.chars().count();
        before = origin.byte;
        let moved = position.abs_diff(origin.canonical as u64);
        let fits = moved <= MAX_MOVED && origin.byte as u64 >> POSITION == 0;
        let answer = BoundaryAnswer {
            number: 0,
            byte: if fits { origin.byte as u64 } else { 0 },
            char: if fits { chars as u64 } else { 0 },
            moved: if fits { moved } else { NOWHERE },
        };
        answered.push((is_end, position, answer));
    }
    answered.sort_unstable_by_key(|&(is_end, position, _)| (is_end, position));
    for request in requests {
        let boundary = (request.is_end(), request.position);
        let at = answered.binary_search_by_key(&boundary, |&(is_end, position, _)| (is_end, position));
        if let Some(&(.., answer)) = at.ok().and_then(|at| answered.get(at)) {
            answers.push(BoundaryAnswer {
                number: request.number,
                ..answer
            });
        }
    }
}

/// Maps a boundary in the text of a web page to the boundary in the page's markup. Without a page, the boundary is
/// returned unchanged.
fn in_markup(is_end: bool, origin: Origin, page: Option<&TracedPage>) -> Option<Origin> {
    let byte = match page {
        None => origin.byte,
        Some(page) if is_end => page.end(origin.byte)?,
        Some(page) => page.start(origin.byte)?,
    };
    Some(Origin { byte, ..origin })
}

/// The places that were located, in the order of the requests.
pub(super) struct OriginalPlaces {
    answers: PeekReader<BoundaryAnswer>,
    next: u64,
}

impl OriginalPlaces {
    /// The original place for the next request, whose range in the canonical text was `canonical`; `None` if no part of
    /// that range can be cut out of the original text.
    pub(super) fn next(&mut self, canonical: &Range<u64>) -> Result<Option<OriginalPlace>, DedupError> {
        let number = self.next;
        self.next += 2;
        let start = self.answers.next_if(|answer| answer.number == number)?;
        let end = self.answers.next_if(|answer| answer.number == number + 1)?;
        let (Some(start), Some(end)) = (start, end) else {
            return Ok(None);
        };
        if start.moved == NOWHERE || end.moved == NOWHERE {
            return Ok(None);
        }
        let place = OriginalPlace {
            canonical: canonical.start + start.moved..canonical.end.saturating_sub(end.moved),
            chars: start.char..end.char,
            bytes: start.byte..end.byte,
        };
        Ok(Some(place).filter(|place| !place.canonical.is_empty() && !place.bytes.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_requests_and_answers_are_unpacked(document: u32, position in 0u64..1 << POSITION, number in 0u64..1 << NUMBER, moved: u8) {
            let request = BoundaryRequest { document: DocumentId::new(document), position, number };
            prop_assert_eq!(BoundaryRequest::unpacked(request.packed()), request);
            let answer = BoundaryAnswer { number, byte: position, char: position / 3, moved: u64::from(moved) };
            prop_assert_eq!(BoundaryAnswer::unpacked(answer.packed()), answer);
        }
    }
}
