//! The rows of `parts.jsonl` and `passages.jsonl`.

use std::ops::Range;

use serde::Serialize;

use super::holders::Holder;
use super::ids::TextId;
use super::numbers::SortSpace;
use super::pairs::TextPair;
use super::places::{OriginalPlace, OriginalPlaces, PlaceRequests};
use crate::corpus::{DocumentNames, RecordOrder};
use crate::error::DedupError;
use crate::ids::{DocumentId, Id};
use twinprint_io::results::PartsReport;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::{OutputDir, OutputFile};
use twinprint_io::source::Sources;

/// The start and the end of a passage in the original text, in characters or bytes; `None` if the passage cannot be cut
/// out of the original.
type OriginalRange = Option<[u64; 2]>;

/// One row of `parts.jsonl`: a pair of texts of which one contains a share of the other.
#[derive(Serialize)]
struct PartRow<'r> {
    a: &'r str,
    b: &'r str,
    jaccard: Option<Ratio>,
    containment: Option<Ratio>,
    /// The common shingles over the shingles of text a.
    share_of_a: Option<Ratio>,
    share_of_b: Option<Ratio>,
    /// The longest common passages in the order of text a, in characters of the canonical texts: start and end in a,
    /// start and end in b.
    passages: Vec<[u64; 4]>,
    /// The start and end of each passage in a and in b, in characters of the original texts. `original_bytes` has the
    /// same in bytes.
    original_chars: Vec<[Option<u64>; 4]>,
    original_bytes: Vec<[Option<u64>; 4]>,
    a_source: &'r str,
    a_line: u64,
    b_source: &'r str,
    b_line: u64,
}

/// One row of `passages.jsonl`: a text that has a passage.
#[derive(Serialize)]
struct HolderRow<'r> {
    /// The number of the passage, from 1.
    passage: u64,
    /// The number of texts that have the passage.
    holders: u64,
    id: &'r str,
    source: &'r str,
    line: u64,
    /// The number of documents with this text; the row stands for all of them.
    documents: u32,
    /// True for the reference: the text that the other holders of the passage were compared with.
    is_reference: bool,
    /// The share of the text's shingles that are in the passage.
    share: Option<Ratio>,
    /// The longest occurrences of the passage, in the order of the text, in characters of the canonical text.
    canonical_chars: Vec<[u64; 2]>,
    /// The longest occurrences of the passage in characters of the original text. `original_bytes` has the same in
    /// bytes.
    original_chars: Vec<OriginalRange>,
    original_bytes: Vec<OriginalRange>,
}

/// The pairs and passages that were found, in files that are read twice.
pub(crate) trait FoundParts {
    /// Calls `f` with every pair, in order.
    ///
    /// # Errors
    /// The error of `f`, or a file cannot be read.
    fn each_pair(&mut self, f: &mut dyn FnMut(&TextPair) -> Result<(), DedupError>)
    -> Result<(), DedupError>;

    /// Calls `f` with every holder of every passage, in order. The first argument of `f` is the number of holders of the
    /// passage.
    ///
    /// # Errors
    /// The error of `f`, or a file cannot be read.
    fn each_holder(
        &mut self,
        f: &mut dyn FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError>;
}

/// The document that stands for a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextDocument {
    pub(crate) document: DocumentId,
    /// The number of documents with this text.
    pub(crate) documents: u32,
}

/// The documents of the texts.
pub(crate) trait TextDocuments {
    /// The document that stands for a text.
    ///
    /// # Errors
    /// The table is on disk and cannot be read.
    fn document(&self, text: TextId) -> Result<TextDocument, DedupError>;
}

/// The input of a run, from which the rows take names and original texts.
#[derive(Clone, Copy)]
pub(crate) struct RowInput<'r> {
    pub(crate) documents: &'r dyn TextDocuments,
    pub(crate) names: &'r dyn DocumentNames,
    pub(crate) sources: &'r Sources,
    pub(crate) records: RecordOrder<'r>,
    pub(crate) work: SortSpace<'r>,
}

impl RowInput<'_> {
    /// Writes `parts.jsonl` and `passages.jsonl`, and counts their rows.
    pub(crate) fn write(
        &self,
        dir: &OutputDir,
        found: &mut dyn FoundParts,
        report: &mut PartsReport,
    ) -> Result<(), DedupError> {
        let mut places = self.places(found)?;
        let mut out = RowWriter {
            input: self,
            places: &mut places,
            report,
            buffer: Vec::new(),
        };
        let mut file = dir.file("parts.jsonl")?;
        found.each_pair(&mut |pair| out.pair(&mut file, pair))?;
        file.finish()?;
        let mut file = dir.file("passages.jsonl")?;
        let mut left = 0;
        found.each_holder(&mut |holders, holder| {
            if left == 0 {
                left = holders;
                out.report.passages += 1;
                out.report.most_holders = out.report.most_holders.max(holders);
            }
            left -= 1;
            out.holder(&mut file, holders, holder)
        })?;
        file.finish()?;
        Ok(())
    }

    /// Finds the original places of all rows, in the order in which the rows are written.
    fn places(&self, found: &mut dyn FoundParts) -> Result<OriginalPlaces, DedupError> {
        let document = |text| Ok::<_, DedupError>(self.documents.document(text)?.document);
        let mut requests = PlaceRequests::new(self.work);
        found.each_pair(&mut |pair| {
            let (a, b) = (document(pair.a)?, document(pair.b)?);
            pair.passages.iter().try_for_each(|[in_a, in_b]| {
                requests.push(a, in_a)?;
                requests.push(b, in_b)
            })
        })?;
        found.each_holder(&mut |_, holder| {
            let document = document(holder.text)?;
            let mut places = holder.places.iter();
            places.try_for_each(|place| requests.push(document, place))
        })?;
        requests.find(self.sources, self.records)
    }
}

/// The writer of the rows of `parts.jsonl` and `passages.jsonl`.
struct RowWriter<'w> {
    input: &'w RowInput<'w>,
    places: &'w mut OriginalPlaces,
    report: &'w mut PartsReport,
    buffer: Vec<u8>,
}

impl RowWriter<'_> {
    fn pair(&mut self, file: &mut OutputFile, pair: &TextPair) -> Result<(), DedupError> {
        let RowInput { documents, names, .. } = *self.input;
        let name = |text| names.name(documents.document(text)?.document.get());
        let (a, b) = (name(pair.a)?, name(pair.b)?);
        let mut row = PartRow {
            a: &a.id,
            b: &b.id,
            jaccard: Ratio::new(pair.jaccard),
            containment: Ratio::new(pair.containment),
            share_of_a: Ratio::new(pair.shares[0]),
            share_of_b: Ratio::new(pair.shares[1]),
            passages: Vec::new(),
            original_chars: Vec::new(),
            original_bytes: Vec::new(),
            a_source: &a.source,
            a_line: a.line,
            b_source: &b.source,
            b_line: b.line,
        };
        for [in_a, in_b] in &pair.passages {
            let places = [self.places.next(in_a)?, self.places.next(in_b)?];
            self.report.unplaced += places.iter().filter(|place| place.is_none()).count() as u64;
            let canonical = |i: usize, whole: &Range<u64>| {
                let place: Option<&OriginalPlace> = places[i].as_ref();
                place.map_or(whole.clone(), |place| place.canonical.clone())
            };
            let (of_a, of_b) = (canonical(0, in_a), canonical(1, in_b));
            row.passages.push([of_a.start, of_a.end, of_b.start, of_b.end]);
            let four = |ends: fn(&OriginalPlace) -> [u64; 2]| {
                let [a, b] = places.each_ref().map(|place| place.as_ref().map(ends));
                [a.map(|a| a[0]), a.map(|a| a[1]), b.map(|b| b[0]), b.map(|b| b[1])]
            };
            row.original_chars.push(four(chars));
            row.original_bytes.push(four(bytes));
        }
        self.report.rows += 1;
        Ok(rows::write(file, &row, &mut self.buffer)?)
    }

    fn holder(&mut self, file: &mut OutputFile, holders: u64, holder: Holder) -> Result<(), DedupError> {
        let TextDocument { document, documents } = self.input.documents.document(holder.text)?;
        let name = self.input.names.name(document.get())?;
        let mut row = HolderRow {
            passage: self.report.passages,
            holders,
            id: &name.id,
            source: &name.source,
            line: name.line,
            documents,
            is_reference: holder.is_reference,
            share: Ratio::new(holder.share),
            canonical_chars: Vec::new(),
            original_chars: Vec::new(),
            original_bytes: Vec::new(),
        };
        for whole in holder.places {
            let place = self.places.next(&whole)?;
            self.report.unplaced += u64::from(place.is_none());
            let canonical = place.as_ref().map_or(whole, |place| place.canonical.clone());
            row.canonical_chars.push([canonical.start, canonical.end]);
            row.original_chars.push(place.as_ref().map(chars));
            row.original_bytes.push(place.as_ref().map(bytes));
        }
        self.report.holders += 1;
        Ok(rows::write(file, &row, &mut self.buffer)?)
    }
}

fn chars(place: &OriginalPlace) -> [u64; 2] {
    [place.chars.start, place.chars.end]
}

fn bytes(place: &OriginalPlace) -> [u64; 2] {
    [place.bytes.start, place.bytes.end]
}
